"""What was extracted from a history goes with it, down to items, prompts and answers."""

import pytest

from annotation.candidates.attributes import Thresholds, make
from annotation.candidates.models import Extraction, Proposal, Run
from annotation.candidates.retrieve import erase_extracted
from annotation.histories import consent
from annotation.histories.models import HistoryConsent
from annotation.judging.batches.open import open_batch
from annotation.judging.curator.removal import remove_withdrawn
from annotation.judging.kinds import kind_of
from annotation.judging.models import Slot
from annotation.judging.work import queue, submit
from annotation.personas import conversations
from annotation.personas.models import Attribute, Conversation, Evidence
from tests.personalbench.test_conversations import keep

pytestmark = pytest.mark.django_db
SHOW = HistoryConsent.Purpose.SHOW
SAID = ("I love night trains.", "I bake rye bread.")


@pytest.fixture
def taken(tea, cast):
    """Ann's two chats, each with a statement that became an attribute, which are to be judged."""
    ann = cast.member("Ann", tea, "annotator")
    for number, text in enumerate(SAID):
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
            run=run,
            study=tea,
            step="attribute",
            persona=persona,
            number=number,
            status="done",
            text=text,
            input={"chats": [chat.pk]},
            parameters={"attribute": asked},
        )
        span = {"conversation": chat.pk, "turn": 0, "start": 0, "end": len(text)}
        Extraction.objects.create(
            proposal=proposal,
            persona=persona,
            number=1,
            text=f"Says: {text}",
            confidence=0.9,
            evidence=[span],
            embedding=[number % 2, number // 2] + [0] * 254,
        )
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
