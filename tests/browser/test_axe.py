"""axe finds nothing on any page, in light and in dark, for everybody who can open it."""

import pytest

from annotation.agreement.recompute import recompute
from annotation.agreement.tasks import recompute_due
from annotation.judging.models import Slot
from annotation.judging.work import comments, present, queue, submit
from annotation.queries import author
from annotation.studies import crowd
from annotation.studies.models import Invitation
from tests import everykind
from tests.browser import axe
from tests.browser.conftest import PHONE, WIDE
from tests.browser.kinds import open_kind
from tests.histories.made import fill_history
from tests.papers.bespoke.conftest import ask, bespoke, fake, judged  # noqa: F401 - fixtures

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]
ENTRANCE = ["login/", "signup/", "password/reset/", "password/reset/done/", "inactive/"]
ENTRANCE += ["password/reset/key/1-set-password/", "confirm-email/none/"]
ACCOUNT = ["/tokens/", "/accounts/email/", "/accounts/password/change/", "/accounts/logout/"]
ACCOUNT += ["/accounts/reauthenticate/"]

# At 200 % zoom a window of 1440 px is one of 720, with two dots a pixel.
SIZES = {
    "1440": {"viewport": WIDE},
    "390": {"viewport": PHONE},
    "zoom": {"viewport": {"width": 720, "height": 450}, "device_scale_factor": 2},
}
OF_STUDY = {
    None: (),
    "Ann": ("consent", "guideline", "judge", "mine", "leave", "messages"),
    "Bo": ("mine", "leave", "judged/{done}"),
    "Adam": (
        *("overview", "personas", "queries", "queries/add", "candidates", "generation", "sources"),
        *("data", "tasks", "tasks/best/open", "tasks/best/preview", "remove/batch/{batch}"),
        *("checks", "raters", "adjudicate", "people", "crowd", "messages", "comments", "texts/ko"),
        *("results/best", "results/best/items/{item}", "ratings/best"),
        *("planner", "releases", "settings", "webhooks", "audit", "personas/board"),
        "personas/split",
    ),
}


def addresses(study, person: str | None) -> list[str]:
    """What somebody can open in the middle of a study's work; None is a visitor."""
    if person is None:
        _, key = Invitation.issue(study, "annotator", by=study.memberships.first().user)
        source = study.sources.create(name="Crowd", completion_code="C1")
        arrival = "?PROLIFIC_PID=p1&STUDY_ID=s1&SESSION_ID=x1"
        entrances = [f"/accounts/{name}" for name in ENTRANCE]
        # Invited, one may sign up.
        invited = [f"/invitations/{key}/", "/accounts/signup/"]
        crowded = [f"/crowd/{crowd.token(source)}/{arrival}", "/crowd/returned/"]
        return ["/", "/join/", *entrances, *invited, *crowded]
    history = [f"/history/{name}" for name in ("", "uploads/", "privacy/", "consent/")]
    rows = {
        "done": Slot.objects.get(annotator__email__startswith="bo@").pk,
        "batch": study.batches.first().pk,
        "item": study.items.filter(done__gt=0).first().pk,
    }
    pages = [f"/studies/tea/{name}/".format(**rows) for name in OF_STUDY[person]]
    own = {"Ann": [*ACCOUNT, *history], "Adam": ["/studies/new/", "/studies/new/?recipe=rate"]}
    return ["/", "/studies/", "/studies/tea/", *own.get(person, []), *pages]


@pytest.fixture
def busy(cast, tea):
    """The study "tea" in the middle of its work."""
    open_kind(
        cast, tea, "selection", name="best", options=3, reason="optional", tie=True, none=True
    )
    for name in ("Bo", "Chen"):
        person = cast.person(name)
        slot = queue.claim(tea, person)
        answers = present.show(slot, person).answers
        submit.submit(tea, slot, person, {"choice": min(answers)[0]}, key="k")
        comments.write_comment(tea, slot, person, "Answer 2 is **cut off**.")
        comments.answer(tea, slot, cast.person("Carol"), "Thank you.")
    recompute(tea, "best")
    tea.languages = ["en", "ko"]
    tea.save()
    cast.member("Adam", tea, "administrator")
    return tea


@pytest.fixture
def check():
    """A function that opens addresses: axe finds nothing there, and nothing is too wide."""

    def look(page):
        return axe.violations(page) + axe.too_wide(page)

    def visit(page, *addresses):
        found = []
        for address in addresses:
            assert page.goto(address).status < 500
            found += look(page)
        assert found == []

    visit.look = look
    return visit


def test_the_pause_after_too_many_tries_is_a_page_without_a_violation(page, check, settings):
    settings.ACCOUNT_RATE_LIMITS = {"login": "1/m/ip"}
    for _ in range(2):
        page.goto("/accounts/login/")
        page.get_by_label("Email").fill("nobody@example.org")
        page.get_by_label("Password").fill("no such secret")
        page.locator("main").get_by_role("button", name="Log in", exact=True).click()
    page.get_by_role("heading", name="Too many tries").wait_for()
    assert check.look(page) == []


