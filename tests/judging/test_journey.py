"""The bar of an owner's steps follows in every answer to htmx that may have moved it."""

import re
from pathlib import Path

from annotation.judging.work import queue
from annotation.queries import owner_queries
from tests.papers.bespoke.conftest import ask, bespoke, fake, judged  # noqa: F401

TEMPLATES = Path(__file__).parents[2] / "templates"
HTMX = {"HX-Request": "true"}
BAR = re.compile(r'<(nav class="journey"|a) id="journey" hx-swap-oob="true"')
# What pages with the bar ask by htmx; the search for sessions stores nothing.
ASKED = {"history-uploads", "own-query", "own-query-sessions", "gold", "judge"}


def test_every_address_that_pages_with_the_bar_ask_is_named_here():
    asked = set()
    for path in TEMPLATES.rglob("*.html"):
        source = path.read_text()
        if "{% journey" in source:
            asked |= set(re.findall(r"hx-(?:get|post)=\"{% url '([\w-]+)'", source))
    assert asked == ASKED


def test_a_query_that_is_saved_as_it_is_typed_brings_the_bar(cast, bespoke, login):  # noqa: F811
    ann = cast.person("Ann")
    query = owner_queries.begin(bespoke, ann)
    address = f"/studies/tea/my-queries/{query.external_id}/"
    client = login(ann)
    for text in ("Which train?", "x" * 2001):
        answer = client.post(address, {"text": text, "want": "All."}, headers=HTMX)
        assert len(BAR.findall(answer.text)) == 1
    assert len(re.findall('id="journey"', client.get(address).text)) == 1


def test_what_is_being_written_for_a_gold_response_brings_the_bar(cast, judged, login):  # noqa: F811
    address = f"/studies/tea/my-queries/{judged.external_id}/gold/"
    client = login(cast.person("Ann"))
    answer = client.get(address, headers=HTMX)
    assert len(BAR.findall(answer.text)) == 1
    assert len(re.findall('id="journey"', client.get(address).text)) == 1


def test_the_last_judgment_of_a_step_brings_the_bar(cast, bespoke, judged, login):  # noqa: F811
    ann = cast.person("Ann")
    client = login(ann)
    assert queue.claim(bespoke, ann) is None
    done = client.get("/studies/tea/judge/", headers=HTMX).text
    assert "Your next step is on the list" in done
    assert len(BAR.findall(done)) == 1
    page = client.get("/studies/tea/judge/").text
    assert page.count("hx-swap-oob") == 0
