"""Preference pairs for trainers: whose preference it is stands in the prompt."""

import json

import pytest

from annotation.candidates.models import Candidate
from annotation.datasets import folders
from annotation.datasets.release_import import import_release
from annotation.evaluation import pairs
from annotation.judging.batches.open import open_batch
from annotation.studies.models import Study

TEA, COFFEE = "Drink green tea.", "Drink black coffee."


PROFILES = {"Mina": {"Name": "Mina", "Likes": ["tea", "rain"]}, "Ben": {"Name": "Ben"}}


@pytest.fixture
def divided(cast, tea, vote):
    """Mina and Ben ask the same and get the same answers, of which each one's is another."""
    for name, profile in PROFILES.items():
        query = cast.query(tea, f"q-{name}", cast.persona(tea, name, **profile), text="A drink?")
        for candidate, text in zip(cast.candidates(query, 2), (TEA, COFFEE), strict=True):
            Candidate.objects.filter(pk=candidate.pk).update(text=text)
    batch = open_batch(tea, cast.task(tea, "better", options=2))
    for item in batch.items.select_related("query__persona"):
        wanted = TEA if item.query.persona.external_id == "Mina" else COFFEE
        vote(item, str(item.options.get(candidate__text=wanted).number) * 9)


def rows(folder, name):
    return [json.loads(line) for line in (folder / name).read_text("utf-8").splitlines()]


def said(role, content):
    return [{"role": role, "content": content}]


def test_two_people_who_prefer_opposite_answers_are_asked_by_different_prompts(divided, built):
    folder = folders.folder_of(built("dpo"))
    cards = {
        TEA: "The user's profile:\n- Name: Mina\n- Likes: tea, rain",
        COFFEE: "The user's profile:\n- Name: Ben",
    }
    whole = rows(folder, "pairs.jsonl")
    assert {row["chosen"][0]["content"] for row in whole} == {TEA, COFFEE}
    for row in whole:
        chosen, rejected = (TEA, COFFEE) if row["persona"]["Name"] == "Mina" else (COFFEE, TEA)
        assert row["prompt"] == said("system", cards[chosen]) + said("user", "A drink?")
        assert row["chosen"] == said("assistant", chosen)
        assert row["rejected"] == said("assistant", rejected)
    # The same rows beside it, with the question alone.
    plain = rows(folder, "pairs_plain.jsonl")
    assert plain == [
        {name: row[name] for name in plain[0]} | {"prompt": said("user", "A drink?")}
        for row in whole
    ]
    assert {"prompt", "chosen", "rejected", "tier", "item_id", "user_id"} <= set(plain[0])


def test_a_question_of_nobody_is_its_prompt_alone(cast, tea, vote, built):
    cast.candidates(cast.query(tea, "q-1", text="A drink?"), 2)
    (item,) = open_batch(tea, cast.task(tea, "better", options=2)).items.all()
    vote(item, "1" * 9)
    folder = folders.folder_of(built("dpo"))
    (row,), (plain,) = rows(folder, "pairs.jsonl"), rows(folder, "pairs_plain.jsonl")
    assert (row["prompt"], row["persona"]) == (said("user", "A drink?"), None)
    assert plain["prompt"] == row["prompt"]


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_messages_come_back_as_the_texts_and_people_they_were_made_from(divided, built, format):
    folder = folders.folder_of(built("dpo", format))
    report = import_release(folder, "again")
    assert (report["rejected"], report["unknown_columns"], report["items"]) == ([], [], 2)
    again = Study.objects.get(slug="again")
    asked = again.queries.values_list("text", "persona__versions__profile")
    assert sorted(asked, key=str) == sorted((("A drink?", PROFILES[n]) for n in PROFILES), key=str)
    for item in again.items.select_related("query__persona"):
        assert set(item.options.values_list("candidate__text", flat=True)) == {TEA, COFFEE}
    benchmark = pairs.read_pairs(folder)
    assert {(pair.question, pair.chosen, pair.reject) for pair in benchmark.pairs} == {
        ("A drink?", TEA, COFFEE), ("A drink?", COFFEE, TEA)
    }  # fmt: skip
    assert sorted(benchmark.personas.values(), key=str) == sorted(PROFILES.values(), key=str)


def test_a_prompt_of_several_turns_is_its_transcript(tmp_path):
    turns = said("user", "A drink?") + said("assistant", TEA) + said("user", "And now?")
    row = {"prompt": turns, "chosen": said("assistant", TEA), "rejected": COFFEE}
    (tmp_path / "pairs.jsonl").write_text(json.dumps(row) + "\n")
    (pair,) = pairs.read_pairs(tmp_path).pairs
    assert pair.question == f"**User:** A drink?\n\n**Assistant:** {TEA}\n\n**User:** And now?"
