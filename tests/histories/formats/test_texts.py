"""Times of all shapes, in UTC."""

from datetime import UTC, datetime

import pytest

from annotation.histories.texts import from_page, moment

NOON = datetime(2026, 3, 14, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        1773489600,
        1773489600.0,
        1773489600000,
        1773489600000000,
        "1773489600",
        "1773489600000",
        "2026-03-14T12:00:00Z",
        "2026-03-14T12:00:00.000000+00:00",
        "2026-03-14T21:00:00.0+09:00",
        {"$date": {"$numberLong": "1773489600000"}},
        {"$date": "2026-03-14T12:00:00Z"},
    ],
)
def test_the_same_time_in_every_writing(value):
    assert moment(value) == (NOON, False)


def test_a_time_without_a_zone_is_utc_and_flagged():
    assert moment("2026-03-14T12:00:00") == (NOON, True)


@pytest.mark.parametrize(
    "value",
    [
        None, True, 0, -1, 1e400, -(10**400), 10**400, float("nan"), 1e18, 5e14 * 10, "", "soon",
        "0000-00-00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "9" * 50, [], {},
        {"$date": {"$date": "2026-03-14T12:00:00Z"}}, 86400,
    ],
)  # fmt: skip
def test_an_absurd_time_is_none(value):
    assert moment(value) == (None, False)


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("Mar 14, 2026, 2:00:00 PM CEST", 12),
        ("Mar 14, 2026, 2:00:00\u202fPM CEST", 12),
        ("14.03.2026, 14:00:00 MESZ", 12),
        ("14.03.2026, 13:00:00 MEZ", 12),
        ("14 mrt 2026, 13:00:00 CET", 12),
        ("14 mar 2026, 13:00:00 CET", 12),
        ("14 Mar 2026 15:00:00 TRT", 12),
        ("2026年3月14日 13:00:00 CET", 12),
        ("\u200f14/03/2026، 2:00:00 م CEST", 12),
        ("14/03/2026، 12:00:00 ص UTC", 0),
        ("2026. 3. 14. 오후 9:00:00 KST", 12),
        ("2026. 3. 14. 오전 12:30:00 UTC", 0),
        ("Mar 14, 2026, 12:00:00 PM UTC", 12),
        ("Mar 14, 2026, 12:00:00 AM UTC", 0),
        ("Mar 14, 2026, 3:00:00 PM GMT+03:00", 12),
        ("Mar 14, 2026, 5:30:00 PM GMT+5:30", 12),
    ],
)
def test_the_local_times_of_pages_are_read(text, hour):
    found, assumed = from_page(text)
    assert (found.replace(minute=0), assumed) == (NOON.replace(hour=hour), False)


@pytest.mark.parametrize(
    "text", ["Mar 14, 2026, 12:00:00 PM", "Mar 14, 2026, 12:00:00 PM XYZT", "14.03.2026, 12:00:00"]
)
def test_without_a_known_zone_the_local_time_is_kept_and_flagged(text):
    assert from_page(text) == (NOON, True)


@pytest.mark.parametrize(
    "text",
    ["", "ramen", "12:00", "at 5:30 we meet", "99.99.2026, 12:00:00", "Channel 4", "x" * 500],
)
def test_other_lines_are_no_time(text):
    assert from_page(text) is None
