"""Every kind of judgment through the API."""

import pytest

from annotation.judging.batches.open import open_batch
from annotation.judging.models import Judgment, Slot
from annotation.judging.work.submit import revise
from annotation.queries.models import GoldResponse
from annotation.studies.models import Study, TaskDefinition
from tests import everykind
from tests.api.caller import Caller
from tests.conftest import Cast, kept


@kept
def open_mix(folder):
    study = everykind.study(folder)
    Cast().members(study, {"Ann": "annotator", "Rui": "researcher"})
    return study.pk


@pytest.fixture
def mix(open_mix, db):
    return Study.objects.get(pk=open_mix)


@pytest.fixture
def ann(cast, mix, client):
    return Caller(client, cast.person("Ann"))


@pytest.fixture
def claim(mix, ann):
    """claim("i-rate"): what Ann gets, the slots of other items closed."""

    def claim_(name):
        # Training comes first, and has its own tests.
        mix.items.exclude(batch__purpose="work").delete()
        mix.slots.exclude(item__external_id=name).filter(status="open").update(status="closed")
        answer = ann("POST", "studies/mix/claim/")
        assert answer.status_code == 200
        return answer.json()

    return claim_


def test_a_preference_comes_with_its_attribute_and_a_scale_from_what_is_shown_first(claim):
    body = claim("i-rate")
    assert (body["kind"], body["attribute"]) == ("preference", "Grows ferns at home.")
    (question,) = body["questions"]
    described = [question[name] for name in ("name", "type", "about")]
    assert described == ["preference", "scale", "item"]
    assert question["text"] == "Which answer is better for this person?"
    assert question["names"][0] == {"": "Answer 1 is much better"}
    assert len(body["options"]) == 2
    origins = ("c-own", "generic", "A1", "i-rate", "work", "m-1")
    assert [origin for origin in origins if origin in str(body)] == []


def test_an_attribute_comes_with_its_conversations_and_no_query(claim):
    body = claim("i-a1")
    assert (body["kind"], body["query"], body["options"]) == ("attribute", "", [])
    assert body["conversations"] == [everykind.CHAT]
    assert body["persona"] == {"Name": "Mina Park"}


def test_scores_come_with_their_criteria(claim):
    body = claim("i-feel")
    asked = [(each["name"], each["about"], each["comment"]) for each in body["questions"]]
    assert asked == [("Tone", "option", "required"), ("Depth", "option", "required")]
    assert body["settings"]["feedback"] == "required"


@pytest.mark.parametrize("name", ["i-better", "i-rate", "i-feel", "i-a2", "i-m1"])
def test_every_kind_is_stored_once_and_answered_with_what_says_it_again(
    name, claim, ann, mix, cast
):
    slot = claim(name)["slot"]
    body = everykind.body(Slot.objects.get(pk=slot), everykind.SAYS[name][0])
    path, key = f"slots/{slot}/judgment/", {"Idempotency-Key": "one"}
    first, again = ann("POST", path, body, **key), ann("POST", path, body, **key)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert Judgment.objects.count() == 1
    # Its answer, sent as a new one, says the same.
    answer = first.json()["answer"]
    revise(mix, slot, cast.person("Ann"), answer, key="two")
    columns = ("question", "option", "part", "label", "value", "text", "chips")
    first, revised = Judgment.objects.order_by("pk")
    stored = [list(row.answers.order_by("pk").values_list(*columns)) for row in (first, revised)]
    assert stored[0] == stored[1]


def test_a_training_item_explains_itself_once_it_is_answered(mix, ann):
    body = ann("POST", "studies/mix/claim/").json()
    assert "mentions too much" not in str(body)
    choice = next(one["id"] for one in body["options"] if one["text"] == "Repot your ferns.")
    path = f"slots/{body['slot']}/judgment/"
    told = ann("POST", path, {"choice": choice}, **{"Idempotency-Key": "k"}).json()["training"]
    assert (told["right"], told["explanation"]) == (False, "The other one mentions too much.")
    place = [one["text"] for one in body["options"]].index("Take a walk.") + 1
    assert told["expected"] == [f"Answer {place}"]


def test_claims_are_judged_one_by_one(mix, ann, claim, cast):
    query = mix.queries.get()
    gold = GoldResponse.objects.create(query=query, text="Ferns like shade and rain.")
    for number, text in enumerate(("Ferns like shade.", "Ferns like rain."), start=1):
        gold.claims.create(number=number, text=text)
    task = TaskDefinition.objects.create(study=mix, name="gold", kind="claims", overlap=1)
    item = open_batch(mix, task).items.get()
    body = claim(item.external_id)
    assert body["gold"] == "Ferns like shade and rain."
    first, second = (str(claim["id"]) for claim in body["claims"])
    decided = {first: "keep", second: "edit"}
    answers = {"claims": decided, "edited": {second: "Some like rain."}}
    path = f"slots/{body['slot']}/judgment/"
    missing = ann("POST", path, {"claims": {first: "keep"}}, **{"Idempotency-Key": "x"})
    assert (missing.status_code, missing.json()["detail"]) == (400, "Decide on claim 2.")
    assert ann("POST", path, {"answers": answers}, **{"Idempotency-Key": "y"}).status_code == 201
    rows = Caller(ann.client, cast.person("Rui"))("GET", "studies/mix/judgments/").json()
    assert rows["results"][0]["answer"] == {
        "1": {"claim": "Ferns like shade.", "verdict": "keep", "text": ""},
        "2": {"claim": "Ferns like rain.", "verdict": "edit", "text": "Some like rain."},
    }


