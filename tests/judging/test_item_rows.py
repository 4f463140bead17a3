"""Items of every kind, attributes and checks in a bundle."""

import json

import pytest

from annotation.judging.imports import bundles
from annotation.judging.models import Item, Slot
from annotation.personas.models import Attribute
from annotation.studies.bundle import BundleError
from annotation.studies.models import Study
from tests import everykind

pytestmark = pytest.mark.django_db


@pytest.fixture
def bundle(tmp_path):
    return everykind.write(tmp_path / "mix")


def change(folder, name, key, **fields):
    """Change the row ``key`` of a file."""
    path = folder / f"{name}.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows:
        if row["id"] == key:
            row.update(fields)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def test_items_of_every_kind_are_stored_with_what_they_ask(bundle):
    totals = bundles.import_study(bundle)
    assert (totals["items"], totals["slots"]) == (10, 3 + 3 + 2 + 3 * 3 + 3 + 3)
    study = Study.objects.get(slug="mix")
    rate, trait, matter = (study.items.get(external_id=k) for k in ("i-rate", "i-a1", "i-m1"))
    assert (rate.attribute.external_id, rate.query.external_id) == ("a1", "q1")
    assert (trait.query, trait.options.count()) == (None, 0)
    assert trait.persona_version.profile == {"Name": "Mina Park"}
    assert (matter.attribute.external_id, matter.query.external_id) == ("a1", "q1")
    attribute = Attribute.objects.get(external_id="a1")
    assert (attribute.confidence, attribute.model) == (0.9, "m-1")
    assert [one.messages for one in attribute.evidence.all()] == [everykind.CHAT]


def test_checks_get_no_slots_and_know_the_canonical_answer(bundle):
    bundles.import_study(bundle)
    training, gold = (Item.objects.get(external_id=key) for key in ("t-1", "g-1"))
    assert (training.batch.purpose, gold.batch.purpose) == ("training", "gold")
    # The second candidate of the row.
    assert (training.expected, training.explanation) == ("2", "The other one mentions too much.")
    assert (gold.expected, gold.explanation) == ("rejected", "")
    assert Slot.objects.filter(item__in=[training, gold]).count() == 0


@pytest.mark.parametrize(
    ("name", "key", "fields", "place"),
    [
        ("attributes", "a1", {"text": "Grows roses."}, "attributes.jsonl, line 1"),
        ("attributes", "a1", {"conversations": []}, "attributes.jsonl, line 1"),
        ("attributes", "a2", {"confidence": 0.4}, "attributes.jsonl, line 2"),
        ("items", "t-1", {"expected": "tie"}, "items.jsonl, line 7"),
        ("items", "t-1", {"explanation": "Other words."}, "items.jsonl, line 7"),
        ("items", "g-1", {"purpose": "training", "explanation": "So."}, "items.jsonl, line 8"),
        ("items", "i-m1", {"attribute": "a2"}, "items.jsonl, line 6"),
    ],
)
def test_what_people_may_have_seen_is_never_changed(bundle, name, key, fields, place):
    bundles.import_study(bundle)
    change(bundle, name, key, **fields)
    with pytest.raises(BundleError) as refusal:
        bundles.import_study(bundle)
    assert len(refusal.value.faults) == 1
    assert refusal.value.faults[0].startswith(place)
    assert "an id of its own" in refusal.value.faults[0]


