"""Conversations with votes in releases."""

import pytest

from annotation.datasets import folders, freeze
from annotation.judging.models import Slot
from annotation.judging.work import queue, submit
from annotation.live import talks
from annotation.studies.models import Study
from tests.datasets.conftest import _data, built, rows  # noqa: F401 - fixtures
from tests.live.conftest import ask


@pytest.fixture
def judged(tea, ann, live, at_once):
    """One conversation of two turns, of which the first system was chosen."""
    live()
    talk = talks.begin(tea, ann)
    ask(talk)
    ask(talk, "And in rain?", 1)
    talks.end(talk.pk, ann)
    slot = Slot.objects.get(pk=queue.claim(tea, ann))
    number = talk.systems[0][2]
    option = slot.item.options.get(candidate__strategy=number)
    submit.submit(tea, slot.pk, ann, {"choice": str(option.candidate_id)}, key="k")
    Study.objects.filter(pk=tea.pk).update(status="closed")
    return talk


def said(names, *texts):
    roles = ("user", "assistant") * len(texts)
    return [{"role": role, "content": text} for role, text in zip(roles, texts, strict=False)]


def test_battles_have_the_columns_of_lmarena(judged, built):  # noqa: F811
    (row,) = rows(folders.folder_of(built("arena")), "battles.jsonl")
    first, second = (name for _endpoint, _strategy, name in judged.systems)
    assert (row["model_a"], row["model_b"], row["winner"]) == (first, second, "model_a")
    for name, column in ((first, "conversation_a"), (second, "conversation_b")):
        assert row[column] == said(
            name, "Where shall I walk?", f"{name} after 2", "And in rain?", f"{name} after 4"
        )
    assert (row["turn"], row["chance"], row["task"]) == (2, 1.0, "served")


def test_the_proposed_release_is_of_no_paper_and_can_be_filled(judged, tea, built):  # noqa: F811
    assert freeze.suited(tea) == {"layout": "long"}
    assert built(**freeze.suited(tea)).status == "done"


def test_pairs_for_training_hold_the_whole_conversation(judged, built):  # noqa: F811
    release = built("dpo", rule="majority", min_votes=1, min_margin=1)
    (row,) = rows(folders.folder_of(release), "pairs.jsonl")
    assert row["prompt"] == [{"role": "user", "content": "Where shall I walk?"}]
    assert [turn["role"] for turn in row["chosen"]] == ["assistant", "user", "assistant"]
    assert row["chosen"][2]["content"] == f"{judged.systems[0][2]} after 4"


def test_the_long_form_says_how_the_systems_were_drawn(judged, built):  # noqa: F811
    folder = folders.folder_of(built("long"))
    for row in rows(folder, "candidates.jsonl"):
        assert (row["parameters"]["rule"], row["parameters"]["chance"]) == ("equal", 1.0)
        assert len(row["parameters"]["messages"]) == 3
