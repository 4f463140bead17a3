"""A conversation with hidden systems, from the first message to judgments and their release."""

import json
import time

import pytest

from annotation.candidates.models import Budget, Candidate
from annotation.core.errors import Conflict, DomainError
from annotation.judging.annotator import data_export, leaving
from annotation.judging.models import Answer, Item, Judgment, Slot
from annotation.judging.work import present, queue
from annotation.live import talks
from annotation.live.models import Talk
from annotation.queries import owner_queries
from tests.candidates.conftest import write_all
from tests.live.conftest import ask, says
from tests.scripted_endpoint import BAD_KEY


def state(talk):
    return talks.show(Talk.objects.get(pk=talk.pk)).state


def replies(talk):
    shown = talks.show(Talk.objects.get(pk=talk.pk))
    return [[reply.text for reply in said] for _text, said in shown.turns]


@pytest.fixture
def talk(tea, ann, live, at_once):
    live()
    return talks.begin(tea, ann)


def test_each_system_has_its_own_conversation(tea, ann, talk):
    talks.say(talk.pk, ann, "Where shall I walk?", 0)
    assert state(talk) == "wait" and replies(talk) == [["", ""]]
    write_all()
    names = [name for name, _strategy, _label in talk.systems]
    assert replies(talk) == [[f"{name} after 2" for name in names]]
    talks.say(talk.pk, ann, "And in rain?", 1)
    ask(talk, "And in rain?", 1)
    assert replies(talk)[1] == [f"{name} after 4" for name in names]
    row = Candidate.every.get(purpose="turn", parameters__turn=1, endpoint=names[0])
    assert [message["role"] for message in row.prompt] == ["system", "user", "assistant", "user"]
    assert row.prompt[2]["content"] == f"{names[0]} after 2"


def test_what_is_judged_stands_in_the_order_of_the_conversation(cast, tea, ann, talk):
    ask(talk)
    ask(talk, "And in rain?", 1)
    assert talks.end(talk.pk, ann) == 1
    assert queue.claim(tea, cast.person("Bo")) is None  # only the person judges it
    shown = present.show(queue.claim(tea, ann), ann)
    assert shown.query == "Where shall I walk?"
    names = [name for name, _strategy, _label in talk.systems]
    assert [text.split()[1] for _id, text in shown.answers] == names
    answer = Candidate.objects.get(pk=shown.answers[0][0])
    assert answer.strategy == names[0] and answer.prompt and answer.parameters["chance"] == 1
    assert [message["role"] for message in answer.parameters["messages"]] == [
        "assistant", "user", "assistant"
    ]  # fmt: skip
    with pytest.raises(Conflict, match="over"):
        talks.say(talk.pk, ann, "More?", 2)


def test_all_systems_go_on_with_the_answer_that_is_chosen(tea, ann, live, at_once):
    live(each_turn="next")
    talk = talks.begin(tea, ann)
    ask(talk)
    assert state(talk) == "choose"
    with pytest.raises(Conflict, match="not your turn"):
        talks.say(talk.pk, ann, "More?", 1)
    talks.choose(talk.pk, ann, 1, 0)
    talks.choose(talk.pk, ann, 0, 0)
    chosen = talk.systems[1][0]
    vote = Answer.objects.get(judgment__slot__item__batch__task__name="next")
    option = vote.judgment.slot.item.options.get(number=int(vote.label))
    assert option.candidate.strategy == chosen
    ask(talk, "And in rain?", 1)
    rows = Candidate.every.filter(purpose="turn", parameters__turn=1)
    assert {row.prompt[2]["content"] for row in rows} == {f"{chosen} after 2"}
    talks.choose(talk.pk, ann, 0, 1)
    assert Judgment.objects.count() == 2
    assert talks.end(talk.pk, ann) == 1
    item = Item.objects.get(batch__task__name="served")
    assert [message["role"] for message in item.query.messages] == ["user", "assistant", "user"]
    assert {option.candidate.text for option in item.options.all()} == {
        "oak after 4", "elm after 4"
    }  # fmt: skip


def test_a_vote_of_a_turn_leaves_the_item_in_hand(cast, tea, ann, live, at_once):
    cast.open(tea, options=3)
    held = queue.claim(tea, ann)
    live(each_turn="next")
    talk = talks.begin(tea, ann)
    ask(talk)
    talks.choose(talk.pk, ann, 0, 0)
    assert Slot.objects.filter(annotator=ann, status="done").count() == 1
    assert queue.in_hand(tea, ann) == held