@pytest.mark.parametrize(
    ("name", "key", "fields", "words"),
    [
        ("attributes", "a1", {"confidence": 2}, "“confidence” must be a number from 0 to 1"),
        ("attributes", "a1", {"persona": "p9"}, "there is no persona “p9”"),
        ("attributes", "a1", {"conversations": ["hi"]}, "must be a list of conversations"),
        (
            "attributes",
            "a1",
            {"conversations": [[{"role": "system", "text": "x"}]]},
            "whose role is neither user nor assistant",
        ),
        ("items", "i-m1", {"attribute": None}, "the task “matter” asks for “attribute”"),
        ("items", "i-m1", {"query": None}, "the task “matter” asks for “query”"),
        ("items", "i-rate", {"attribute": None}, "the task “rate” asks for “attribute”"),
        ("items", "i-better", {"query": None}, "the task “better” asks for “query”"),
        ("items", "i-better", {"attribute": "a1"}, "the task “better” shows no attribute"),
        ("items", "i-a1", {"query": "q1"}, "the task “traits” shows no query"),
        ("items", "i-a1", {"candidates": ["c-own"]}, "the task “traits” shows no candidates"),
        ("items", "i-a1", {"attribute": "a9"}, "there is no attribute “a9”"),
        ("items", "i-feel", {"candidates": []}, "shows 1 candidates, not 0"),
        ("items", "i-rate", {"candidates": ["c-own"]}, "shows 2 candidates, not 1"),
        ("items", "i-a1", {"expected": "accepted"}, "only training and gold items have"),
        ("items", "t-1", {"expected": None}, "“expected” must be one of “c-own”, “c-generic”, “t"),
        ("items", "t-1", {"expected": "none"}, "“expected” must be one of"),
        ("items", "t-1", {"expected": [1]}, "“expected” must be one of"),
        ("items", "g-1", {"expected": "maybe"}, "“accepted”, “uncertain”, “rejected”"),
        ("items", "t-1", {"explanation": " "}, "a training item needs an “explanation”"),
        ("items", "g-1", {"purpose": "repeat"}, "must be work or training or gold"),
    ],
)
def test_a_fault_is_one_sentence_and_nothing_is_stored(bundle, name, key, fields, words):
    change(bundle, name, key, **fields)
    with pytest.raises(BundleError) as refusal:
        bundles.import_study(bundle)
    assert len(refusal.value.faults) == 1, refusal.value.faults
    assert words in refusal.value.faults[0]
    assert refusal.value.faults[0].startswith(f"{name}.jsonl, line ")
    assert not Study.objects.exists()


def test_an_attribute_of_somebody_else_than_who_asks_is_refused(bundle):
    with (bundle / "personas.jsonl").open("a") as file:
        file.write('{"id": "p2", "profile": {"Name": "Jo"}}\n')
    change(bundle, "attributes", "a2", persona="p2")
    change(bundle, "items", "i-m1", attribute="a2")
    with pytest.raises(BundleError) as refusal:
        bundles.import_study(bundle)
    assert refusal.value.faults == [
        "items.jsonl, line 6: the attribute is of “p2”, and the query of “p1”"
    ]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ({"kind": "claims"}, "the task “matter” plans its items itself, from gold responses"),
        ({"kind": "relevance", "owner_only": True}, "only a query's owner judges"),
    ],
)
def test_tasks_whose_items_cannot_be_imported_say_so(bundle, kind, words):
    study = json.loads((bundle / "study.json").read_text())
    study["tasks"][4] = {"name": "matter", **kind}
    (bundle / "study.json").write_text(json.dumps(study))
    with pytest.raises(BundleError) as refusal:
        bundles.import_study(bundle)
    assert words in refusal.value.faults[0]


@pytest.mark.parametrize(
    ("expected", "stored"),
    [({"1/Tone": 4, "1/Depth": 2}, {"1/Tone": 4, "1/Depth": 2}), ({"2/Tone": 4}, None), (4, None)],
)
def test_expected_scores_name_place_and_criterion(bundle, expected, stored):
    check = {"purpose": "gold", "expected": expected}
    change(bundle, "items", "i-feel", **check)
    if stored:
        bundles.import_study(bundle)
        assert Item.objects.get(external_id="i-feel").expected == stored
    else:
        with pytest.raises(BundleError, match="must have labels of “1/Tone”"):
            bundles.import_study(bundle)


def test_a_closed_study_takes_no_items_and_says_why(bundle):
    bundles.import_study(bundle)
    Study.objects.update(status="closed")
    with (bundle / "items.jsonl").open("a") as file:
        file.write('{"id": "i-new", "task": "traits", "attribute": "a1"}\n')
    with pytest.raises(BundleError, match=r"items\.jsonl: The study is closed"):
        bundles.import_study(bundle)
