"""Writing one's own query: saved as it is typed, frozen by its answers, nobody else's to see."""

import pytest

from annotation.candidates.models import Retrieval
from annotation.core.errors import Conflict, DomainError
from annotation.histories.models import Session
from annotation.queries import author, owner_queries
from annotation.queries.models import Query
from tests.papers.bespoke.conftest import answered, ask, keep


def url(study, key="", what=""):
    return f"/studies/{study.slug}/my-queries/" + (f"{key}/" if key else "") + what


def test_what_is_typed_is_saved_without_being_ready(bespoke, ann, login):
    query = owner_queries.begin(bespoke, ann)
    page = login(ann)
    data = {"text": "Which train?", "want": "One that I can sleep in.", "form": "A list."}
    answer = page.post(url(bespoke, query.external_id), data, headers={"HX-Request": "true"})
    assert "Saved." in answer.text
    stored = owner_queries.of(bespoke, ann).get(external_id=query.external_id)
    assert (stored.text, stored.ready) == ("Which train?", False)
    assert stored.need == "One that I can sleep in.\n\nForm wanted: A list."
    assert stored.guide == {"want": "One that I can sleep in.", "form": "A list."}


def test_an_empty_query_is_begun_once(bespoke, ann):
    assert owner_queries.begin(bespoke, ann) == owner_queries.begin(bespoke, ann)


def test_whoever_wrote_as_many_queries_as_the_study_takes_begins_no_other(bespoke, cast, ann):
    bespoke.owner_queries = 2
    bespoke.save()
    first, _second = ask(bespoke, ann), ask(bespoke, ann)
    with pytest.raises(Conflict, match="all 2 queries"):
        owner_queries.begin(bespoke, ann)
    assert owner_queries.of(bespoke, ann).count() == 2
    assert owner_queries.write_query(first, ann, text="Another train?").pk == first.pk
    assert owner_queries.begin(bespoke, cast.person("Bo"))


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ({"guide": {"want": "x"}}, "Write your question first."),
        ({"text": "What?"}, "Say what you really want to know."),
    ],
)
def test_an_incomplete_query_is_not_ready(bespoke, ann, typed, sentence):
    query = owner_queries.write_query(owner_queries.begin(bespoke, ann), ann, **typed)
    with pytest.raises(DomainError, match=sentence):
        owner_queries.finish(query, ann)


def test_a_ready_query_stays_ready_until_its_words_change(bespoke, ann):
    query = ask(bespoke, ann)
    said = {"text": query.text, "guide": query.guide}
    query = owner_queries.write_query(
        query, ann, grounds=[keep(ann, "Sleepers", "In a sleeper").pk], **said
    )
    assert query.ready
    assert not owner_queries.write_query(
        query, ann, **said | {"text": "Which boat goes to the sea?"}
    ).ready


def test_what_is_picked_and_not_saved_yet_stays_picked_while_searching(bespoke, ann, login):
    query, mine = owner_queries.begin(bespoke, ann), keep(ann, "Sleepers", "In a sleeper")
    asked = {"find": "night trains", "grounds": str(mine.pk)}
    found = login(ann).get(url(bespoke, query.external_id, "sessions/"), asked).text
    assert f'value="{mine.pk}" checked' in found
    assert found.count('name="grounds"') == 2


def test_searches_without_a_title_are_offered_too(bespoke, ann, login):
    query, mine = owner_queries.begin(bespoke, ann), keep(ann, "", "Which tea house opens at five?")
    Session.objects.filter(pk=mine.pk).update(kind="search")
    answer = login(ann).get(url(bespoke, query.external_id, "sessions/"), {"find": "tea house"})
    assert answer.status_code == 200
    assert "Searches" in answer.text


def test_without_scripts_looking_for_sessions_finishes_nothing(bespoke, ann, login):
    query = owner_queries.begin(bespoke, ann)
    page, place = login(ann), url(bespoke, query.external_id)
    data = {"text": "Which train?", "want": "Calm.", "find": "night trains", "seek": "1"}
    answer = page.post(place, data)
    assert answer.url == f"{place}?find=night+trains#find"
    query.refresh_from_db()
    assert (query.text, query.ready) == ("Which train?", False)
    assert "Trains" in page.get(answer.url).text


