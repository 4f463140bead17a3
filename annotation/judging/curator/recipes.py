"""Recipes: what a new study of a kind begins with, as data in ``judging/recipes``.

``NAME.json`` has a title and a description in each language, the tasks, the study's strategies and
sources of answers, and its checks; ``texts/NAME.LANGUAGE.md`` are the guidelines and consent texts
that it names. Papers bring folders of the same form; what such a folder lacks in a language stands
in English, and what texts it lacks are those of ``judging/recipes``.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.db import transaction

from annotation.accounts import consent
from annotation.accounts.models import User
from annotation.candidates.models import Retrieval
from annotation.judging.kinds import kind_of
from annotation.judging.models import Checks
from annotation.studies import members
from annotation.studies.models import Study, TaskDefinition

FOLDER = Path(__file__).parents[1] / "recipes"
# Further folders: those of papers.
SOURCES: list[Callable[[], Iterable[Path]]] = []
LANGUAGES = ("en", "zh", "ko", "es")


@dataclass(frozen=True)
class StudyRecipe:
    """``title`` and ``description`` are {language: text}; so is ``consent`` ({} asks for none).

    ``live`` is how people talk with systems (``Study.live``), {} where they do not.
    """

    name: str
    title: dict
    description: dict
    consent: dict
    tasks: list[dict]
    strategies: list[str]
    sources: list[str]
    checks: dict
    live: dict


@cache
def recipes() -> dict[str, StudyRecipe]:
    """Every recipe by its name, in the order in which they are offered."""
    folders = [FOLDER, *(folder for source in SOURCES for folder in source())]
    paths = (path for folder in folders for path in sorted(folder.glob("*.json")))
    read = ((path, json.loads(path.read_text("utf-8"))) for path in paths)
    ordered = sorted(read, key=lambda entry: entry[1]["order"])
    return {path.stem: _recipe(path, data) for path, data in ordered}


def _recipe(path: Path, data: dict) -> StudyRecipe:
    fields = {key: data[key] for key in ("strategies", "sources", "checks")}
    fields |= {key: _in_each(data[key]) for key in ("title", "description")}
    fields["live"] = data.get("live", {})
    tasks = [_task(path.parent, task) for task in data["tasks"]]
    consent = _texts(path.parent, f"consent-{data['consent']}")
    return StudyRecipe(path.stem, tasks=tasks, consent=consent, **fields)


def _task(folder: Path, task: dict) -> dict:
    question = {"question": _in_each(task["question"])} if "question" in task else {}
    return task | {"guideline": _texts(folder, task["guideline"])} | question


def _texts(folder: Path, name: str) -> dict[str, str]:
    """The texts ``name`` by language, of the folder or else of ours; {} where there are none."""
    for inside in (folder / "texts", FOLDER / "texts"):
        paths = {language: inside / f"{name}.{language}.md" for language in LANGUAGES}
        texts = {code: path.read_text("utf-8") for code, path in paths.items() if path.exists()}
        if texts:
            return _in_each({code: text.strip() for code, text in texts.items()})
    return {}


def _in_each(texts: dict[str, str]) -> dict[str, str]:
    return {language: texts.get(language, texts["en"]) for language in LANGUAGES}


@transaction.atomic
def start_study(recipe: StudyRecipe, fields: dict, consent_body: str, by: User) -> Study:
    """Create a study from ``fields`` of the model with all that ``recipe`` brings.

    Guidelines come in each of the study's languages that the recipe has. A consent text that was
    changed from the recipe's is stored as it is; an unchanged one brings its translations.
    """
    languages = fields["languages"]
    bodies = recipe.consent if consent_body in recipe.consent.values() else {}
    translations = {code: text for code, text in bodies.items() if code in languages}
    text = consent.publish(fields["slug"], consent_body, translations) if consent_body else None
    study = members.create_study(fields | {"consent_text": text, "live": recipe.live}, by)
    for task in recipe.tasks:
        _add_task(study, task, languages)
    if recipe.checks:
        Checks.objects.create(study=study, **recipe.checks)
    if recipe.strategies:
        Retrieval.objects.create(study=study, strategies=recipe.strategies, sources=recipe.sources)
    return study


def _add_task(study: Study, task: dict, languages: list[str]) -> None:
    """The task in the first of the study's languages that it has, and in the others."""
    base = next((code for code in languages if code in LANGUAGES), "en")
    question = task.get("question", {})
    translations = {
        code: {"guideline": task["guideline"][code]}
        | ({"question": question[code]} if question else {})
        for code in languages
        if code in LANGUAGES and code != base
    }
    config = task["config"] | ({"question": question[base]} if question else {})
    TaskDefinition.objects.create(
        study=study,
        name=task["name"],
        kind=task["kind"],
        overlap=task["overlap"],
        guideline=task["guideline"][base],
        translations=translations,
        config=kind_of(task["kind"]).check_config(config),
    )
