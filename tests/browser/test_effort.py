"""What a judgment costs an expert's hands, counted, and what docs/effort.md says of it."""

import math
import re

import pytest
from django.conf import settings
from playwright.sync_api import expect

from annotation.judging.models import Judgment
from tests.browser.conftest import WIDE
from tests.browser.kinds import open_kind

pytestmark = pytest.mark.django_db(transaction=True)
# Kind, its settings, and the digits of all decisions.
CASES = {
    "Best of three": ("selection", {"options": 3}, "2"),
    "Preference": ("preference", {}, "2"),
    "Scoring": ("feedback", {"feedback": "off"}, "4352"),
    "Relevance": ("relevance", {}, "1"),
}
# Seconds of the keystroke-level model (Card, Moran and Newell 1980), without time to think:
# a key of a good typist, a press of the mouse, and Fitts's law for the way of the pointer
# (Shannon's form, with MacKenzie's constants for a mouse).
KEY, PRESS = 0.2, 0.1


def pointing(distance: float, size: float) -> float:
    """Seconds to move the pointer ``distance`` pixels to a target of ``size`` pixels."""
    return 0.23 + 0.166 * math.log2(distance / size + 1)


def documented() -> dict[str, list[str]]:
    """The page's table: decisions, keys, clicks, pixels, seconds by keys and by pointer, a task."""
    lines = (settings.BASE_DIR / "docs" / "effort.md").read_text().splitlines()
    rows = [re.split(r"\s*\|\s*", line.strip("| ")) for line in lines if line.startswith("| ")]
    return {row[0]: row[1:] for row in rows if row[0] in CASES}


def by_pointer(page, digits: str) -> tuple[int, float, float]:
    """Clicks, way in pixels and seconds of the same judgment, from the middle of the window."""
    groups = page.locator("[data-group]:has([data-key])")
    targets = [
        groups.nth(n).locator(f"label:has([data-key='{digit}'])") for n, digit in enumerate(digits)
    ]
    at, way, seconds = (WIDE["width"] / 2, WIDE["height"] / 2), 0.0, 0.0
    for target in [*targets, page.get_by_role("button", name="Submit and next")]:
        target.scroll_into_view_if_needed()
        box = target.bounding_box()
        place = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        step = math.dist(at, place)
        target.click()
        at, way = place, way + step
        seconds += pointing(step, min(box["width"], box["height"])) + PRESS
    return len(targets) + 1, way, seconds


@pytest.mark.parametrize("name", CASES)
def test_no_kind_needs_more_keys_than_decisions_and_one(open_page, cast, tea, let_in, name):
    kind, config, digits = CASES[name]
    open_kind(cast, tea, kind, **config)
    page = open_page(viewport=WIDE)
    let_in(page, cast.person("Ann"))
    page.goto("/studies/tea/judge/")
    for digit in digits:
        page.keyboard.press(digit)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("1 of ")
    keys = len(digits) + 1
    clicks, way, seconds = by_pointer(page, digits)
    expect(page.locator("form.judge")).to_have_count(0)
    assert Judgment.objects.count() == 2
    row = documented()[name]
    assert [int(number) for number in row[:3]] == [len(digits), keys, clicks]
    assert way == pytest.approx(float(row[3].replace(",", "")), rel=0.1), way
    times = [float(number) for number in row[4:]]
    assert [keys * KEY, seconds] == pytest.approx(times, rel=0.1), seconds
