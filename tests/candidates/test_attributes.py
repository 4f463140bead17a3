"""Attributes: extracted with evidence, verified, clustered, made."""

import json

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from annotation.candidates import attributes, generate
from annotation.candidates.attributes import Thresholds, make
from annotation.candidates.models import Candidate, Extraction, GenerationRules, Proposal, Run
from annotation.candidates.retrieve import erase_extracted
from annotation.candidates.steps.people import span_of
from annotation.core.errors import DomainError
from annotation.histories import consent
from annotation.histories.models import HistoryConsent
from annotation.judging.batches.open import open_batch
from annotation.judging.curator.removal import remove_withdrawn
from annotation.judging.kinds import kind_of
from annotation.judging.models import Slot
from annotation.judging.work import queue, submit
from annotation.personas import conversations
from annotation.personas.models import Attribute, Conversation, Evidence
from tests.api.caller import Caller
from tests.candidates.conftest import write_all
from tests.personas.test_conversations import keep
from tests.scripted_endpoint import prompt_of

pytestmark = pytest.mark.django_db
SAID = "I bake rye bread every Sunday.  It never rises!"


def unit(*rows):
    found = np.array(rows, dtype=np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def test_the_most_confident_leads_and_rows_join_their_nearest_leader():
    rows = unit([1, 0, 0], [0.9, 0.435, 0], [0, 1, 0], [0.6, 0.8, 0], [0, 0, 1])
    # The fourth is at 0.6 from the first and at 0.8 from the third.
    groups = attributes.cluster(rows, [0.9, 0.5, 0.8, 0.4, 0.1], 0.7)
    assert sorted(map(sorted, groups)) == [[0, 1], [2, 3], [4]]
    assert attributes.cluster(rows, [1] * 5, 1.0) == [[0], [1], [2], [3], [4]]


@pytest.mark.parametrize(
    ("rows", "confidence", "first"),
    [
        (unit([1, 0], [0.95, 0.31], [0.8, 0.6]), [1, 1, 1], [1, 0, 2]),
        (unit([1, 0], [0.95, 0.31], [0.8, 0.6]), [0.9, 0.01, 0.01], [0, 1, 2]),
        (unit([1, 0], [1, 0]), [0.4, 0.6], [1, 0]),
        (unit([1, 0], [1, 0]), [0.5, 0.5], [0, 1]),
    ],
)
def test_the_representative_is_nearest_to_the_centroid_weighted_by_confidence(
    rows, confidence, first
):
    assert attributes.cluster(rows, confidence, 0.5) == [first]


@given(
    arrays(
        np.float32,
        st.tuples(st.integers(1, 40), st.just(4)),
        elements=st.floats(0.125, 1, width=32),
    ),
    st.floats(0.5, 0.99),
)
def test_each_row_is_with_its_nearest_leader(rows, similarity):
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    confidence = np.linspace(1, 0, len(rows))
    groups = attributes.cluster(rows, confidence, similarity)
    assert sorted(row for members in groups for row in members) == list(range(len(rows)))
    leaders = []
    for row in range(len(rows)):
        if all(rows[row] @ rows[leader] < np.float32(similarity) for leader in leaders):
            leaders.append(row)
    near = rows @ rows[leaders].T
    for members, leader in zip(groups, range(len(leaders)), strict=True):
        assert (near[members, leader] >= near[members].max(axis=1) - 1e-5).all()
        assert (near[members, leader] >= similarity - 1e-5).all()


@pytest.mark.parametrize(
    ("turn", "quote", "expected"),
    [
        (1, "bake rye bread", (0, 2, 16)),
        (1, "“Sunday. it never rises”", (0, 23, 46)),
        (2, "bake rye bread", (0, 2, 16)),
        (2, "what nobody ever wrote", (1, 0, 9)),
        (1, "…", (0, 0, len(SAID))),
        (3, "bake", None),
        (0, "bake", None),
    ],
)
def test_a_quote_is_sought_in_its_turn_then_in_the_others(turn, quote, expected):
    turns = [(7, 0, {"text": SAID}), (7, 1, {"text": "More heat"})]
    span = span_of(turns, {"turn": turn, "quote": quote})
    found = span and (span["turn"], span["start"], span["end"])
    assert found == expected


def chat(persona, number, *said):
    turns = [{"role": "user", "text": text} for text in said]
    return Conversation.objects.create(
        study=persona.study, persona=persona, provider="wildchat", external_id=f"w{number}",
        speaker="ada", messages=turns, turns=len(said), embedding=[1] + [0] * 255,
    )  # fmt: skip


def says(*statements):
    attributes = []
    for text, confidence, *evidence in statements:
        found = [{"turn": turn, "quote": quote} for turn, quote in evidence]
        attributes.append({"text": text, "confidence": confidence, "evidence": found})
    return {"attributes": attributes}


def by_text(**values):
    """A reply by what the prompt names: calls start in any order."""
    return lambda request: json.dumps(
        next(value for words, value in values.items() if words in prompt_of(request))
    )


@pytest.fixture
def ada(cast, tea):
    persona = cast.persona(tea, Name="")
    chat(persona, 1, SAID, "Which oven?")
    chat(persona, 2, "I bake bread at home a lot.")
    return persona


@pytest.fixture
def extracted(ada, tea, model, script):
    first = says(
        ("Bakes rye bread at home every week.", 0.9, (1, "bake rye bread")),
        ("Owns a bad oven.", 0.3, (2, "Which oven")),
        ("Is a pilot.", 0.8, (9, "I fly")),
    )
    other = says(("Bakes bread at home.", 0.6, (1, "bake bread at home")))
    script.values = [by_text(oven=first, home=other)]
    generate.request_proposals(tea, "attribute", {"chats": 1, "language": "English"})
    write_all()
    return tea


def test_statements_are_stored_with_confidence_and_evidence(extracted):
    rows = list(Extraction.objects.order_by("proposal__number", "number"))
    assert [(row.text[:11], row.confidence) for row in rows] == [
        ("Bakes rye b", 0.9), ("Owns a bad ", 0.3), ("Bakes bread", 0.6),
    ]  # fmt: skip
    (span,) = rows[0].evidence
    text = Conversation.objects.get(pk=span["conversation"]).messages[span["turn"]]["text"]
    assert text[span["start"] : span["end"]] == "bake rye bread"
    first = Proposal.objects.get(number=1)
    assert (first.review, first.flags, first.output["unfounded"]) == ("", ["unfounded"], 1)


def test_a_model_is_asked_about_a_conversation_once_and_another_model_again(
    extracted,
    settings,
    model,
):
    with pytest.raises(DomainError, match="nothing new"):
        generate.request_proposals(extracted, "attribute", {})
    warm = model.config(name="warm", parameters={"temperature": 1})
    settings.ENDPOINTS = [*settings.ENDPOINTS, warm]
    assert generate.plan(extracted, "attribute", {}, endpoint="warm")["calls"] == 2
    run = generate.request_proposals(extracted, "attribute", {}, endpoint="warm", limit=1)
    write_all()
    (row,) = run.proposals.all()
    assert (row.endpoint, row.model) == ("warm", "scripted-1 (warm)")
    assert row.parameters["attribute"]["request"]["temperature"] == 1
    Proposal.objects.exclude(pk=row.pk).delete()
    attributes.make(extracted, Thresholds(0, 1))
    assert set(Attribute.objects.values_list("model", flat=True)) == {"scripted-1 (warm)"}


def test_statements_of_extractors_that_were_never_set_together_are_told_apart(extracted):
    second = Proposal.objects.order_by("number").last()
    Proposal.objects.filter(pk=second.pk).update(endpoint="later")
    attributes.make(extracted, Thresholds(0.4, 1.0))
    names = Attribute.objects.order_by("-confidence").values_list("model", flat=True)
    assert list(names) == ["scripted-1 (scripted)", "scripted-1 (later)"]


def test_low_confidence_is_dropped_and_one_meaning_is_one_attribute(extracted, ada):
    counts = attributes.make(extracted, Thresholds(0.4, 0.7))
    assert counts == {"statements": 2, "attributes": 1, "people": 1, "left": 0}
    attribute = Attribute.objects.get()
    assert attribute.text == "Bakes rye bread at home every week."
    assert attribute.model == "scripted-1"
    both = [evidence.messages for evidence in attribute.evidence.all()]
    assert [turn.get("spans") for turn in both[0]] == [[[2, 16]], None]
    assert both[1][0]["spans"] == [[2, 20]]
    assert attributes.make(extracted, Thresholds(0.2, 1.0))["attributes"] == 3
    assert Attribute.objects.count() == 3
    with pytest.raises(DomainError, match="confident enough"):
        attributes.make(extracted, Thresholds(0.95, 0.7))


@pytest.mark.parametrize("judged", ["attribute", "answer written from it"])
def test_attributes_stay_while_people_judge_them_or_answers_written_from_them(
    extracted, cast, judged
):
    attributes.make(extracted, Thresholds())
    if judged == "attribute":
        task = extracted.tasks.create(name="traits", kind="attribute", overlap=3, config={})
        open_batch(extracted, task)
    else:
        cast.open(extracted)
        Candidate.objects.filter(external_id="best-q1-0").update(attribute=Attribute.objects.get())
    assert attributes.make(extracted, Thresholds(0.1, 1.0))["left"] == 1
    assert Attribute.objects.count() == 1


def test_a_second_look_refines_and_drops(extracted, script):
    first = [
        {"number": 1, "verdict": "refine", "text": "Bakes rye bread on Sundays."},
        {"number": 2, "verdict": "unsupported", "text": ""},
    ]
    other = [{"number": 1, "verdict": "supported", "text": ""}]
    script.values = [by_text(oven={"attributes": first}, home={"attributes": other})]
    assert generate.request_proposals(extracted, "verify", {}).planned["calls"] == 2
    write_all()
    rows = Extraction.objects.order_by("proposal__number", "number")
    assert [row.verdict for row in rows] == [
        "refined", "unsupported", "supported",
    ]  # fmt: skip
    attributes.make(extracted, Thresholds(0, 1))
    assert sorted(Attribute.objects.values_list("text", flat=True)) == [
        "Bakes bread at home.", "Bakes rye bread on Sundays.",
    ]  # fmt: skip
    with pytest.raises(DomainError, match="nothing new"):
        generate.request_proposals(extracted, "verify", {})


def test_where_the_study_reviews_answers_statements_wait_for_a_curator(ada, tea, model, script):
    GenerationRules.objects.create(study=tea, review_answers=True)
    script.values = [says(("Bakes bread.", 0.9, (1, "bread")))]
    generate.request_proposals(tea, "attribute", {})
    write_all()
    assert Proposal.objects.first().review == "pending"
    assert attributes.preview_thresholds(tea, Thresholds())["statements"] == 0


def test_the_page_previews_thresholds_and_makes_attributes(extracted, cast, login):
    client = login(cast.member("Carol", extracted, "curator"))
    page = client.get("/studies/tea/generation/clusters/?confidence=0.2&similarity=0.9")
    assert "<dd>3" in page.text
    assert client.get("/studies/tea/generation/clusters/?confidence=x").status_code == 200
    data = {"confidence": "0.4", "similarity": "0.7"}
    assert client.post("/studies/tea/generation/clusters/", data).status_code == 302
    assert Attribute.objects.count() == 1


def test_the_same_by_command_and_api(extracted, cast, client, capsys):
    call_command("make_attributes", "tea", "--dry-run")
    assert json.loads(capsys.readouterr().out)["attributes"] == 1
    call_command("make_attributes", "tea", "--similarity", "1")
    assert json.loads(capsys.readouterr().out)["attributes"] == 2
    with pytest.raises(CommandError, match="less than or equal to 1"):
        call_command("make_attributes", "tea", "--confidence", "4")
    carol = Caller(client, cast.member("Carol", extracted, "curator"))
    address = "studies/tea/attributes/make/"
    shown = carol("GET", f"{address}?confidence=0").json()
    assert (shown["confident"], shown["attributes"]) == (3, 2)
    made = carol("POST", address).json()
    assert made["attributes"] == 1
    assert carol("GET", f"{address}?confidence=nan").status_code == 400


SHOW = HistoryConsent.Purpose.SHOW
TOLD = ("I love night trains.", "I bake rye bread.")


@pytest.fixture
def taken(tea, cast):
    """Ann's two chats, each with a statement that became an attribute, which are to be judged."""
    ann = cast.member("Ann", tea, "annotator")
    for number, text in enumerate(TOLD):
        keep(ann, f"chat {number}", text, "Good.")
    consent.grant(ann, tea, SHOW)
    conversations.add_histories(tea)
    persona = cast.persona(tea)
    run = Run.objects.create(study=tea, step="attribute", endpoint="scripted")
    for number, chat in enumerate(Conversation.objects.order_by("pk"), start=1):
        Conversation.objects.filter(pk=chat.pk).update(persona=persona)
        text = chat.messages[0]["text"]
        asked = {"prompt": [{"role": "user", "content": text}]}
        proposal = Proposal.objects.create(
            run=run, study=tea, step="attribute", persona=persona, number=number, status="done",
            text=text, input={"chats": [chat.pk]}, parameters={"attribute": asked},
        )  # fmt: skip
        span = {"conversation": chat.pk, "turn": 0, "start": 0, "end": len(text)}
        Extraction.objects.create(
            proposal=proposal, persona=persona, number=1, text=f"Says: {text}", confidence=0.9,
            evidence=[span], embedding=[number % 2, number // 2] + [0] * 254,
        )  # fmt: skip
    assert make(tea, Thresholds())["attributes"] == 2
    config = kind_of("attribute").check_config({})
    open_batch(tea, tea.tasks.create(name="holds", kind="attribute", overlap=3, config=config))
    return ann


def judge_one(study, annotator) -> Attribute:
    slot = queue.claim(study, annotator)
    submit.submit(study, slot, annotator, {"verdict": "accepted"}, key="k")
    return Slot.objects.get(pk=slot).item.attribute


def test_words_that_were_extracted_go_with_the_history(taken, tea, cast):
    judged = judge_one(tea, cast.person("Bo"))
    assert erase_extracted() == 0
    consent.withdraw(taken, tea, SHOW)
    assert conversations.forget_withdrawn() == 2
    assert erase_extracted() == 2
    for table in (Conversation, Extraction, Proposal, Evidence):
        assert not table.objects.exists(), table
    assert set(Attribute.objects.values_list("text", flat=True)) == {""}
    assert remove_withdrawn() == 2
    # What was judged keeps its row, without words, and is handed out no more.
    assert list(Attribute.objects.all()) == [judged]
    assert set(Slot.objects.values_list("status", flat=True)) == {"done", "closed"}
    assert queue.claim(tea, cast.person("Chen")) is None
    assert (erase_extracted(), remove_withdrawn()) == (0, 0)


def test_an_answer_from_an_attribute_loses_its_words_with_it(taken, tea, cast):
    query = cast.query(tea, "q1", tea.personas.get(external_id="p1"))
    (by_one, by_all, generic) = cast.candidates(query)
    first = Attribute.objects.order_by("pk").first()
    type(by_one).objects.filter(pk=by_one.pk).update(attribute=first, prompt=["secret"])
    type(by_all).objects.filter(pk=by_all.pk).update(strategy="attributes", prompt=["secret"])
    consent.withdraw(taken, tea, SHOW)
    conversations.forget_withdrawn()
    erase_extracted()
    for answer in (by_one, by_all):
        answer.refresh_from_db()
        assert (answer.text, answer.prompt) == ("", None)
    generic.refresh_from_db()
    assert generic.text.startswith("Answer 2")


def test_a_chat_that_is_erased_takes_its_statement_and_leaves_the_other(taken, tea):
    chat = Conversation.objects.order_by("pk").first()
    lost, kept = (row.messages[0]["text"] for row in Conversation.objects.order_by("pk"))
    chat.session.delete()
    assert erase_extracted() == 1
    assert remove_withdrawn() == 1
    (left,) = Attribute.objects.all()
    assert (left.text, left.evidence.count()) == (f"Says: {kept}", 1)
    assert not Proposal.objects.filter(text=lost).exists()
