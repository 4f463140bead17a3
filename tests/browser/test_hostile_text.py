"""Hostile texts in every field that anybody writes, and a real browser on every page that shows it.

``open_page`` fails the test when a page breaks its policy, when a script fails, and when a request
leaves the server; what is checked here besides is that nothing ran and nothing was let through.
ATTUNE_XSS_TEXTS=700 takes so many texts, and opens each page as every role that may (`make xss`).
"""

import os

import pytest
from django.conf import settings as site
from django.urls import reverse
from playwright.sync_api import Error

from annotation.core import text
from tests.browser.hostile import fill, furnish
from tests.browser.kinds import tour_is_over
from tests.security.conftest import World
from tests.security.table import ROLES, TABLE
from tests.security.vectors import corpus, selection

TEXTS = int(os.environ.get("ATTUNE_XSS_TEXTS") or 0)
# What PostgreSQL cannot hold is refused before: tests/security/test_broken_input.py.
VECTORS = [
    one.replace("\x00", "")
    for one in (corpus()[:TEXTS] if TEXTS else selection())
    if "\ud800" not in one
]
# Tables of which no page of the walk shows a row.
EMPTY = {
    "candidates.Extraction",
    "datasets.ReleaseImport",
    "evaluation.Draw",
    "evaluation.Reply",
    "histories.HistoryConsent",
    "live.Talk",
    "queries.Example",
    "studies.Provenance",
}
# So often the short fields of the whole run get other texts.
ROUNDS = 1 + len(VECTORS) // 250
SHORT = "<img src=x onerror=alert(1)><svg onload=alert(1)>\"'><b hx-get=/tokens/ hx-trigger=load>"
# What a page of ours builds around foreign text.
OURS = {"bdi", "div", "dl", "dt", "dd", "ul", "li"}
# A wide table is given a tabindex, so that it can be scrolled by keyboard; `lang` is ours, too.
ATTRIBUTES = {"href", "lang", "rel", "start", "tabindex"}
# Everything inside the places for foreign text, as "tag attribute attribute".
INSIDE = """() => [...document.querySelectorAll(".text *, .person dl *")].map(
    (e) => [e.localName, ...e.getAttributeNames().map((n) => n.toLowerCase())])"""
ALIENS = """() => [...document.querySelectorAll(
    "[onerror], [onload], [onclick], [srcdoc]:not(.live), [style]:not(html), "
    + "main iframe:not(.live), main object, main embed, "
    + "main img, .text svg, .person svg, "
    + "svg :is(a, use:not(.icon use), image, animate, foreignObject), "
    + "main script:not([src^='/static/'], [data-allauth-onload]), main style, "
    + "main base, main meta, main link, "
    + ".text [hx-get], .text [data-hx-post], [hx-swap-oob]:not(#grounds)")].map(
    (e) => e.outerHTML)"""


@pytest.fixture
def world(cast):
    return World(cast)


@pytest.fixture
def hostile(world):
    """The world with every text replaced."""
    from annotation.accounts import consent
    from annotation.core.models import AuditEvent

    study = world.tea
    _judge(world, world.bo_slot)
    for role in ("ann", "site"):
        consent.grant(world.users[role], study.consent_text)
    failed = study.candidates.exclude(query=world.mine.slot.item.query).first()
    study.candidates.filter(pk=failed.pk).update(status="failed", error_code="other")
    tour_is_over(study)
    furnish(world)
    AuditEvent.objects.create(
        actor=world.users["site"].pk, action=SHORT[:60], target="x<b>", details={SHORT: [SHORT]}
    )
    return world


def _judge(world, slot):
    """A vote, a skipped item, a comment and a ruling, with reasons."""
    from annotation.judging.models import Handback, ItemComment
    from annotation.judging.work import submit

    bo = world.cast.person("Bo")
    choice = str(slot.item.options.first().candidate_id)
    submit.submit(world.tea, slot.pk, bo, {"choice": choice, "reason": "So."}, key="k")
    Handback.objects.create(slot=slot, item=slot.item, annotator=bo, cause="skipped", reason="No.")
    ItemComment.objects.create(slot=slot, author=bo, text="Hm.")


