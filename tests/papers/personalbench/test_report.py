"""A seeded PersonalBench study whose report equals numbers computed by hand.

Ann and Bo judge twenty units at each stage: both say yes on 6, Ann alone on 2, Bo alone on 3,
nobody on 9. Ann's yes are 8 of 20 and Bo's 9: kappa = (15/20 - 0.51) / (1 - 0.51).
"""

import csv
import io
import json

import pytest

from annotation.evaluation import gap
from annotation.evaluation.models import Verdict
from annotation.judging import ordering
from annotation.judging.batches.open import add_items
from annotation.judging.kinds import kind_of
from annotation.judging.models import Slot
from annotation.judging.work import submit
from annotation.personas.models import Attribute

pytestmark = pytest.mark.django_db

UNITS = range(1, 21)
YES = {"Ann": {*range(1, 9)}, "Bo": {*range(1, 7), 9, 10, 11}}
MODELS = {"m-1": {*range(1, 15)}, "m-2": {*range(1, 11)}}
PEOPLE = 0.24 / 0.49
CAUSES = {"Ann": "overgeneralised", "Bo": "missing-evidence"}
LABELS = {"attribute": ("accepted", "rejected"), "relevance": ("yes", "no"), "preference": "42"}


@pytest.fixture
def bench(tea, cast):
    people = [cast.member(name, tea, "annotator") for name in YES]
    cast.member("Rui", tea, "researcher")
    persona = cast.persona(tea)
    query = cast.query(tea, persona=persona, text="What should I do?")
    traits = [persona.attributes.create(external_id=f"a{n}", text=f"Grows ferns number{n}")
              for n in UNITS]  # fmt: skip
    # Four changed.
    Attribute.objects.filter(external_id__in=("a1", "a2")).update(since="2026-01-01")
    Attribute.objects.filter(external_id__in=("a2", "a9", "a20")).update(until="2026-02-01")
    for kind in LABELS:
        config = kind_of(kind).check_config({})
        task = tea.tasks.create(name=kind, kind=kind, overlap=2, config=config)
        rows = [row(tea, query, kind, n, trait) for n, trait in zip(UNITS, traits, strict=True)]
        batch = add_items(tea, task, rows)
        for n, item in zip(UNITS, batch.items.order_by("position"), strict=True):
            for person in people:
                judge(tea, item, person, kind, n)
            for model, yes in MODELS.items():
                label = LABELS[kind][n not in yes]
                Verdict.objects.create(item=item, model=model, label=label)
    return tea


def row(study, query, kind, n, trait) -> dict:
    made = {"external_id": f"{kind}-{n}", "overlap": 2, "attribute": trait}
    made["query"] = None if kind == "attribute" else query
    if kind == "preference":
        # Five answers name the ferns.
        texts = ("Take a walk.", f"Repot the ferns, number{n}." if n <= 5 else "Go to the lake.")
        made["candidates"] = [
            study.candidates.create(
                query=query, external_id=f"c{n}-{strategy}", text=text, strategy=strategy
            ).pk
            for strategy, text in zip(("A3", "attributes"), texts, strict=True)
        ]
    return made


def judge(study, item, person, kind, n) -> None:
    slot = item.slots.filter(status="open").order_by("ordinal").first()
    Slot.objects.filter(pk=slot.pk).update(status="held", annotator=person)
    name = person.name.split()[0]
    label = LABELS[kind][n not in YES[name]]
    data = {"verdict": label, "relevant": label, "cause": CAUSES[name], "value": label}
    if kind == "preference" and ordering.shown_order(item.pk, slot.ordinal, 2) == (2, 1):
        data["value"] = str(6 - int(label))
    submit.submit(study, slot.pk, person, data, key=f"{item.pk}")