def test_a_passage_beyond_its_answer_is_refused_with_its_length(mix, ann, claim):
    slot = claim("i-own")
    assert [(q["type"], q["about"]) for q in slot["questions"]][-1] == ("passages", "item")
    ids = [option["id"] for option in slot["options"]]
    named = {"best": "tie", "polite": dict.fromkeys(ids, "Yes"), "depth": 5}
    length = len(slot["options"][1]["text"])
    path = f"slots/{slot['slot']}/judgment/"
    for end, status in ((length + 1, 400), (length, 201)):
        odd = [{"option": ids[1], "start": 1, "end": end, "class": "Tone"}]
        answer = ann("POST", path, {"answers": named | {"odd": odd}}, **{"Idempotency-Key": "k"})
        assert answer.status_code == status
        if status == 400:
            words = f"begins and ends within the {length} characters of its answer"
            assert words in answer.json()["detail"]
    assert answer.json()["answer"]["answers"]["odd"] == odd


@pytest.fixture
def rui(cast, mix, client):
    people = [cast.member(name, mix, "annotator") for name in ("Ann", "Bo", "Chen")]
    everykind.judge(mix, people)
    return Caller(client, cast.person("Rui"))


def test_researchers_read_every_kind_in_long_form(rui):
    rows = rui("GET", "studies/mix/judgments/").json()["results"]
    assert len(rows) == 23
    said = {}
    for row in rows:
        said.setdefault(row["item"], []).append((row["label"], row["detail"]))
    assert said["i-better"] == [("c-own", ""), ("c-own", ""), ("tie", "")]
    assert said["i-rate"] == [("1", ""), ("1", ""), ("4", "")]
    assert said["i-a2"][:2] == [("uncertain", "missing-evidence"), ("rejected", "overgeneralised")]
    assert said["i-feel"] == [(None, ""), (None, "")]
    feel = next(row for row in rows if row["item"] == "i-feel")
    assert feel["answer"]["c-own"]["Tone"] == {"score": 4, "feedback": "4 it is", "chips": []}
    assert {row["attribute"] for row in rows} == {None, "a1", "a2"}
    odd = [row["answer"].get("odd") for row in rows if row["item"] == "i-own"]
    assert odd == [
        [{"option": "c-own", "start": 0, "end": 5, "class": "Fact", "text": "Why?"}],
        [
            {"option": "c-own", "start": 0, "end": 10, "class": "Fact", "text": "Why?"},
            {"option": "c-generic", "start": 5, "end": 6, "class": "Tone", "text": "Why?"},
        ],
        None,
    ]


def test_only_what_stands_is_listed_unless_all_is_asked_for(rui, mix, cast):
    slots = Slot.objects.filter(item__external_id="i-m1")
    ann, bo = cast.person("Ann"), cast.person("Bo")
    revise(mix, slots.get(annotator=ann).pk, ann, {"relevant": "no"}, key="second thought")
    slots.filter(annotator=bo).update(status="void")

    def listed(query):
        rows = rui("GET", f"studies/mix/judgments/{query}").json()["results"]
        return [
            (row["label"], row["revision"], row["void"]) for row in rows if row["item"] == "i-m1"
        ]

    assert listed("") == [("no", 1, False), ("no", 2, False)]
    assert listed("?all=1") == [
        *(("yes", 1, False), ("yes", 1, True), ("no", 1, False), ("no", 2, False))
    ]
    assert listed("?all=0") == listed("")
    refused = rui("GET", "studies/mix/judgments/?all=maybe")
    assert (refused.status_code, refused.json()["code"]) == (400, "all")


def test_the_number_of_statements_does_not_grow_with_the_judgments(
    rui, django_assert_max_num_queries
):
    with django_assert_max_num_queries(11):
        assert len(rui("GET", "studies/mix/judgments/").json()["results"]) == 23


def test_the_schema_documents_the_body_of_a_judgment(login, cast, mix):
    schema = login(cast.person("Rui")).get("/api/schema/?format=json").json()
    body = schema["components"]["schemas"]["JudgmentBody"]["properties"]
    assert {"answers", "choice", "reason", "flags", "marks", "seconds"} <= body.keys()