# By being there one leaves.
LEAVING = {"account_logout"}


def pages(world, *, everybody: bool) -> list[tuple[str, str]]:
    """(role, address) of every page: with one role that may read it, or with each of them."""
    asked = []
    for name, row in sorted(TABLE.items()):
        roles = [role for role in ROLES if row.expected("GET", role) == 200]
        if row.api or name in LEAVING or not roles:
            continue
        if not everybody:
            roles = [next((role for role in ("ann", "site") if role in roles), roles[-1])]
        asked += [(role, reverse(name, kwargs=row.args(world))) for role in roles]
    return asked


@pytest.fixture
def visit(hostile, open_page, live_server):
    """A function that opens an address as a role; what ran is in ``visit.ran``."""
    opened, ran = {}, []

    def go(role, address):
        if role not in opened:
            page = opened[role] = open_page()
            page.set_default_navigation_timeout(120_000)  # 700 texts in every field take a while
            page.on("dialog", lambda dialog: (ran.append(dialog.message), dialog.dismiss()))
            if role != "anonymous":
                cookie = {"name": site.SESSION_COOKIE_NAME, "value": hostile.sessions[role]}
                page.context.add_cookies([{**cookie, "url": live_server.url}])
        try:
            return opened[role], opened[role].goto(address).status
        except Error as error:
            if "Download is starting" not in error.message:
                raise
        return opened[role], "a file"

    go.ran = ran
    return go


def test_hostile_text_does_nothing_on_any_page(hostile, visit):
    from annotation.accounts.models import ApiToken

    tokens = ApiToken.objects.count()
    # Some addresses hold a name of a thing: they are made before that is replaced.
    asked = [pages(hostile, everybody=TEXTS > 0 and number == 0) for number in range(ROUNDS)]
    shown, wrong = 0, []
    for number in range(ROUNDS):
        written = fill(VECTORS, number * len(VECTORS) // ROUNDS)
        for role, address in asked[number]:
            page, status = visit(role, address)
            if status == "a file":
                continue
            inside = page.evaluate(INSIDE)
            shown += len(inside)
            strange = [one for one in inside if is_strange(*one)] + page.evaluate(ALIENS)
            # Parts of pages have no main.
            whole = status == 200 and page.locator("main").count() <= 1
            if strange or not whole or not page.url.endswith(address):
                # What a refusing page says is why: a server that is not ready is no hostile text.
                words = "" if status == 200 else page.locator("body").inner_text()[:300]
                wrong.append((role, address, status, page.url, strange, words))
    assert wrong == []
    assert {name.rpartition(".")[0] for name, rows in written.items() if not rows} == EMPTY
    assert len(asked[0]) > 80
    assert shown > 1000
    assert visit.ran == []
    assert ApiToken.objects.count() == tokens


def is_strange(tag: str, *attributes: str) -> bool:
    """Whether an element inside of foreign text is none that a text may make."""
    if (tag, attributes) == ("mark", ("title",)):  # what a history's own page hides
        return False
    allowed = ATTRIBUTES | text.ATTRIBUTES.get(tag, set())
    return tag not in text.TAGS | OURS or bool(set(attributes) - allowed)


def test_a_refused_answer_shows_the_hostile_words_that_were_typed_as_words(hostile, visit):
    hostile.tea.tasks.update(config={**hostile.mine.batch.task.config, "reason": "required"})
    page, _status = visit("ann", reverse("judge", args=["tea"]))
    page.locator("#reason").fill(SHORT)
    page.locator("form.judge").evaluate("form => { form.noValidate = true }")
    page.locator("button[name=submit]").click()
    page.locator("p[role=alert].warn:visible").wait_for()
    assert page.locator("#reason").input_value() == SHORT
    assert page.evaluate(ALIENS) == []
    assert visit.ran == []


def test_the_page_of_the_api_works_under_the_policy(visit):
    page, _status = visit("ann", reverse("api-docs"))
    page.locator(".opblock").first.wait_for()
    assert page.locator(".opblock").count() >= 5
    page.locator(".opblock-summary-control").first.click()
    page.locator(".opblock-body").first.wait_for()
