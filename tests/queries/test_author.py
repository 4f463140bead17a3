from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from annotation.queries import author
from annotation.queries.models import Query

SAID = {"persona_id": None, "need": "", "type": "general", "scenario": ""}


@pytest.mark.django_db(transaction=True)
def test_people_who_write_the_same_query_at_once_leave_one_current_version(cast):
    study = cast.study("tea")

    def write(number):
        try:
            return author.save_query(study, "q1", text=f"Text {number % 2}?", **SAID).pk
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(8)))
    assert Query.objects.filter(external_id="q1", replaced_at=None).count() == 1
    assert Query.objects.count() == 1


def test_many_records_are_saved_at_once_and_counted(cast, tea):
    cast.persona(tea, "p1")
    records = [
        {"id": f"q{n}", "persona": "p1" if n else None, "text": f"{n}?"}
        | {"need": "", "type": "general", "scenario": ""}
        for n in range(3)
    ]
    assert author.save_all(tea, records) == 3
    assert author.save_all(tea, records) == 0
    cast.candidates(tea.queries.get(external_id="q2"), 1)
    changed = [records[0], records[1] | {"need": "x"}, records[2] | {"text": "new?"}]
    assert author.save_all(tea, changed) == 2
    rows = Query.objects.order_by("external_id", "version")
    assert list(rows.values_list("external_id", "version", "need", "text")) == [
        ("q0", 1, "", "0?"),
        ("q1", 1, "x", "1?"),
        ("q2", 1, "", "2?"),
        ("q2", 2, "", "new?"),
    ]


def test_a_change_keeps_the_language_that_the_query_came_with(cast, tea):
    cast.candidates(cast.query(tea, "q1", language="ko"), 1)
    changed = author.save_query(tea, "q1", text="Which?", **SAID)
    assert (changed.version, changed.language) == (2, "ko")
    assert author.save_query(tea, "q1", text="Which?", language="en", **SAID).language == "en"


def test_a_query_has_the_language_that_its_file_names_last(tea):
    record = {"id": "q1", "persona": None, "text": "왜?", "language": "ko"} | SAID
    author.save_all(tea, [record])
    assert author.save_all(tea, [record | {"text": "왜요?", "language": ""}]) == 1
    assert Query.objects.get().language == "ko"