def test_a_system_that_fails_costs_the_person_nothing(tea, ann, models, talk):
    models.says = lambda request, n: BAD_KEY if request["model"] == "oak" else says(request, n)
    ask(talk)
    assert state(talk) == "trouble"
    models.says = says
    talks.ask_again(talk.pk, ann)
    write_all()
    assert state(talk) == "ask"


def test_one_goes_on_without_a_system_that_dawdles(tea, ann, live, at_once):
    live(models="3", endpoints=[], tasks=["three"])
    talk = talks.begin(tea, ann)
    talks.say(talk.pk, ann, "Where shall I walk?", 0)
    slow = Candidate.every.get(purpose="turn", endpoint="ash")
    Candidate.every.filter(pk=slow.pk).update(status="running")
    write_all()
    assert state(talk) == "wait"
    talks.go_without(talk.pk, ann)
    assert state(talk) == "wait"
    stored = Talk.objects.get(pk=talk.pk)
    stored.turns[0]["asked"] = time.time() - 91
    stored.save()
    assert state(talk) == "trouble"
    talks.go_without(talk.pk, ann)
    slow.refresh_from_db()
    assert (state(talk), slow.status) == ("ask", "cancelled")
    ask(talk, "And in rain?", 1)
    assert sorted(replies(talk)[1]) == ["elm after 4", "oak after 4"]
    talks.end(talk.pk, ann)


def test_texts_appear_at_one_rate(tea, ann, live, models, monkeypatch):
    live()
    talk = talks.begin(tea, ann)
    models.says = lambda request, n: "x" * (4000 if request["model"] == "oak" else 1500)
    ask(talk)
    stored = Talk.objects.get(pk=talk.pk)
    last = max(row.answered_at for row in Candidate.every.filter(purpose="turn")).timestamp()
    monkeypatch.setattr(talks.time, "time", lambda: last + 4)
    shown = talks.show(stored)
    lengths = [len(reply.text) for reply in shown.turns[0][1]]
    assert (shown.state, lengths) == ("appear", [4 * talks.RATE] * 2)
    monkeypatch.setattr(talks.time, "time", lambda: last + 4000 / talks.RATE)
    assert talks.show(stored).state == "ask"


def test_limits(tea, ann, live, at_once):
    live(turns=1, words=5, talks=1)
    talk = talks.begin(tea, ann)
    assert talks.begin(tea, ann) == talk
    for text, words in [("one two three four five six", "at most 5 words"), (" ", "Write a mess")]:
        with pytest.raises(DomainError, match=words):
            talks.say(talk.pk, ann, text, 0)
    talks.say(talk.pk, ann, "one two three four five", 0)
    with pytest.raises(Conflict, match="on their way"):
        talks.end(talk.pk, ann)
    write_all()
    assert state(talk) == "judge"
    talks.end(talk.pk, ann)
    with pytest.raises(Conflict, match="all your conversations"):
        talks.begin(tea, ann)


def test_the_budget_of_the_study_ends_it(tea, ann, talk):
    Budget.objects.create(study=tea, tokens=1)
    ask(talk)
    assert state(talk) == "trouble"
    talks.go_without(talk.pk, ann)
    assert state(talk) == "judge"
    assert talks.end(talk.pk, ann) == 0


def test_drafts_are_kept_until_they_are_sent(tea, ann, talk):
    talks.keep_draft(talk.pk, ann, "Where", 0)
    assert Talk.objects.get().draft == "Where"
    talks.say(talk.pk, ann, "Where shall I walk?", 0)
    talks.keep_draft(talk.pk, ann, "Where", 0)
    assert Talk.objects.get().draft == ""


def test_the_download_of_what_one_gave_has_conversations(tea, ann, talk):

    ask(talk)
    file = json.loads("".join(data_export.stream(tea, ann)))
    (conversation,) = file["conversations"]
    assert conversation["turns"][0]["text"] == "Where shall I walk?"
    assert conversation["turns"][0]["answers"]["1"] == f"{talk.systems[0][0]} after 2"


def test_conversations_of_who_withdraws_are_erased(cast, tea, ann, talk):
    talks.say(talk.pk, ann, "Where shall I walk?", 0)
    leaving.withdraw(tea, ann)
    assert not Talk.objects.exists()
    assert not Candidate.every.exclude(text="").exists()


def test_what_was_said_is_none_of_the_own_queries_that_a_study_takes(cast, tea, ann, talk):
    talks.say(talk.pk, ann, "Where shall I walk?", 0)
    cast.task(tea, "owned", owner_only=True)
    tea.owner_queries = 1
    begun = owner_queries.begin(tea, ann)
    assert list(owner_queries.of(tea, ann)) == [begun]
