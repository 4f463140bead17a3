"""The pool of conversations: what comes in, what the filters leave, who is taken."""

import json

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from annotation.histories import consent
from annotation.histories.formats.chats import row_of
from annotation.histories.models import HistoryConsent
from annotation.personas import conversations
from annotation.personas.conversations import Filters
from annotation.personas.models import Conversation
from annotation.studies.models import Study
from tests.api.caller import Caller
from tests.evaluation.conftest import printed
from tests.papers.bespoke.conftest import keep

pytestmark = pytest.mark.django_db


def wild(name, person, *said, language="English"):
    """A row of WildChat: the person's messages, each with an answer."""
    turns = []
    for text in said:
        turns.append({"role": "user", "content": text, "hashed_ip": person})
        turns.append({"role": "assistant", "content": f"About {text}"})
    row = {"conversation_hash": name, "timestamp": "2024-01-02T03:04:06+00:00", "turn": len(said)}
    return row | {"language": language, "hashed_ip": person, "conversation": turns}


def pool_of_three(tmp_path):
    """Ada cooks, Bo repairs, Cy sends one template; a German; an LMSYS row that names nobody."""
    rows = [
        *(wild(f"a{n}", "ada", *(f"How do I bake bread {w}?" for w in "abcdef")) for n in range(3)),
        *(wild(f"b{n}", "bo", *(f"My {w} leaks, what now?" for w in "uvwxyz")) for n in range(3)),
        *(wild(f"c{n}", "cy", f"Make a picture of {n} cats", "Again", "More") for n in range(4)),
        wild("d", "dora", "Wie geht das?", language="German"),
        {"conversation_id": "l", "model": "m", "language": "English",
         "conversation": [{"role": "user", "content": "Hi NAME_1"}]},
    ]  # fmt: skip
    for number, row in enumerate(rows[:6]):  # their conversations begin with different words
        row["conversation"][0]["content"] = f"{'abcdef'[number] * 4} {row['conversation'][0]}"
    path = tmp_path / "wild.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def bench(tmp_path):
    path = pool_of_three(tmp_path)
    done = printed("import_data", path, study="bench", recipe="conversations")
    assert done["conversations"] == 12
    return Study.objects.get(slug="bench")


def test_an_address_becomes_a_pseudonym_that_differs_from_study_to_study():
    row = wild("a", "1f2e3d", "Hi")
    one, other = row_of(row, "tea"), row_of(row, "silk")
    assert one.speaker == row_of(row, "tea").speaker != other.speaker
    assert "1f2e3d" not in repr(one)
    assert row_of({"text": "no conversation"}) is None
    assert row_of({"conversation": [{"role": "user", "content": ""}], "timestamp": 1}) is None


def test_a_file_comes_in_once_and_faulty_lines_are_named(bench, tmp_path):
    path = pool_of_three(tmp_path)
    path.write_text(path.read_text() + '{"conversation": 3}\n')
    options = {"study": "bench", "recipe": "conversations", "skip_faulty": True}
    result = printed("import_data", path, **options)
    assert (result["conversations"], Conversation.objects.count()) == (12, 12)
    assert [fault["line"] for fault in result["rejected"]] == [13]
    assert "no conversation" in result["rejected"][0]["reason"]


def test_each_filter_says_whom_it_leaves(bench):
    rows = conversations.funnel(bench, Filters(language="English"))
    # Dora is German; Cy's conversations begin alike; the LMSYS row is a person with one.
    assert [(people, chats) for _words, people, chats in rows] == [
        (5, 12), (4, 11), (3, 7), (2, 6), (2, 6),
    ]  # fmt: skip
    assert conversations.funnel(bench, Filters(turns=19))[-1][1:] == (0, 0)
    assert conversations.funnel(bench, Filters(turns=18))[-1][1:] == (2, 6)
    with_scripts = conversations.funnel(bench, Filters(scripted=True, turns=1))
    assert with_scripts[-1][1] == 3


def test_whoever_repeats_a_message_is_scripted():
    assert conversations._repetitive(["Continue 1", "continue 2!", "Why?"])
    assert not conversations._repetitive(["Continue", "Why?", "How?", "continue"])
    assert not conversations._repetitive(["Go on", "Go on"])


def test_the_diverse_subset_takes_the_far_before_the_near():
    rows = np.array([[1, 0, 0], [0.99, 0.1, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
    assert set(conversations.diverse(rows, 3)) in ({0, 2, 3}, {1, 2, 3})
    assert conversations.diverse(rows, 9) == [0, 1, 2, 3]
    same = np.ones((4, 3), dtype=np.float32)
    assert len(set(conversations.diverse(same, 3))) == 3


def test_people_are_taken_once_and_later_conversations_join_them(bench):
    assert conversations.take(bench, Filters(people=1))["personas"] == 1
    assert conversations.take(bench, Filters()) == {"personas": 2, "conversations": 6}
    assert conversations.take(bench, Filters()) == {"personas": 2, "conversations": 6}
    assert bench.personas.count() == 2
    assert all(persona.current.profile == {} for persona in bench.personas.all())


def test_the_page_counts_and_takes(bench, cast, login):
    client = login(cast.member("Carol", bench, "curator"))
    page = client.get("/studies/bench/conversations/?conversations=3&turns=18&people=2")
    assert "Who is left after each filter" in page.text
    nobody = {"conversations": 99, "turns": 1, "people": ""}
    refused = client.post("/studies/bench/conversations/", nobody)
    assert (refused.status_code, "Nobody is left" in refused.text) == (400, True)
    data = {"conversations": 3, "turns": 15, "people": 1, "language": "English"}
    for sent, status in ((nobody | {"turns": "\u0000"}, 400), (data, 302)):
        assert client.post("/studies/bench/conversations/", sent).status_code == status
    assert bench.personas.count() == 1


def test_the_command_prints_the_funnel_and_takes(bench, capsys):
    call_command("conversations", "bench", "--language", "English", "--take")
    document = json.loads(capsys.readouterr().out)
    assert document["taken"] == {"personas": 2, "conversations": 6}
    assert document["funnel"][-1]["people"] == 2
    with pytest.raises(CommandError, match="Nobody is left"):
        call_command("conversations", "bench", "--turns", "999", "--take")


def test_the_same_over_http(bench, cast, client):
    carol = Caller(client, cast.member("Carol", bench, "curator"))
    address = "studies/bench/conversations/"
    rows = carol("GET", f"{address}?turns=18").json()["funnel"]
    assert (rows[-1]["people"], rows[-1]["conversations"]) == (2, 6)
    taken = carol("POST", address, {"people": 1}).json()
    assert taken == {"personas": 1, "conversations": 3}


def test_histories_of_members_join_with_their_consent_and_go_with_it(tea, cast):
    ann, bo = cast.member("Ann", tea, "annotator"), cast.member("Bo", tea, "annotator")
    for owner in (ann, bo):
        keep(owner, f"{owner.email} 1", "I love night trains.", "They are slow.")
    consent.grant(ann, tea, HistoryConsent.Purpose.SHOW)
    assert conversations.add_histories(tea) == 1
    assert conversations.add_histories(tea) == 0
    chat = Conversation.objects.get()
    assert (chat.messages[0]["text"], chat.turns) == ("I love night trains.", 1)
    assert conversations.forget_withdrawn() == 0
    consent.withdraw(ann, tea, HistoryConsent.Purpose.SHOW)
    assert (conversations.forget_withdrawn(), Conversation.objects.count()) == (1, 0)
