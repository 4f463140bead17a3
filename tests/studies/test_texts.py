"""Study texts by language: read, entered, imported."""

import json

import pytest
from django.urls import reverse
from django.utils import translation

from annotation.accounts import consent
from annotation.accounts.models import Consent, ConsentText
from annotation.judging.imports import bundles
from annotation.studies.bundle import BundleError
from annotation.studies.models import Study, TaskDefinition
from annotation.studies.texts import localized

PAGE = ("tea", "ko")


@pytest.mark.parametrize(
    ("language", "title"),
    [
        ("en", "Tea"),
        ("ko", "차"),
        ("ko-KR", "차"),
        ("zh-hans", "茶"),
        ("zh", "茶"),
        ("fr", "Tea"),
        ("", "Tea"),
    ],
)
def test_a_text_is_read_in_the_readers_language_or_as_the_study_has_it(language, title):
    study = Study(title="Tea", translations={"ko": {"title": "차"}, "zh": {"title": "茶"}})
    assert localized(study, "title", language) == title
    with translation.override(language or None):
        assert localized(study, "title") == title


def test_an_exact_language_is_preferred_and_an_empty_text_is_none():
    study = Study(
        title="Tea",
        description="Warm.",
        translations={"zh-hant": {"title": "繁"}, "zh-hans": {"title": "简", "description": ""}},
    )
    assert localized(study, "title", "zh-hans") == "简"
    assert localized(study, "description", "zh-hans") == "Warm."


def test_consent_texts_and_questions_of_a_kind_are_read_alike():
    text = ConsentText(body="I agree.", translations={"ko": "동의합니다."})
    task = TaskDefinition(
        guideline="Read.",
        config={"question": "Which?"},
        translations={"ko": {"question": "어느 것?"}},
    )
    assert (localized(text, "body", "ko"), localized(text, "body", "en")) == (
        "동의합니다.",
        "I agree.",
    )
    assert (localized(task, "question", "ko"), localized(task, "question", "en")) == (
        "어느 것?",
        "Which?",
    )
    assert localized(task, "guideline", "ko") == "Read."


def test_a_changed_translation_is_a_new_version_of_the_consent_text(db):
    first = consent.publish("tea", "I agree.")
    assert consent.publish("tea", "I agree.") == first
    second = consent.publish("tea", "I agree.", {"ko": "동의"})
    assert (second.version, first.version) == (2, 1)
    assert consent.publish("tea", "I agree.", {"ko": "동의"}) == second
    # What says nothing of translations keeps them.
    assert consent.publish("tea", "I agree.") == second
    third = consent.publish("tea", "I do agree.")
    assert (third.version, third.translations) == (3, {"ko": "동의"})
    assert ConsentText.objects.get(pk=first.pk).translations == {}


@pytest.fixture
def two_languages(tea):
    Study.objects.filter(pk=tea.pk).update(languages=["en", "ko"])
    return Study.objects.get(pk=tea.pk)


def enter(client, **said):
    return client.post(reverse("texts", args=PAGE), said)


def test_an_administrator_enters_texts_and_readers_get_them(
    login, cast, two_languages, dora, client
):
    task = cast.task(two_languages, "best", options=3)
    client = login(dora)
    said = {
        "title": "차",
        "description": "따뜻한 차",
        "consent": "동의합니다.",
        "guideline-best": "읽기",
    }
    assert enter(client, **said).url == reverse("settings", args=["tea"])
    study = Study.objects.get(pk=two_languages.pk)
    assert study.translations == {"ko": {"title": "차", "description": "따뜻한 차"}}
    newest = study.tasks.latest("version")
    assert (newest.version, newest.translations) == (2, {"ko": {"guideline": "읽기"}})
    assert (newest.config, newest.kind, newest.overlap) == (task.config, "selection", 9)
    task.refresh_from_db()
    assert task.translations == {}
    assert "동의합니다." in client.get(reverse("texts", args=PAGE)).content.decode()
    login(cast.person("Ann"))
    korean = client.get(reverse("consent", args=["tea"]), headers={"Accept-Language": "ko"})
    english = client.get(reverse("consent", args=["tea"]), headers={"Accept-Language": "en"})
    assert "동의합니다." in korean.content.decode()
    assert "I take part in tea." in english.content.decode()


def test_a_translated_consent_text_asks_everybody_again(login, cast, two_languages, dora):
    client = login(dora)
    enter(client, title="", description="", consent="동의합니다.")
    ann = login(cast.person("Ann"))
    assert ann.get(reverse("judge", args=["tea"])).url == reverse("consent", args=["tea"])
    text = Study.objects.get(pk=two_languages.pk).consent_text
    ann.post(reverse("consent", args=["tea"]), {"text": text.pk, "agree": "1"})
    assert Consent.objects.filter(text=text, user=cast.person("Ann")).exists()


