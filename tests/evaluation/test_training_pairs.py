"""Pairs for training come from training personas alone."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from annotation.candidates.models import Candidate
from annotation.personas.models import Persona

pytestmark = pytest.mark.django_db


def pairs_of(slug):
    stream = io.StringIO()
    call_command("training_pairs", slug, stdout=stream, stderr=io.StringIO())
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_only_training_personas_give_pairs_of_one_model(cast, tea):
    for name in ("train", "bench"):
        query = cast.query(tea, f"q-{name}", cast.persona(tea, name, Preference=f"likes {name}"))
        for strategy, model in (("A1", "m1"), ("A3", "m1"), ("A1", "m2"), ("A2", "m2")):
            Candidate.objects.create(
                study=tea, query=query, external_id=f"{name}-{strategy}-{model}",
                text=f"{strategy} by {model} for {name}", strategy=strategy, model=model,
            )  # fmt: skip
    with pytest.raises(CommandError, match="No training persona"):
        pairs_of("tea")
    Persona.objects.filter(external_id="train").update(split="training")
    Persona.objects.filter(external_id="bench").update(split="benchmark")
    (pair,) = pairs_of("tea")
    assert (pair["chosen"], pair["rejected"]) == ("A1 by m1 for train", "A3 by m1 for train")
    assert "likes train" in pair["prompt"]
    assert "about q-train" in pair["prompt"]
    with pytest.raises(CommandError, match="no study"):
        pairs_of("nothing")
