"""A study with a task of every kind that a bundle can hold, and people who judge it all."""

import itertools
import json

import pytest

from tests.conftest import Cast, kept

keys = itertools.count()
CHAT = [
    {"role": "user", "text": "I water my ferns every Sunday. Any tips?"},
    {"role": "assistant", "text": "Keep them out of the sun."},
]
TASKS = [
    {"name": "better", "kind": "selection", "options": 2, "overlap": 3, "tie": True},
    {"name": "rate", "kind": "preference", "points": 5, "attribute": True, "overlap": 3},
    {"name": "feel", "kind": "feedback", "criteria": ["Tone", "Depth"], "overlap": 2},
    {"name": "traits", "kind": "attribute", "overlap": 3, "reason": "optional"},
    {"name": "matter", "kind": "relevance", "overlap": 3},
    {"name": "order", "kind": "ranking", "options": 3, "ties": True, "overlap": 3},
    {
        "name": "own",
        "kind": "questions",
        "overlap": 3,
        "options": 2,
        "questions": [
            {"name": "best", "type": "choice", "tie": True},
            {
                "name": "polite",
                "type": "label",
                "about": "option",
                "ordinal": True,
                "classes": ["No", "Unsure", "Yes"],
            },
            {
                "name": "why not",
                "type": "text",
                "about": "option",
                "asked_when": {"question": "polite", "labels": ["No"]},
            },
            {"name": "depth", "type": "rating", "points": 7, "comment": "optional"},
            {"name": "odd", "type": "passages", "classes": ["Fact", "Tone"], "required": False},
        ],
    },
]
FILES = {
    "personas": [{"id": "p1", "profile": {"Name": "Mina Park"}}],
    "queries": [{"id": "q1", "persona": "p1", "text": "What should I do this weekend?"}],
    "candidates": [
        {"id": "c-generic", "query": "q1", "text": "Take a walk.", "strategy": "generic"},
        {"id": "c-own", "query": "q1", "text": "Repot your ferns.", "strategy": "A1"},
        {"id": "c-sea", "query": "q1", "text": "Walk by the sea.", "strategy": "A2"},
    ],
    "attributes": [
        {
            "id": "a1",
            "persona": "p1",
            "text": "Grows ferns at home.",
            "confidence": 0.9,
            "model": "m-1",
            "conversations": [CHAT],
        },
        {"id": "a2", "persona": "p1", "text": "Lives near the sea."},
    ],
    "items": [
        {"id": "i-better", "task": "better", "query": "q1", "candidates": ["c-own", "c-generic"]},
        {
            "id": "i-rate",
            "task": "rate",
            "query": "q1",
            "attribute": "a1",
            "candidates": ["c-own", "c-generic"],
        },
        {"id": "i-feel", "task": "feel", "query": "q1", "candidates": ["c-own"]},
        {"id": "i-a1", "task": "traits", "attribute": "a1"},
        {"id": "i-a2", "task": "traits", "attribute": "a2"},
        {"id": "i-m1", "task": "matter", "attribute": "a1", "query": "q1"},
        {
            "id": "t-1",
            "task": "better",
            "query": "q1",
            "candidates": ["c-own", "c-generic"],
            "purpose": "training",
            "expected": "c-generic",
            "explanation": "The other one mentions too much.",
        },
        {
            "id": "g-1",
            "task": "traits",
            "attribute": "a2",
            "purpose": "gold",
            "expected": "rejected",
        },
        {
            "id": "i-order",
            "task": "order",
            "query": "q1",
            "candidates": ["c-own", "c-generic", "c-sea"],
        },
        {"id": "i-own", "task": "own", "query": "q1", "candidates": ["c-own", "c-generic"]},
    ],
}
# What three people say of each item, by the item's id: bodies of the API, "own" and "generic" stand
# for candidates, and a preference counts from the answer shown first.
SAYS = {
    "i-better": [{"choice": "own"}, {"choice": "own"}, {"choice": "tie"}],
    "i-rate": [{"own": 2}, {"own": 2}, {"own": -1}],
    "i-feel": [{"Tone": 4, "Depth": 2}, {"Tone": 5, "Depth": 2}],
    "i-a1": [{"verdict": "accepted"}] * 3,
    "i-a2": [
        {"verdict": "uncertain", "cause": "missing-evidence", "reason": "Only once."},
        {"verdict": "rejected", "cause": "overgeneralised"},
        {"verdict": "accepted"},
    ],
    "i-m1": [{"relevant": "yes"}, {"relevant": "yes"}, {"relevant": "no"}],
    "i-order": [
        {"ranking": ["own", "sea", "generic"]},
        {"ranking": ["own", "generic", "sea"]},
        {"ranking": ["own", ["generic", "sea"]]},
    ],
    "i-own": [
        {"best": "own", "polite": ["Yes", "No"], "depth": 6, "odd": [("own", 0, 5, "Fact")]},
        {
            "best": "own",
            "polite": ["Yes", "Unsure"],
            "depth": 5,
            "odd": [("generic", 5, 6, "Tone"), ("own", 0, 10, "Fact")],
        },
        {"best": "tie", "polite": ["No", "Yes"], "depth": 6},
    ],
}


