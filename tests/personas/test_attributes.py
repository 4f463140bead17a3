"""Curators' upload of attributes, and where they are seen."""

from datetime import date

import pytest

from annotation.personas.models import Attribute
from tests.personas.conftest import json_lines

URL = "/studies/tea/personas/attributes/"
TURNS = [{"role": "user", "text": "My **ferns** wilt."}]
ROW = {"id": "a1", "persona": "p1", "text": "Grows <b>ferns</b>.", "confidence": 0.75}


@pytest.fixture
def carol(cast, tea, login):
    cast.persona(tea, "p1")
    return login(cast.person("Carol"))


def upload(browser, *rows):
    return browser.post(URL, {"attributes-file": json_lines(*rows, name="attributes.jsonl")})


def test_attributes_are_imported_once_and_seen_on_their_personas_page(carol, tea):
    times = {"since": "2026-05-01", "until": "2026-05-02", "turn": 3}
    rows = [ROW | {"conversations": [TURNS]}, ROW | {"id": "a2", "text": "Lives here."} | times]
    for _ in range(2):
        assert upload(carol, *rows).status_code == 302
    stored = Attribute.objects.order_by("pk").values_list("since", "until", "turn")
    assert list(stored) == [(None, None, None), (date(2026, 5, 1), date(2026, 5, 2), 3)]
    page = carol.get(f"/studies/tea/personas/{tea.personas.get().pk}/").content.decode()
    shown = ("Grows &lt;b&gt;ferns&lt;/b&gt;.", "confidence 0.75", "<strong>ferns</strong>")
    assert [words in page for words in shown] == [True] * 3


def test_times_change_by_file_and_on_the_page_and_a_day_shows_what_held_on_it(carol, tea):
    def times():
        return [str(day) for day in Attribute.objects.values_list("since", "until").get()]

    persona = tea.personas.get()
    persona.memories.create(text="A text on tea.", until=date(2026, 5, 1))
    upload(carol, ROW)
    assert upload(carol, ROW | {"since": "2026-05-01"}).status_code == 302
    assert upload(carol, ROW).status_code == 302  # says nothing of times
    assert times() == ["2026-05-01", "None"]
    page = f"/studies/tea/personas/{persona.pk}/"
    address = f"{page}attributes/{Attribute.objects.get().pk}/times/"
    for wrong in ({"since": "x"}, {"since": "2026-05-02", "until": "2026-05-02"}):
        carol.post(address, wrong)
        assert times() == ["2026-05-01", "None"]
    carol.post(address, {"since": "2026-05-01", "until": "2026-05-03"})
    assert times() == ["2026-05-01", "2026-05-03"]

    def shown(day):
        text = carol.get(page, {"on": day}).content.decode()
        return ["A text on tea." in text, "Grows &lt;b&gt;" in text]

    days = ("", "2026-04-30", "2026-05-01", "2026-05-02", "2026-05-03", "x")
    expected = [[True, True], [True, False], [False, True], [False, True], [False, False]]
    assert [shown(day) for day in days] == [*expected, [True, True]]


def test_a_changed_attribute_is_refused_and_nothing_of_its_file_is_stored(carol):
    upload(carol, ROW)
    answer = upload(carol, {**ROW, "id": "a0"}, ROW | {"text": "Grows roses."})
    assert answer.status_code == 400
    assert "another attribute “a1”" in answer.content.decode()
    assert list(Attribute.objects.values_list("external_id", "text")) == [("a1", ROW["text"])]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"persona": "p9"}, "attributes.jsonl, line 1: there is no persona “p9”"),
        ({"confidence": 3}, "must be a number from 0 to 1"),
        ({"text": ""}, "“text” is empty"),
        ({"since": "May"}, "“since” must be a date such as 2026-05-01"),
        ({"turn": 0}, "“turn” must be a whole number from 1"),
        ({"since": "2026-05-01", "until": "2026-05-01"}, "“until” must be a later date"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(carol, change, words):
    answer = upload(carol, ROW | change)
    assert answer.status_code == 400
    assert words in answer.content.decode()
    assert not Attribute.objects.exists()
