from datetime import date

import pytest

from annotation.queries.models import Query
from tests.personas.conftest import json_lines

URL = "/studies/tea/queries/"


@pytest.fixture
def asked(cast, tea):
    return cast.query(tea, "q1", cast.persona(tea), text="What now?", need="A plan")


def fields(query, **changed):
    said = {"text": query.text, "need": query.need, "type": query.type, "scenario": query.scenario}
    return said | {"persona": query.persona_id or ""} | changed


def versions():
    return list(Query.objects.order_by("version").values_list("version", "text"))


def test_a_query_is_written_in_the_form(carol, cast, tea):
    mina = cast.persona(tea)
    data = {
        "external_id": "q7",
        "persona": mina.pk,
        "text": "Where *to*?\r\nAnd when?",
        "need": "near",
        "type": "general",
        "scenario": "leisure",
        "asked_on": "2026-05-01",
    }
    assert carol.post(f"{URL}add/", data).url == URL
    query = Query.objects.get()
    stored = data | {"text": "Where *to*?\nAnd when?", "asked_on": date(2026, 5, 1), "version": 1}
    stored["persona"] = mina
    assert {name: getattr(query, name) for name in stored} == stored
    assert "q7" in carol.get(URL).content.decode()
    assert "<em>to</em>" in carol.get(f"{URL}{query.pk}/").content.decode()
    again = carol.post(f"{URL}add/", data)
    assert again.status_code == 400
    assert "There is a query of this id already." in again.content.decode()


def test_a_query_nobody_answered_is_rewritten(carol, asked):
    carol.post(f"{URL}{asked.pk}/", fields(asked, text="What then?"))
    assert versions() == [(1, "What then?")]


def test_a_change_after_answers_is_a_new_version(carol, cast, asked):
    cast.candidates(asked, 1)
    answer = carol.post(f"{URL}{asked.pk}/", fields(asked, text="What then?"))
    assert versions() == [(1, "What now?"), (2, "What then?")]
    newest = Query.objects.get(version=2)
    assert answer.url == f"{URL}{newest.pk}/"
    assert (newest.need, newest.persona, newest.replaced_at) == ("A plan", asked.persona, None)
    asked.refresh_from_db()
    assert asked.replaced_at is not None
    page = carol.get(answer.url).content.decode()
    assert "Earlier versions" in page
    assert carol.get(f"{URL}{asked.pk}/").url == answer.url


def test_a_page_opened_before_another_change_does_not_undo_it(carol, cast, asked):
    cast.candidates(asked, 1)
    carol.post(f"{URL}{asked.pk}/", fields(asked, text="What then?"))
    answer = carol.post(f"{URL}{asked.pk}/", fields(asked, text="Typed for nothing?"))
    page = answer.content.decode()
    assert (answer.status_code, len(versions())) == (400, 2)
    assert "The query was changed meanwhile" in page and "Typed for nothing?" in page


def test_a_page_opened_before_another_rewriting_does_not_undo_it(carol, asked):
    """The text has no answers yet, so that its version stays."""
    page = f"{URL}{asked.pk}/"
    seen = carol.get(page).context["seen"]
    carol.post(page, fields(asked, text="What then?", seen=seen))
    answer = carol.post(page, fields(asked, text="Typed for nothing?", seen=seen))
    assert answer.status_code == 400 and "changed meanwhile" in answer.content.decode()
    assert versions() == [(1, "What then?")]
    # Whoever has compared may save.
    carol.post(page, fields(asked, text="Compared.", seen=answer.context["seen"]))
    assert versions() == [(1, "Compared.")]


def test_a_refused_query_keeps_what_was_typed(carol, cast, asked):
    foreign = cast.persona(cast.study("rain"), "persona-of-rain")
    answer = carol.post(f"{URL}{asked.pk}/", fields(asked, persona=foreign.pk, need="kept need"))
    page = answer.content.decode()
    assert answer.status_code == 400
    assert "kept need" in page
    assert "persona-of-rain" not in page
    assert carol.post(f"{URL}{asked.pk}/", fields(asked, text="")).status_code == 400
    assert versions() == [(1, "What now?")]


def test_a_file_is_imported_with_its_faults_by_line(carol, asked):
    def upload(*rows):
        return carol.post(URL, {"file": json_lines(*rows)})

    answer = upload({"id": "q2", "text": "Ok?"}, {"id": "q3", "text": "No?", "persona": "p9"})
    assert answer.status_code == 400
    assert "mine.jsonl, line 2: there is no persona “p9”" in answer.content.decode()
    assert Query.objects.count() == 1
    good = {"id": "q2", "text": "Ok?", "persona": "p1", "type": "general"}
    assert upload(good).status_code == 302
    assert upload(good).status_code == 302
    query = Query.objects.get(external_id="q2")
    assert (query.persona.external_id, query.type) == ("p1", "general")


def test_a_file_of_examples_becomes_the_pool_and_is_shown(carol, tea):
    def upload(*rows):
        return carol.post(f"{URL}examples/", {"examples-file": json_lines(*rows)})

    row = {"id": "e1", "person": "r1", "text": "Which <b>lamp</b>?", "memories": ["Reads late."]}
    assert upload(row | {"id": "old"}).status_code == 302
    assert upload(row).status_code == 302
    answer = upload(row, row)
    assert answer.status_code == 400
    assert "mine.jsonl, line 2" in answer.content.decode()
    stored = tea.examples.values_list("external_id", "person", "text", "memories")
    assert list(stored) == [tuple(row.values())]
    page = carol.get(URL).content.decode()
    assert "Which &lt;b&gt;lamp&lt;/b&gt;?" in page
    assert "Reads late." in page


def test_the_list_takes_the_same_statements_for_one_query_and_for_many(
    carol, cast, tea, asked, django_assert_num_queries
):
    with django_assert_num_queries(7) as captured:
        carol.get(URL)
    for n in range(2, 60):
        cast.query(tea, f"q{n}", asked.persona)
    with django_assert_num_queries(len(captured)):
        assert carol.get(URL).context["page"].after