def test_the_pages_of_ones_own_history_have_no_violation(page, check, let_in, busy, ann):
    let_in(page, ann)
    names = ("", "uploads/", "privacy/", "consent/")
    session = fill_history(ann)
    check(page, *(f"/history/{name}" for name in (*names, "?q=tea&state=pending")))
    check(page, f"/history/sessions/{session.pk}/", f"/history/sessions/{session.pk}/?as=others")
    page.goto("/history/")
    page.get_by_role("checkbox").first.check()
    page.get_by_role("button", name="Erase…").click()
    page.get_by_role("heading", name="Erase 1 session?").wait_for()
    assert check.look(page) == []
    page.goto("/history/uploads/")
    page.get_by_role("button", name="Erase its").click()
    page.get_by_role("button", name="Erase for good").wait_for()
    assert check.look(page) == []


def test_the_judging_page_has_no_violation_in_any_state(open_page, check, cast, let_in, busy):
    page = let_in(open_page(), cast.person("Ann"))
    check(page, "/studies/tea/judge/")
    page.keyboard.press("1")
    page.get_by_role("button", name="Skip…").click()
    assert check.look(page) == []
    page.keyboard.press("Escape")
    page.set_viewport_size(PHONE)
    assert check.look(page) == []
    page.get_by_role("button", name="About Mina Park").click()
    assert check.look(page) == []


def test_the_results_of_every_kind_have_no_violation(page, check, cast, let_in, tmp_path):
    study = everykind.judged(cast, tmp_path)
    recompute_due()
    let_in(page, cast.member("Rui", study, "researcher"))
    tasks = {"rate": "i-rate", "feel": "i-feel", "traits": "i-a2", "matter": "i-m1"}
    addresses = ["/studies/mix/", "/studies/mix/raters/"]
    for task, name in tasks.items():
        slot = Slot.objects.filter(item__external_id=name, status="done").first()
        comments.write_comment(study, slot.pk, slot.annotator, "The answer is **cut off**.")
        addresses += [f"/studies/mix/results/{task}/"]
        addresses += [f"/studies/mix/results/{task}/items/{slot.item_id}/"]
    check(page, *addresses)


def test_an_administrators_pages_have_no_violation(page, check, cast, let_in, busy):
    dora = cast.member("Dora", busy, "administrator")
    Invitation.issue(busy, "annotator", by=dora)
    let_in(page, dora)
    check(page, "/studies/tea/people/")
    page.get_by_role("button", name="Make an invitation link").click()
    page.locator(".secret").wait_for()
    assert check.look(page) == []


def test_the_pages_of_own_queries_and_sources_have_no_violation(page, check, cast, let_in, bespoke):  # noqa: F811
    ann = cast.person("Ann")
    let_in(page, ann)
    check(page, "/", "/studies/tea/steps/", "/studies/tea/my-queries/")
    query = ask(bespoke, ann)
    check(page, "/studies/tea/steps/")
    check(page, "/studies/tea/my-queries/", f"/studies/tea/my-queries/{query.external_id}/")
    page.get_by_label("Find in what you keep").fill("trains")
    page.locator("#hits label").wait_for()
    assert check.look(page) == []
    let_in(page, cast.person("Carol"))
    check(page, "/studies/tea/candidates/", "/studies/tea/sources/")
    page.get_by_label("Sources shown for one answer").fill("0")
    page.get_by_role("button", name="Save").click()
    page.locator(".errorlist").wait_for()
    assert check.look(page) == []


def test_the_page_of_a_gold_response_has_no_violation(page, check, cast, let_in, judged):  # noqa: F811
    ann = cast.person("Ann")
    let_in(page, ann)
    url = f"/studies/tea/my-queries/{judged.external_id}/"
    check(page, url, f"{url}gold/")
    response = author.save_response(judged, ann, "The second, but better. And\n\na list.")
    author.save_rubric(judged, "Calm and short.", author=ann)
    page.goto(f"{url}gold/")
    page.get_by_text("What you changed").click()
    assert check.look(page) == []
    author.set_claims(response, ["The second is better.", "There is a list."])
    check(page, f"{url}gold/")
    check(page, url, "/studies/tea/my-queries/")


@pytest.mark.parametrize("person", OF_STUDY)
def test_the_pages_of_each_person_have_no_violation(page, check, cast, let_in, busy, person):
    cast.member("Ann", cast.study("rain"), "annotator", consented=False)
    # A word that fits into no line.
    busy.queries.update(text="Rechtsschutzversicherungsgesellschaften" * 4)
    if person:
        let_in(page, cast.person(person))
    other = ("/studies/rain/consent/", "/studies/none/") if person == "Ann" else ()
    check(page, *addresses(busy, person), *other)


@pytest.mark.proof
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("language", ["en", "zh-CN", "ko", "es"])
def test_every_page_in_every_language_has_no_violation(
    open_page, cast, let_in, busy, language, size
):
    fill_history(cast.person("Ann"))
    found = []
    for person in OF_STUDY:
        page = open_page(locale=language, **SIZES[size])
        if person:
            let_in(page, cast.person(person))
        for address in addresses(busy, person):
            page.goto(address)
            found += axe.violations(page)
    assert found == []
