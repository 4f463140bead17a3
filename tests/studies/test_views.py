"""Settings and texts of a study in the browser."""

import pytest
from django.urls import reverse

from annotation.accounts import consent
from annotation.accounts.models import Consent
from annotation.studies.models import Study

PAGE = ("tea", "ko")


@pytest.fixture
def two_languages(tea):
    Study.objects.filter(pk=tea.pk).update(languages=["en", "ko"])
    return Study.objects.get(pk=tea.pk)


def enter(client, **said):
    return client.post(reverse("texts", args=PAGE), said)


def test_an_administrator_enters_texts_and_readers_get_them(login, cast, two_languages, dora):
    task = cast.task(two_languages, "best", options=3)
    client = login(dora)
    said = {"title": "차", "description": "따뜻한 차", "consent": "동의합니다."}
    said["guideline-best"] = "읽기"
    assert enter(client, **said).url == reverse("settings", args=["tea"])
    study = Study.objects.get(pk=two_languages.pk)
    assert study.translations == {"ko": {"title": "차", "description": "따뜻한 차"}}
    newest = study.tasks.latest("version")
    assert (newest.version, newest.translations) == (2, {"ko": {"guideline": "읽기"}})
    assert (newest.config, newest.kind, newest.overlap) == (task.config, "selection", 9)
    task.refresh_from_db()
    assert task.translations == {}
    assert "동의합니다." in client.get(reverse("texts", args=PAGE)).text
    login(cast.person("Ann"))
    korean = client.get(reverse("consent", args=["tea"]), headers={"Accept-Language": "ko"})
    english = client.get(reverse("consent", args=["tea"]), headers={"Accept-Language": "en"})
    assert "동의합니다." in korean.text
    assert "I take part in tea." in english.text


def test_a_translated_consent_text_asks_everybody_again(login, cast, two_languages, dora):
    client = login(dora)
    enter(client, title="", description="", consent="동의합니다.")
    ann = login(cast.person("Ann"))
    assert ann.get(reverse("judge", args=["tea"])).url == reverse("consent", args=["tea"])
    shown = ann.get(reverse("consent", args=["tea"])).text
    assert "The text has changed since you agreed to it" in shown
    text = Study.objects.get(pk=two_languages.pk).consent_text
    ann.post(reverse("consent", args=["tea"]), {"text": text.pk, "agree": "1"})
    assert Consent.objects.filter(text=text, user=cast.person("Ann")).exists()


def test_texts_saved_twice_or_emptied_make_no_version_too_many(login, cast, two_languages, dora):
    cast.task(two_languages, "best", options=3)
    client = login(dora)
    said = {"title": "차", "description": "", "consent": "동의\r\n합니다."}
    said["guideline-best"] = "읽\r\n기"
    enter(client, **said)
    enter(client, **said)
    study = Study.objects.get(pk=two_languages.pk)
    assert (study.consent_text.version, study.tasks.count()) == (2, 2)
    enter(client, title="", description="", consent="", **{"guideline-best": ""})
    study = Study.objects.get(pk=two_languages.pk)
    assert (study.translations, study.consent_text.translations) == ({}, {})
    assert study.tasks.latest("version").translations == {}


def test_texts_of_a_language_the_study_has_not_are_unknown(login, tea, dora):
    assert login(dora).get(reverse("texts", args=PAGE)).status_code == 404


SETTINGS = {"title": "Tea", "languages": ["en", "ko"], "consent": "I agree.", "edit_hours": 48}


def test_settings_keep_pay_and_time_and_languages_that_a_bundle_brought(login, tea, dora):
    Study.objects.filter(pk=tea.pk).update(languages=["en", "de"])
    client = login(dora)
    page = reverse("settings", args=["tea"])
    pay = {"pay_per_hour": "12.50", "pay_per_judgment": "", "currency": "EUR"}
    assert client.post(page, {**SETTINGS, "languages": ["en", "de"], **pay}).status_code == 302
    study = Study.objects.get(pk=tea.pk)
    assert (study.edit_hours, study.currency, study.languages) == (48, "EUR", ["en", "de"])
    assert (str(study.pay_per_hour), study.pay_per_judgment) == ("12.50", None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"pay_per_hour": "12"},
        {"pay_per_hour": "-1", "currency": "EUR"},
        {"pay_per_judgment": "NaN", "currency": "EUR"},
        {"currency": "euros"},
        {"currency": "€"},
        {"edit_hours": "-1"},
        {"edit_hours": "99999"},
    ],
)
def test_settings_that_cannot_be_are_refused(login, tea, dora, wrong):
    response = login(dora).post(reverse("settings", args=["tea"]), {**SETTINGS, **wrong})
    assert (response.status_code, Study.objects.get(pk=tea.pk).edit_hours) == (400, 24)


def test_settings_saved_with_an_unchanged_consent_text_ask_nobody_again(login, tea, dora):
    """A text from a file ends with a newline."""
    text = consent.publish("tea", "I agree.\n")
    Study.objects.filter(pk=tea.pk).update(consent_text=text)
    client = login(dora)
    page = reverse("settings", args=["tea"])
    shown = client.get(page).context["form"]["consent"].value()
    client.post(page, {**SETTINGS, "consent": shown.replace("\n", "\r\n")})
    tea.refresh_from_db()
    assert (tea.edit_hours, tea.consent_text) == (48, text)
    assert client.post(page, {**SETTINGS, "consent": " \r\n"}).status_code == 400


def test_a_changed_consent_text_warns_of_its_translations(login, two_languages, dora):
    client = login(dora)
    enter(client, title="", description="", consent="동의합니다.")
    page = client.post(reverse("settings", args=["tea"]), SETTINGS, follow=True)
    assert "was kept as it is: check it" in page.text