def test_owners_are_told_where_models_may_be_shown_the_need(bespoke, ann, login):
    page, place = login(ann), url(bespoke)
    assert "never the need" in page.get(place).text
    Retrieval.objects.update(oracle=True)
    assert "are shown the need, too" in page.get(place).text
    text = page.get(url(bespoke, owner_queries.begin(bespoke, ann).external_id)).text
    assert "are shown the need below, too" in text


def test_a_refused_query_is_shown_as_it_was_typed(bespoke, ann, login):
    query = owner_queries.begin(bespoke, ann)
    data = {"text": "x" * 2_001, "want": "Calm.", "scenario": "Travel", "language": "en"}
    answer = login(ann).post(url(bespoke, query.external_id), data)
    page = answer.text
    assert answer.status_code == 400
    assert all(words in page for words in ("x" * 2_001, "Calm.", 'value="Travel"'))
    assert 'value="en" selected' in page


def test_answers_freeze_the_query_and_a_change_is_a_new_version(bespoke, ann, fake):
    query = ask(bespoke, ann)
    answered(bespoke, fake, strategies=["search"])
    with pytest.raises(Conflict):
        owner_queries.write_query(query, ann, text="Other words")
    again = owner_queries.change(query, ann)
    assert (again.version, again.ready, again.text) == (2, False, query.text)
    owner_queries.finish(
        owner_queries.write_query(again, ann, text="Other words", guide=again.guide), ann
    )
    versions = Query.objects.filter(external_id=query.external_id).order_by("version")
    assert [one.text for one in versions] == [query.text, "Other words"]


def test_a_change_that_is_asked_for_twice_makes_one_version(bespoke, ann, fake):
    query = ask(bespoke, ann)
    query.grounds.create(session=keep(ann, "Sleepers", "In a sleeper"))
    answered(bespoke, fake, strategies=["search"])
    first, second = (owner_queries.change(query, ann) for _time in range(2))
    assert first == second
    assert (first.version, first.grounds.count()) == (2, 1)


def test_grounds_are_sessions_that_the_owner_keeps(bespoke, ann, cast):
    mine = keep(ann, "Sleepers", "In a sleeper")
    theirs = keep(cast.person("Bo"), "Ferries", "On a ferry")
    query = owner_queries.write_query(
        owner_queries.begin(bespoke, ann), ann, text="x", grounds=[mine.pk]
    )
    assert [ground.session for ground in query.grounds.all()] == [mine]
    with pytest.raises(DomainError):
        owner_queries.write_query(query, ann, text="x", grounds=[theirs.pk])
    assert [ground.session for ground in query.grounds.all()] == [mine]


def test_search_offers_only_what_the_owner_keeps(bespoke, ann, login):
    query = owner_queries.begin(bespoke, ann)
    found = login(ann).get(url(bespoke, query.external_id, "sessions/"), {"find": "sea boats"})
    assert "BO-CANARY" not in found.text
    found = login(ann).get(url(bespoke, query.external_id, "sessions/"), {"find": "night trains"})
    assert "Trains" in found.text


def test_somebody_elses_query_is_not_found(bespoke, ann, cast, login):
    query = ask(bespoke, ann)
    bo = login(cast.person("Bo"))
    assert bo.get(url(bespoke, query.external_id)).status_code == 404
    assert bo.post(url(bespoke, query.external_id), {"text": "mine"}).status_code == 404
    assert bo.post(url(bespoke, query.external_id, "change/")).status_code == 404
    assert not owner_queries.of(bespoke, cast.person("Bo")).exists()
    assert "NEED-CANARY" not in bo.get(url(bespoke)).text


def test_a_curator_cannot_rewrite_an_owners_query(bespoke, ann, cast):
    query = ask(bespoke, ann)
    said = {"persona_id": None, "text": "x", "need": "", "type": "general", "scenario": ""}
    with pytest.raises(Conflict):
        author.save_query(bespoke, query.external_id, by=cast.person("Carol"), **said)
    query.refresh_from_db()
    assert query.owner == ann


def test_a_study_without_a_task_for_owners_has_no_such_page(cast, tea, login):
    assert login(cast.person("Ann")).get(url(tea)).status_code == 404
