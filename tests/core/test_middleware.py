"""The language of the pages: chosen in a browser, kept with the person."""

from urllib.parse import urljoin

import pytest
from django.test import Client
from django.utils import formats, timezone, translation

from annotation.accounts.models import User
from tests.security.test_doors import HOSTILE

LANGUAGE, LOGIN = "/language/", "/accounts/login/"


def shown(response) -> str:
    """The language that the page says it is in."""
    return response.text.partition('<html lang="')[2].partition('"')[0]


def test_pages_are_in_the_browsers_language_until_one_is_chosen(client, db):
    assert shown(client.get(LOGIN)) == "en"
    assert shown(client.get(LOGIN, headers={"Accept-Language": "zh-CN,zh;q=0.9"})) == "zh-hans"
    assert shown(client.get(LOGIN, headers={"Accept-Language": "fr"})) == "en"
    client.post(LANGUAGE, {"language": "ko"})
    assert shown(client.get(LOGIN, headers={"Accept-Language": "zh-CN"})) == "ko"


def test_the_choice_follows_the_person_into_another_browser(login, cast, tea):
    client = login(cast.person("Ann"))
    client.post(LANGUAGE, {"language": "zh-hans"})
    assert User.objects.get(name="Ann").language == "zh-hans"
    other = Client()
    other.force_login(cast.person("Ann"), "allauth.account.auth_backends.AuthenticationBackend")
    page = other.get("/", headers={"Accept-Language": "en"})
    assert (shown(page), page["Content-Language"]) == ("zh-hans", "zh-hans")
    # Somebody else at that browser has their own.
    other.logout()
    assert shown(other.get(LOGIN, headers={"Accept-Language": "en"})) == "en"


@pytest.mark.parametrize("odd", ["", "xx", "../ko", "ko\x00", "k" * 1000, "de"])
def test_an_unknown_language_changes_nothing(login, cast, tea, odd):
    client = login(cast.person("Ann"))
    assert client.post(LANGUAGE, {"language": odd}).status_code == 302
    assert User.objects.get(name="Ann").language == ""
    assert shown(client.get("/")) == "en"


@pytest.mark.parametrize("target", HOSTILE)
def test_the_switch_leads_to_this_site_only(client, db, target):
    response = client.post(LANGUAGE, {"language": "ko", "next": target})
    assert response.status_code == 302
    # As a browser reads it: relative to the page, backslashes for slashes.
    seen = urljoin("http://testserver/language/", response.url.replace("\\", "/"))
    assert seen.startswith("http://testserver/")


def test_the_switch_leads_back_to_the_page_and_is_on_it(client, db):
    page = client.get(f"{LOGIN}?next=/tokens/").text
    assert f'value="{LOGIN}?next=/tokens/"' in page
    assert all(f'value="{code}" lang="{code}"' in page for code in ("en", "zh-hans", "ko"))
    response = client.post(LANGUAGE, {"language": "ko", "next": f"{LOGIN}?next=/tokens/"})
    assert response.url == f"{LOGIN}?next=/tokens/"


@pytest.mark.parametrize(
    ("language", "day", "moment"),
    [
        ("en", "3 Feb 2026", "3 Feb 2026, 14:05"),
        ("zh-hans", "2026年2月3日", "2026年2月3日 14:05"),
        ("ko", "2026. 2. 3.", "2026. 2. 3. 14:05"),
    ],
)
def test_dates_are_written_as_their_readers_write_them(language, day, moment):
    at = timezone.datetime(2026, 2, 3, 14, 5)
    with translation.override(language):
        assert formats.date_format(at, "SHORT_DATE_FORMAT") == day
        assert formats.date_format(at, "SHORT_DATETIME_FORMAT") == moment
        assert formats.localize(1234.5) == "1234.5"