def test_kappas_shares_causes_and_mentions_equal_those_computed_by_hand(bench):
    attribute, relevance, preference = gap.of_study(bench)
    for stage in (attribute, relevance, preference):
        assert stage["pairs"].value == pytest.approx(PEOPLE)
        assert stage["pairs"].low < PEOPLE < stage["pairs"].high
        # Both yes on 10, one alone on 4, nobody on 6.
        assert stage["between_models"].value == pytest.approx((0.8 - 0.5) / 0.5)
    # With Ann 14 of 20 agree, with Bo 15.
    single = ((0.7 - 0.46) / 0.54 + (0.75 - 0.48) / 0.52) / 2
    first, second = relevance["models"]
    assert first["single"].value == pytest.approx(single)
    assert first["over_selection"] == pytest.approx(0.7 / (17 / 40))
    assert second["over_selection"] == pytest.approx(0.5 / (17 / 40))
    assert relevance["people"] == pytest.approx([42.5, 57.5])
    assert preference["models"][0]["kappa"].value == pytest.approx(single)
    assert [(n, share) for _code, _words, n, share in map(dict.values, attribute["causes"])] == [
        (12, pytest.approx(1200 / 23)),
        (11, pytest.approx(1100 / 23)),
    ]
    # Of single ratings, as of a model: 23 of 40. Means of two are above 3 on six items alone.
    assert preference["no_better"] == pytest.approx(57.5)
    assert preference["models"][0]["no_better"] == pytest.approx(30)
    assert preference["mean_rating"] == pytest.approx((17 * 4 + 23 * 2) / 40)
    people, model, _other = preference["mentions"]
    assert (people["with"], people["n"]) == (4, [10, 30])
    assert people["effect"] == pytest.approx(4 - 74 / 30)
    assert model["effect"] == pytest.approx(4 - (9 * 4 + 6 * 2) / 15)
    # Ann says yes on 1 and 2 of 1, 2, 9 and 20, Bo on 1, 2 and 9: 5 of 8, and 12 of 32 others.
    for stage, (yes, no) in ((relevance, (100, 0)), (attribute, (100, 0)), (preference, (4, 2))):
        people, model, _other = stage["changes"]
        assert (people["with"], people["n"]) == (pytest.approx((5 * yes + 3 * no) / 8), [8, 32])
        assert people["without"] == pytest.approx((12 * yes + 20 * no) / 32)
        assert model["with"] == pytest.approx((3 * yes + no) / 4)


def test_a_models_shares_count_each_item_as_often_as_people_do(bench):
    # Bo takes back the vote on unit 20, which both models say no to.
    for kind in LABELS:
        slots = Slot.objects.filter(item__external_id=f"{kind}-20")
        slots.filter(annotator__name__startswith="Bo").update(status="void")
    _attribute, relevance, preference = gap.of_study(bench)
    assert relevance["models"][0]["shares"] == pytest.approx([2800 / 39, 1100 / 39])
    shares = [0, 1100 / 39, 0, 2800 / 39, 0]
    assert preference["models"][0]["shares"] == pytest.approx(shares)


def test_a_number_of_the_report_leads_to_its_items(bench, cast, login):
    client = login(cast.person("Rui"))
    for address, items, words in (
        ("relevance/units/?who=people&show=differ", 5, "Relevance: people do not agree"),
        ("relevance/units/?who=models&show=differ", 4, "models do not agree"),
        # Of 14 times yes, people both agree with 6; with all 6 times no.
        ("relevance/units/?who=m-1&show=differ", 8, "m-1 and a person do not agree"),
        ("preference/units/?who=people&show=no-better", 14, "is no better"),
        ("preference/units/?who=m-1&show=no-better", 6, "m-1: the personalised answer"),
        ("relevance/units/?who=people&show=no-better", 0, "No item fits"),
        ("preference/units/?mention=yes", 5, "mentions the attribute outright"),
        ("preference/units/?mention=no&who=m-1", 15, "does not mention the attribute"),
        ("attribute/units/?cause=overgeneralised", 12, "Attribute: overgeneralised"),
        ("attribute/units/?cause=none", 0, "No item fits"),
        ("relevance/units/?who=nobody&show=differ", 0, "No item fits"),
        ("relevance/units/?who=people&label=yes", 11, "m-1: yes"),
        ("relevance/units/?who=m-1&label=yes", 14, "m-1: yes"),
        ("relevance/units/?who=nobody&label=yes", 0, "No item fits"),
    ):
        page = client.get(f"/studies/tea/gap/{address}").text
        assert (f"{items} items" in page, words in page) == (True, True), address


def test_every_number_stands_on_the_page_and_comes_as_a_file(bench, cast, login):
    client = login(cast.person("Rui"))
    page = client.get("/studies/tea/gap/").text
    for words in ("Two models", "0.490", "1.65", "With a mention", "overgeneralised", "Changed"):
        assert words in page
    rows = list(csv.DictReader(io.StringIO(client.get("/studies/tea/gap/relevance.csv").text)))
    assert float(rows[0]["value"]) == pytest.approx(PEOPLE)
    assert client.get("/studies/tea/gap/relevance.svg").content.count(b"<svg") > 1
    assert client.get("/studies/tea/gap/relevance.exe").status_code == 404
    stages = json.loads(client.get("/studies/tea/gap/report.json").content)["stages"]
    assert stages[1]["pairs"]["value"] == pytest.approx(PEOPLE)
