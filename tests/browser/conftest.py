"""A real Chromium against a real server; a page that breaks its own policy fails its test."""

import os
import shutil
import threading

import pytest
from django.core.signals import request_finished, request_started
from django.test.client import ClientHandler
from playwright.sync_api import expect, sync_playwright

WIDE = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
QUIET += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
# Chromium heeds the last such list alone. The first two are pages that each new window loads for
# its address bar: two thirds of a short test's processor time. The others are Playwright's.
SWITCHED_OFF = (
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "AimEnabled"),
    *("AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades"),
    *("HttpsFirstBalancedModeAutoEnable", "LensOverlay", "MediaRouter", "PaintHolding"),
    *("ThirdPartyStoragePartitioning", "AvoidCorsURLLoaderRestartOnRedirect"),
    *("OptimizationHints", "NetworkTimeServiceQuerying", "PreconnectToSearch"),
)
QUIET.append(f"--disable-features={','.join(SWITCHED_OFF)}")
# What Chromium and htmx write about an answer of 4xx and a cut line, which some tests ask for.
EXPECTED = (
    "Failed to load resource: the server responded",
    "Failed to load resource: net::ERR_INTERNET_DISCONNECTED",
    "Response Status Error Code",
    "htmx:sendError",
    "htmx:afterRequest",
)


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/browser/" in item.path.as_posix():
            item.add_marker(pytest.mark.browser)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown():
    try:
        return (yield)
    finally:
        # The tables are empty now: what comes late meets nothing.
        DOOR.open()


@pytest.fixture(autouse=True)
def _no_rate_limits(settings):
    # Every test logs in from one address.
    settings.ACCOUNT_RATE_LIMITS = False


@pytest.fixture(scope="session")
def browser():
    """The machine's Chromium, or Playwright's own where the machine has none."""
    # Playwright's own event loop runs in the tests' thread; the ORM is used there without it.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    names = ("chromium-headless-shell", "chromium", "chromium-browser")
    path = next(filter(None, map(shutil.which, names)), None)
    expect.set_options(timeout=20_000)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=QUIET)
        yield running
        running.close()


@pytest.fixture
def open_page(browser, live_server):
    """A function that opens a page in a context of its own (options: those of ``new_context``).

    What the pages wrote to the console as errors, what broke their policy and every request that
    left the server fails the test at its end.
    """
    contexts, complaints = [], []

    def watch(page):
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: _complain(message, complaints))
        page.on(
            "response",
            lambda answer: (
                answer.status < 400 or "/static/" not in answer.url or complaints.append(answer.url)
            ),
        )
        page.on(
            "request",
            lambda request: (
                request.url.startswith(live_server.url) or complaints.append(request.url)
            ),
        )

    def open_(**options):
        options = {"viewport": WIDE, "base_url": live_server.url} | options
        context = browser.new_context(**options)
        context.on("page", watch)
        contexts.append(context)
        return context.new_page()

    DOOR.open(test=object())
    yield open_
    for context in contexts:
        context.close()
    DOOR.shut()
    assert complaints == []


class Door:
    """Lets requests into the live server and counts those of the present test, or refuses them.

    A page that is closed still sends its draft, and that comes when it comes: it must not meet the
    emptying of the tables, which would be a deadlock.
    """

    def __init__(self):
        self._change = threading.Condition()
        self._thread = threading.local()
        self._open, self._test, self._inside = True, None, 0
        request_started.connect(self._enter)
        request_finished.connect(self._leave)

    def open(self, test=None):
        """Let all in; those of ``test`` are counted from now on."""
        with self._change:
            self._open, self._test, self._inside = True, test, 0

    def shut(self):
        """Refuse whatever comes from now on, and wait for what is under way."""
        with self._change:
            self._open = False
            assert self._change.wait_for(lambda: self._inside == 0, timeout=60)

    def _enter(self, sender, **_):
        # Django's test client asks without a server, and is always let in.
        if sender is ClientHandler:
            return
        with self._change:
            if not self._open:
                raise ConnectionAbortedError("The test that asked is over.")
            self._thread.test = self._test
            self._inside += 1

    def _leave(self, **_):
        with self._change:
            if self._test and getattr(self._thread, "test", None) is self._test:
                self._inside -= 1
                self._change.notify_all()


DOOR = Door()


def _complain(message, complaints):
    if message.type == "error" and not message.text.startswith(EXPECTED):
        complaints.append(message.text)


@pytest.fixture
def page(open_page):
    return open_page()


def go_offline(page):
    """Cut the page's connection; Chromium's network process learns of it after the call."""
    page.context.set_offline(True)
    while page.evaluate("fetch('/health/live').then(() => true, () => false)"):
        pass


@pytest.fixture
def log_in(cast):
    """A function that logs a page in as a person, through the login page."""

    def as_(page, person):
        page.goto("/accounts/login/")
        page.get_by_label("Email").fill(person.email)
        page.get_by_label("Password").fill(cast.password)
        page.locator("main").get_by_role("button", name="Log in", exact=True).click()
        page.wait_for_url("/")
        return page

    return as_


@pytest.fixture
def let_in(client, settings):
    """A function that logs a page in as a person without the login page: the quick way."""

    def as_(page, person):
        client.force_login(person, "allauth.account.auth_backends.AuthenticationBackend")
        name = settings.SESSION_COOKIE_NAME
        key = client.cookies[name].value
        page.context.add_cookies([{"name": name, "value": key, "domain": "localhost", "path": "/"}])
        return page

    return as_


@pytest.fixture
def desk(cast, tea, let_in):
    """A function that opens items of ``kind`` in "tea", and the judging page for Ann."""
    from tests.browser.kinds import open_kind

    def open_(page, kind="selection", **config):
        open_kind(cast, tea, kind, **config)
        let_in(page, cast.person("Ann"))
        page.goto("/studies/tea/judge/")
        return page

    return open_