def write(folder, slug: str = "mix"):
    """Write the bundle into ``folder``; the folder."""
    folder.mkdir(exist_ok=True)
    study = {"slug": slug, "title": "Mixed", "languages": ["en"], "tasks": TASKS}
    (folder / "study.json").write_text(json.dumps(study))
    for name, rows in FILES.items():
        lines = "".join(f"{json.dumps(row)}\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines)
    return folder


def study(folder, slug: str = "mix"):
    """The study of these files, written below ``folder``."""
    from annotation.judging.imports import bundles
    from annotation.studies.models import Study

    bundles.import_study(write(folder / slug, slug))
    return Study.objects.get(slug=slug)


def judged(cast, folder):
    """The study, of which Ann, Bo and Chen have judged everything."""
    mix = study(folder)
    judge(mix, [cast.member(name, mix, "annotator") for name in ("Ann", "Bo", "Chen")])
    return mix


@kept
def judged_mix(folder):
    """The id of such a study, of which Rui is the researcher; for all tests of a file."""
    mix = judged(Cast(), folder)
    Cast().member("Rui", mix, "researcher")
    return mix.pk


@pytest.fixture
def mix(judged_mix, db):
    from annotation.studies.models import Study

    return Study.objects.get(pk=judged_mix)


def body(slot, said: dict) -> dict:
    """What a person sends for ``slot`` (judging.models.Slot) to say ``said`` (of SAYS)."""
    from annotation.judging.ordering import shown_order

    item = slot.item
    options = {o.candidate.external_id.removeprefix("c-"): o for o in item.options.all()}
    ids = {name: str(option.candidate_id) for name, option in options.items()}
    kind = item.batch.task.kind
    if kind == "selection":
        return {**said, "choice": ids.get(said["choice"], said["choice"])}
    if kind == "preference":
        first = shown_order(item.pk, slot.ordinal, 2)[0] == options["own"].number
        return {"value": 3 - said["own"] if first else 3 + said["own"]}
    if kind == "ranking":
        return {"ranking": [_ids(part, ids) for part in said["ranking"]]}
    if kind == "questions":
        polite = dict(zip((ids["own"], ids["generic"]), said["polite"], strict=True))
        why = {id: "It scolds." for id, label in polite.items() if label == "No"}
        best = ids.get(said["best"], said["best"])
        depth = {"score": said["depth"], "text": "", "chips": []}
        named = {"best": best, "polite": polite, "why not": why, "depth": depth}
        odd = [{"option": ids[option], "start": start, "end": end, "class": label, "text": "Why?"}
               for option, start, end, label in said.get("odd", ())]  # fmt: skip
        return {"answers": named | {"odd": odd}}
    if kind == "feedback":
        scores = {name: {"score": n, "text": f"{n} it is"} for name, n in said.items()}
        return {"answers": {name: {ids["own"]: score} for name, score in scores.items()}}
    return said


def _ids(part, ids: dict):
    return [ids[name] for name in part] if isinstance(part, list) else ids[part]


def judge(study, people, only=None) -> None:
    """Let the ``people`` judge the items of SAYS (or those of ``only``), one slot a person."""
    from annotation.judging.models import Slot
    from annotation.judging.work.submit import submit

    for name in only or SAYS:
        slots = study.slots.filter(item__external_id=name, status="open").order_by("ordinal")
        for slot, person, said in zip(list(slots), people, SAYS[name], strict=False):
            # Given to this very person, so that the test knows who says what.
            Slot.objects.filter(pk=slot.pk).update(status="held", annotator=person)
            data = body(slot, said)
            submit(study, slot.pk, person, data, key=f"key-{next(keys)}", seconds=3)
