"""Study texts by language: read, entered, imported."""

import pytest
from django.utils import translation

from annotation.accounts import consent
from annotation.accounts.models import ConsentText
from annotation.studies.models import Study, TaskDefinition
from annotation.studies.wording import localized


@pytest.mark.parametrize(
    ("language", "title"),
    [("en", "Tea"), ("ko", "차"), ("ko-KR", "차"), ("zh-hans", "茶"), ("zh", "茶"), ("fr", "Tea"),
     ("", "Tea")],
)  # fmt: skip
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
    korean = {"ko": {"question": "어느 것?"}}
    config = {"question": "Which?"}
    task = TaskDefinition(guideline="Read.", config=config, translations=korean)
    assert [localized(text, "body", code) for code in ("ko", "en")] == ["동의합니다.", "I agree."]
    assert [localized(task, "question", code) for code in ("ko", "en")] == ["어느 것?", "Which?"]
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