def test_texts_saved_twice_or_emptied_make_no_version_too_many(login, cast, two_languages, dora):
    cast.task(two_languages, "best", options=3)
    client = login(dora)
    said = {
        "title": "차",
        "description": "",
        "consent": "동의\r\n합니다.",
        "guideline-best": "읽\r\n기",
    }
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
    assert (study.edit_hours, str(study.pay_per_hour), study.pay_per_judgment) == (
        48,
        "12.50",
        None,
    )
    assert (study.currency, study.languages) == ("EUR", ["en", "de"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"pay_per_hour": "12"},
        {"pay_per_hour": "-1", "currency": "EUR"},
        {"pay_per_judgment": "NaN", "currency": "EUR"},
        {"currency": "euros"},
        {"currency": "€"},
        {"edit_hours": "-1"},
        {"edit_hours": ""},
        {"edit_hours": "99999"},
    ],
)
def test_settings_that_cannot_be_are_refused(login, tea, dora, wrong):
    response = login(dora).post(reverse("settings", args=["tea"]), {**SETTINGS, **wrong})
    assert (response.status_code, Study.objects.get(pk=tea.pk).edit_hours) == (400, 24)


def test_a_changed_consent_text_warns_of_its_translations(login, two_languages, dora):
    client = login(dora)
    enter(client, title="", description="", consent="동의합니다.")
    page = client.post(reverse("settings", args=["tea"]), SETTINGS, follow=True)
    assert "was kept as it is: check it" in page.content.decode()


# --- Bundles -----------------------------------------------------------------------------------

BUNDLE = {
    "slug": "walk",
    "title": {"en": "Walks", "ko": "산책"},
    "description": "About walking.",
    "guideline": {"en": "Choose.", "ko": "고르세요."},
    "consent": {"ko": "참여합니다.", "en": "I take part."},
    "languages": ["en", "ko"],
    "tasks": [
        {"name": "best", "kind": "selection", "options": 3},
        {
            "name": "better",
            "kind": "selection",
            "options": 2,
            "guideline": {"ko": "둘 중 하나.", "en": "One of two."},
        },
    ],
}


def read(tmp_path, **changes):
    (tmp_path / "study.json").write_text(json.dumps({**BUNDLE, **changes}, ensure_ascii=False))
    return bundles.read(tmp_path)


def test_a_bundle_gives_texts_by_language(tmp_path):
    bundle = read(tmp_path)
    assert bundle.study["title"] == "Walks"
    assert bundle.study["translations"] == {"ko": {"title": "산책"}}
    assert bundle.study["consent"] == "I take part."
    assert bundle.study["consent_translations"] == {"ko": "참여합니다."}
    best, better = bundle.tasks
    assert (best.guideline, best.translations) == ("Choose.", {"ko": {"guideline": "고르세요."}})
    assert (better.guideline, better.translations) == (
        "One of two.",
        {"ko": {"guideline": "둘 중 하나."}},
    )


def test_plain_texts_stay_what_they_were(tmp_path):
    bundle = read(tmp_path, title="Walks", guideline="Choose.", consent="I take part.")
    assert (bundle.study["title"], bundle.study["consent"]) == ("Walks", "I take part.")
    assert (bundle.study["translations"], bundle.study["consent_translations"]) == ({}, {})
    assert bundle.tasks[0].translations == {}


def test_a_study_that_names_no_languages_has_those_of_its_texts(tmp_path):
    bundle = read(tmp_path, languages=[])
    assert bundle.study["languages"] == ["en", "ko"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"title": {}}, "“title” is empty"),
        ({"title": {"en": ""}}, "“title” in “en” is empty"),
        ({"title": {"en": 5}}, "“title” in “en” must be text"),
        ({"title": {"English!": "x"}}, "“title” names “English!”, which is no language code"),
        ({"title": {"en": "x", "fr": "y"}}, "“title” is in “fr”, which “languages” does not name"),
        ({"title": {"en": "x" * 201}}, "“title” in “en” is longer than 200 characters"),
        ({"title": ["x"]}, "“title” must be text"),
        ({"guideline": {"en": "x", "fr": "y"}}, "“guideline” is in “fr”"),
    ],
)
def test_a_fault_in_a_text_by_language_is_one_sentence(tmp_path, change, words):
    with pytest.raises(BundleError) as refusal:
        read(tmp_path, **change)
    assert len(refusal.value.faults) == 1
    assert words in refusal.value.faults[0]
    assert refusal.value.faults[0].startswith("study.json, line ")
