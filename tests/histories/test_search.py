"""Search finds one's own words in any script, and nothing of anybody else's."""

import pytest
from django.db import connection
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.histories import search
from annotation.histories.models import Passage, Session
from tests.histories.conftest import chat
from tests.histories.conftest import search as query_of

CHATS = {
    "trip": ("Where shall I go in winter?", "Take the night train to the harbour."),
    "tea": ("去哪里喝茶比较安静", "湖边的茶馆很安静"),
    "beer": ("맥주를 마시러 어디로 갈까요", "강가에 있는 작은 가게가 좋아요"),
    "code": ("Why does numpy raise ValueError here?", "The shapes (3,4) do not match."),
    "garden": ("Welche Kräuter wachsen im Schatten?", "Minze und Bärlauch."),
}


@pytest.fixture
def filled(ann, bring):
    bring(ann, *(chat(name, *texts, title=name.upper()) for name, texts in CHATS.items()))
    return ann


def found(owner, text, **options):
    hits = search.find(owner, text, **options)
    names = dict(Session.objects.values_list("pk", "external_id"))
    return [names[session] for session in hits]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("harbour", "trip"),
        ("NIGHT train", "trip"),
        ("harb", "trip"),
        ("喝茶", "tea"),
        ("茶馆", "tea"),
        ("茶", "tea"),
        ("哪里喝茶比较", "tea"),
        ("ｎｕｍｐｙ", "code"),
        ("맥주", "beer"),
        ("가게", "beer"),
        ("맥주를 마시러", "beer"),
        ("kräuter", "garden"),
        ("GARDEN", "garden"),
    ],
)
def test_words_find_their_session_first_in_every_script(filled, text, name):
    assert found(filled, text)[0] == name


def test_meaning_finds_what_no_word_does(filled):
    assert found(filled, "railway journey to the sea")[0] == "trip"


def matching(text) -> int:
    """How many passages hold the words of ``text``."""
    with connection.cursor() as cursor:
        statement = "SELECT count(*) FROM histories_passage WHERE words @@ %s::tsquery"
        cursor.execute(statement, [search.query(text)])
        return cursor.fetchone()[0]


@pytest.mark.parametrize(
    "text", ["", "  ", "馆茶", "qwzx vbnq", "'; DROP TABLE x; --", "& | ! <->", "\\", "%", "'"]
)
def test_what_stands_nowhere_has_no_match_and_breaks_nothing(filled, text):
    assert matching(text) == 0
    assert len(search.find(filled, text)) < len(CHATS)


def test_nothing_of_another_person_is_found(filled, bo, bring):
    bring(bo, chat("bo-1", "The harbour of my canary", title="canary"), query_of("canary harbour"))
    owners = set(search.find(filled, "canary harbour"))
    assert not Session.objects.filter(pk__in=owners, owner=bo).exists()
    assert found(bo, "canary")[0] in {"bo-1", "2026-03-14"}


def test_a_hit_shows_the_words(filled):
    (snippet, *_others) = search.find(filled, "harbour").values()
    assert snippet == "Take the night train to the harbour."


def test_a_long_message_is_found_at_its_end_and_the_snippet_is_short(ann, bring):
    bring(ann, chat("long", "word " * 5_000 + "zebra crossing " + "word " * 200))
    (snippet,) = search.find(ann, "zebra").values()
    assert "zebra crossing" in snippet
    assert len(snippet) <= search.SNIPPET + 2


def test_a_session_is_one_hit_however_many_of_its_messages_fit(ann, bring):
    bring(ann, chat("c-1", *(f"tea number {n}" for n in range(40))), chat("c-2", "tea"))
    assert sorted(found(ann, "tea")) == ["c-1", "c-2"]
    assert len(found(ann, "tea", limit=1)) == 1


def test_a_search_is_narrowed_before_the_best_are_taken(ann, bring):
    bring(ann, *(chat(f"c-{n}", "tea tea tea") for n in range(30)), chat("far", "tea once, at sea"))
    assert found(ann, "tea", limit=1) != ["far"]
    far = Session.objects.filter(external_id="far")
    assert found(ann, "tea", limit=1, only=far) == ["far"]
    assert found(ann, "tea", only=Session.objects.none()) == []


def test_a_newer_copy_replaces_what_search_knew(ann, bring):
    bring(ann, chat("c-1", "about zebras"))
    bring(ann, chat("c-1", "about llamas", "indeed", minutes=1))
    assert found(ann, "llamas") == ["c-1"]
    assert Passage.objects.filter(words__isnull=False).count() == 3  # a title and two messages


@pytest.mark.django_db
@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=40), min_size=1, max_size=5))
def test_postgresql_finds_every_text_by_its_own_words(texts):
    with connection.cursor() as cursor:
        for text in texts:
            text = text.encode("utf-8", "replace").decode()
            if not search.query(text):
                continue
            cursor.execute(
                "SELECT %s::tsvector @@ %s::tsquery", [search.as_tsvector(text), search.query(text)]
            )
            assert cursor.fetchone() == (True,), text
