"""A study's texts in further languages: what an administrator enters, language by language."""

from collections.abc import Iterable

from django.db import transaction

from annotation.accounts import consent as consents
from annotation.accounts.models import User
from annotation.core import audit
from annotation.studies import texts
from annotation.studies.models import Study, TaskDefinition

OF_A_TASK = ("guideline", "question")


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
def save(study: Study, language: str, wording: dict[str, str], by: User) -> None:
    """Store texts named as ``stored`` names them; an empty one takes the text away.

    A changed consent text or task becomes a new version: what somebody saw is never rewritten.
    """
    # Two saves would take the same version of a task.
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    of_study = {field: wording[field] for field in ("title", "description")}
    study.translations = texts.changed(study.translations, language, of_study)
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
    translations = texts.changed(task.translations, language, fields)
    if translations != task.translations:
        TaskDefinition.objects.create(
            study=task.study,
            name=task.name,
            version=task.version + 1,
            kind=task.kind,
            overlap=task.overlap,
            guideline=task.guideline,
            config=task.config,
            translations=translations,
        )
