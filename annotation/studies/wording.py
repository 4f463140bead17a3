"""A study's texts in further languages: what an administrator enters, language by language."""

from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.utils.translation import get_language

from annotation.accounts import consent as consents
from annotation.accounts.models import User
from annotation.core import audit
from annotation.studies.models import Study, TaskDefinition

OF_A_TASK = ("guideline", "question")
# What a version of a task with other texts takes over.
COPIED = ("study", "name", "kind", "overlap", "guideline", "config")


def newest_tasks(study: Study) -> list[TaskDefinition]:
    """The newest version of each of the study's tasks, by name."""
    return list(study.tasks.order_by("name", "-version").distinct("name"))


def stored(study: Study, tasks: Iterable[TaskDefinition], language: str) -> dict[str, str]:
    """The texts of ``language``: "title", "description", "consent", "guideline-<task>", …"""
    wording = dict(study.translations.get(language, {}))
    if study.consent_text:
        wording["consent"] = study.consent_text.translations.get(language, "")
    for task in tasks:
        for field, text in task.translations.get(language, {}).items():
            wording[f"{field}-{task.name}"] = text
    return wording


@transaction.atomic
def save_wording(study: Study, language: str, wording: dict[str, str], by: User) -> None:
    """Store texts named as ``stored`` names them; an empty one takes the text away.

    A changed consent text or task becomes a new version: what somebody saw is never rewritten.
    """
    # Two saves would take the same version of a task.
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    of_study = {field: wording[field] for field in ("title", "description")}
    study.translations = changed(study.translations, language, of_study)
    if study.consent_text:
        bodies = study.consent_text.translations
        bodies = {code: body for code, body in bodies.items() if code != language}
        if wording["consent"]:
            bodies[language] = wording["consent"]
        study.consent_text = consents.publish(
            study.consent_text.name, study.consent_text.body, bodies
        )
    study.save(update_fields=["translations", "consent_text"])
    for task in newest_tasks(study):
        _save_task(task, language, wording)
    audit.record(by, "study.texts", study, language=language)


def _save_task(task: TaskDefinition, language: str, wording: dict[str, str]) -> None:
    names = {field: f"{field}-{task.name}" for field in OF_A_TASK}
    fields = {field: wording[name] for field, name in names.items() if name in wording}
    translations = changed(task.translations, language, fields)
    if translations != task.translations:
        copied = {name: getattr(task, name) for name in COPIED}
        TaskDefinition.objects.create(**copied, version=task.version + 1, translations=translations)


def localized(thing: Any, field: str, language: str | None = None) -> str:
    """``field`` of a study, task or consent text in ``language`` (None: the page's own).

    ``thing.translations`` is {language: {field: text}}, for a consent text {language: text}. The
    same language in another script or country stands in for one that is missing; without either
    the study's own text is returned.
    """
    wanted = (language or get_language() or "").lower()
    same_language = ""
    for code, translation in thing.translations.items():
        text = translation if isinstance(translation, str) else translation.get(field)
        if text and code.lower() == wanted:
            return text
        if text and code.lower().partition("-")[0] == wanted.partition("-")[0]:
            same_language = same_language or text
    # What a kind of task asks is among its settings.
    text = getattr(thing, field) if hasattr(thing, field) else thing.config.get(field, "")
    return same_language or text


def changed(translations: dict, language: str, texts: dict[str, str]) -> dict:
    """A copy of ``translations`` with ``texts`` of one language; an empty text is left out."""
    filled = {**translations.get(language, {}), **texts}
    filled = {field: text for field, text in filled.items() if text}
    rest = {code: others for code, others in translations.items() if code != language}
    return {**rest, language: filled} if filled else rest
