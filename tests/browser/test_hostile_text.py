"""Hostile texts in every field that anybody writes, and a real browser on every page that shows it.

``open_page`` fails the test when a page breaks its policy, when a script fails, and when a request
leaves the server; what is checked here besides is that nothing ran and nothing was let through.
"""

import pytest
from django.conf import settings as site
from django.urls import reverse

from annotation.core import text
from tests.browser.kinds import tour_is_over
from tests.security.conftest import World
from tests.security.vectors import selection

VECTORS = [one for one in selection() if "\ud800" not in one]
# One text of all of them: those that never end come last.
MANY = "\n\n".join(sorted(VECTORS, key=lambda one: ("```" in one or "~~~" in one, one.count("<!"))))
SHORT = "<img src=x onerror=alert(1)><svg onload=alert(1)>\"'><b hx-get=/tokens/ hx-trigger=load>"
MAIL = '"<img/src=x/onerror=alert(1)>"@example.org'
# What a page of ours builds around foreign text.
OURS = {"div", "dl", "dt", "dd", "ul", "li"}
ATTRIBUTES = {"href", "rel", "start"}
# Everything inside the places for foreign text, as "tag attribute attribute".
INSIDE = """() => [...document.querySelectorAll(".text *, .person dl *")].map(
    (e) => [e.localName, ...e.getAttributeNames().map((n) => n.toLowerCase())])"""
ALIENS = """() => [...document.querySelectorAll(
    "[onerror], [onload], [onclick], [srcdoc], [style], main iframe, main object, main embed, "
    + "main img, .text svg, .person svg, "
    + "svg :is(a, use, image, animate, foreignObject), main script, main style, "
    + "main base, main meta, main link, "
    + ".text [hx-get], .text [data-hx-post], [hx-swap-oob]")].map((e) => e.outerHTML)"""


@pytest.fixture
def world(cast):
    return World(cast)


@pytest.fixture
def hostile(world):
    """The world with every text replaced."""
    from annotation.accounts import consent
    from annotation.accounts.models import User

    study = world.tea
    profile = {"Name": SHORT, SHORT: VECTORS, "Nested": {SHORT: [MANY]}}
    world.mine.persona.versions.update(profile=profile)
    study.queries.update(text=MANY, need=MANY, scenario=SHORT)
    study.tasks.update(guideline=MANY)
    for candidate in study.candidates.all():
        values = {"text": f"{candidate.external_id}\n\n{MANY}", "model": SHORT, "error": MANY}
        study.candidates.filter(pk=candidate.pk).update(**values)
    failed = study.candidates.exclude(query=world.mine.slot.item.query).first()
    study.candidates.filter(pk=failed.pk).update(status="failed", error_code="other")
    world.mine.memory.text = MANY
    world.mine.memory.save()
    study.invitations.update(email=MAIL)
    study.releases.update(error=MANY, licence=SHORT)
    study.title, study.description = SHORT, MANY
    study.consent_text = consent.publish("tea", MANY)
    study.save()
    for role in ("ann", "site"):
        consent.grant(world.users[role], study.consent_text)
    User.objects.update(name=SHORT)
    _judge(world, world.bo_slot)
    tour_is_over(study)
    return world


def _judge(world, slot):
    """A vote and a skipped item, with hostile reasons."""
    from annotation.judging.models import Handback, Selection
    from annotation.judging.work import submit

    bo = world.cast.person("Bo")
    choice = str(slot.item.options.first().candidate_id)
    submit.submit(world.tea, slot.pk, bo, {"choice": choice}, key="k")
    Selection.objects.update(reason=MANY)
    Handback.objects.create(slot=slot, item=slot.item, annotator=bo, cause="skipped", reason=MANY)


def pages(world) -> list[tuple[str, str]]:
    """Every page that shows what people write, with somebody who sees it."""
    slug = {"slug": "tea"}
    mine = world.mine
    named = [
        *(("ann", name, slug) for name in ("judge", "guideline", "consent")),
        ("fresh", "consent", slug),
        ("anonymous", "invitation", {"key": mine.key}),
        *((role, "home", {}) for role in ("ann", "site")),
        *(("site", name, slug) for name in ("study", "settings", "people", "tasks", "personas")),
        *(("site", name, slug) for name in ("queries", "candidates", "releases", "persona-add")),
        ("site", "persona", {**slug, "pk": mine.persona.pk}),
        ("site", "query", {**slug, "pk": mine.query.pk}),
        ("site", "query-add", slug),
        ("site", "results", {**slug, "task": "best"}),
        ("site", "rule-preview", {**slug, "task": "best"}),
        ("site", "result-item", {**slug, "task": "best", "pk": world.bo_slot.item.pk}),
        ("ann", "tokens", {}),
    ]
    return [(role, reverse(name, kwargs=args)) for role, name, args in named]


@pytest.fixture
def visit(hostile, open_page, live_server):
    """A function that opens an address as a role; what ran is in ``visit.ran``."""
    opened, ran = {}, []

    def go(role, address):
        if role not in opened:
            page = opened[role] = open_page()
            page.on("dialog", lambda dialog: (ran.append(dialog.message), dialog.dismiss()))
            if role != "anonymous":
                cookie = {"name": site.SESSION_COOKIE_NAME, "value": hostile.sessions[role]}
                page.context.add_cookies([{**cookie, "url": live_server.url}])
        response = opened[role].goto(address)
        assert response.status == 200, address
        return opened[role]

    go.ran = ran
    return go


def test_hostile_text_does_nothing_on_any_page(hostile, visit):
    from annotation.accounts.models import ApiToken

    tokens = ApiToken.objects.count()
    shown = 0
    for role, address in pages(hostile):
        page = visit(role, address)
        inside = page.evaluate(INSIDE)
        shown += len(inside)
        strange = [one for one in inside if one[0] not in text.TAGS | OURS]
        strange += [
            one for one in inside if set(one[1:]) - ATTRIBUTES - text.ATTRIBUTES.get(one[0], set())
        ]
        assert (address, strange, page.evaluate(ALIENS)) == (address, [], [])
        assert page.locator("main").count() == 1
        assert "evil" not in page.url
    assert shown > 1000
    assert visit.ran == []
    assert ApiToken.objects.count() == tokens


def test_a_refused_answer_shows_the_hostile_words_that_were_typed_as_words(hostile, visit):
    hostile.tea.tasks.update(config={**hostile.mine.batch.task.config, "reason": "required"})
    page = visit("ann", reverse("judge", args=["tea"]))
    page.locator("#reason").fill(SHORT)
    page.locator("form.judge").evaluate("form => { form.noValidate = true }")
    page.locator("button[name=submit]").click()
    page.locator("p[role=alert].warn:visible").wait_for()
    assert page.locator("#reason").input_value() == SHORT
    assert page.evaluate(ALIENS) == []
    assert visit.ran == []


def test_the_page_of_the_api_works_under_the_policy(visit):
    page = visit("ann", reverse("api-docs"))
    page.locator(".opblock").first.wait_for()
    assert page.locator(".opblock").count() >= 5
    page.locator(".opblock-summary-control").first.click()
    page.locator(".opblock-body").first.wait_for()


def test_a_page_cannot_be_framed_by_another_one(visit, live_server):
    page = visit("ann", reverse("home"))
    answer = page.request.get(live_server.url + reverse("tokens"))
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-frame-options"] == "DENY"
