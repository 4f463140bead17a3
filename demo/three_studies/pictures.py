"""Pictures of the docs, of the studies that `three_studies.sh` made: `PICTURES=docs/images …`.

`python -m demo.three_studies.pictures FOLDER` asks ATTUNE_URL for each page as the person whose
page it is, in Chromium, and writes what a window of 1440 x 900 and a phone of 390 x 844 show, light
and dark; three of 1200 x 760 are for the README.
"""

import os
import shutil
import sys
from pathlib import Path

import django
from playwright.sync_api import Browser, Page, sync_playwright

SIZES = {"1440": (1440, 900), "390": (390, 844)}
README = (1200, 760)
OPTIONS = ["--no-sandbox", "--disable-gpu", "--no-first-run"]


def addresses() -> dict[str, tuple[str, str]]:
    """Name of each picture, with who sees the page and its address."""
    from annotation.accounts.models import User
    from annotation.judging.models import Slot
    from annotation.queries.models import Query

    owner = User.objects.get(email="o1@three.example")
    query = Query.objects.filter(study__slug="demo-own", owner=owner).earliest("pk")
    judged = Slot.objects.filter(annotator=owner, study__slug="demo-own", status=Slot.Status.DONE)
    slots = {
        kind: judged.filter(item__batch__task__kind=kind).latest("position").pk
        for kind in ("feedback", "claims")
    }
    bespoke, feedback = "/studies/demo-own", "/studies/three-feedback"
    return {
        "desk": ("r1", "/"),
        "judging": ("r1", "/studies/demo/judge/"),
        "feedback": ("o1", f"{bespoke}/judged/{slots['feedback']}/"),
        "claims": ("o1", f"{bespoke}/judged/{slots['claims']}/"),
        "history": ("o1", "/history/"),
        "own-query": ("o1", f"{bespoke}/my-queries/{query.external_id}/"),
        "results": ("curator", f"{feedback}/results/better/"),
        "raters": ("curator", f"{feedback}/raters/"),
        "tasks": ("curator", f"{feedback}/tasks/"),
        "releases": ("curator", f"{feedback}/releases/"),
    }


FRONT = {
    "judging": ("r1", "/studies/demo/judge/"),
    "overview": ("admin@example.org", "/studies/demo/overview/"),
    "results": ("curator", "/studies/three-feedback/results/better/"),
}

# Real votes, of the demo that `load_demo` makes, and the charts of which a picture is taken.
VOTES, CHARTS = "/studies/demo-votes/results/convincing/", ("patterns", "days")
EDGE = 24


def session(person: str) -> str:
    """The key of a new session of ``person``: these accounts have no passwords."""
    from django.conf import settings
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.utils.module_loading import import_string

    from annotation.accounts.models import User

    user = User.objects.get(email=person if "@" in person else f"{person}@three.example")
    store = import_string(f"{settings.SESSION_ENGINE}.SessionStore")()
    store[SESSION_KEY] = str(user.pk)
    store[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[-1]
    store[HASH_SESSION_KEY] = user.get_session_auth_hash()
    store.save()
    return store.session_key


def opened(browser: Browser, key: str, size: tuple[int, int], scheme: str = "light") -> Page:
    """A page of a browser that is logged in with the session ``key``."""
    width, height = size
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=scheme,
        locale="en",
        has_touch=width < 600,
    )
    context.add_cookies([{"name": "attune-session", "value": key, "url": os.environ["ATTUNE_URL"]}])
    return context.new_page()


def show(page: Page, address: str) -> None:
    """Open the page; a judging page without the tour."""
    page.goto(os.environ["ATTUNE_URL"] + address)
    page.wait_for_load_state("networkidle")
    if address.endswith("/judge/"):
        page.keyboard.press("Escape")


def take_votes(browser: Browser, key: str, folder: Path) -> None:
    """The head of the page of results of real votes, and two of its charts."""
    page = opened(browser, key, (1440, 1145))
    show(page, VOTES)
    page.screenshot(path=folder / "results-ukp.png")
    first, last = (page.locator(f"#{name}").bounding_box() for name in CHARTS)
    box = {"x": first["x"] - EDGE, "width": first["width"] + 2 * EDGE, "y": first["y"] - EDGE}
    box["height"] = last["y"] + last["height"] - first["y"] + 2 * EDGE
    page.screenshot(path=folder / "results-ukp-charts.png", clip=box, full_page=True)
    page.context.close()


def main(folder: Path) -> None:
    """Take all pictures into ``folder`` and its folder ``screens``."""
    from annotation.accounts.models import User

    pages = addresses()
    # Items in English alone; who was not asked which languages they read is asked first.
    User.objects.filter(email="r1@three.example").update(reads=["en"])
    keys = {person: session(person) for person, _address in [*pages.values(), *FRONT.values()]}
    (folder / "screens").mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        names = ("chromium-headless-shell", "chromium", "chromium-browser")
        browser = playwright.chromium.launch(
            executable_path=next(filter(None, map(shutil.which, names)), None),
            args=OPTIONS,
        )
        for name, (person, address) in FRONT.items():
            page = opened(browser, keys[person], README)
            show(page, address)
            page.screenshot(path=folder / f"readme-{name}.png")
            page.context.close()
        take_votes(browser, keys["admin@example.org"], folder)
        for name, (person, address) in pages.items():
            for width, size in SIZES.items():
                for scheme in ("light", "dark"):
                    page = opened(browser, keys[person], size, scheme)
                    show(page, address)
                    page.screenshot(path=folder / "screens" / f"{name}-{scheme}-{width}.png")
                    page.context.close()
        browser.close()


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotation.settings")
    # Playwright's own event loop runs in this thread; the ORM is used there without it.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    django.setup()
    main(Path(sys.argv[1]))
