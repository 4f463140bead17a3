"""A study's texts in the reader's language."""

from collections.abc import Callable
from typing import Any

from django.utils.translation import get_language


def localized(thing: Any, field: str, language: str | None = None) -> str:
    """``field`` of a study, task or consent text in ``language`` (None: the page's own).

    ``thing.translations`` is {language: {field: text}}, for a consent text {language: text}. The
    same language in another script or country stands in for one that is missing; without either
    the study's own text is returned.
    """
    wanted = (language or get_language() or "").lower()
    for matches in (wanted.__eq__, _of_the_language(wanted)):
        for code, translation in thing.translations.items():
            text = translation if isinstance(translation, str) else translation.get(field)
            if text and matches(code.lower()):
                return text
    return _original(thing, field)


def _of_the_language(wanted: str) -> Callable[[str], bool]:
    primary = wanted.partition("-")[0]
    return lambda code: code.partition("-")[0] == primary


def _original(thing: Any, field: str) -> str:
    if hasattr(thing, field):
        return getattr(thing, field)
    # What a kind of task asks is among its settings.
    return thing.config.get(field, "")


def changed(translations: dict, language: str, texts: dict[str, str]) -> dict:
    """A copy of ``translations`` with ``texts`` of one language; an empty text is left out."""
    filled = {**translations.get(language, {}), **texts}
    filled = {field: text for field, text in filled.items() if text}
    rest = {code: others for code, others in translations.items() if code != language}
    return {**rest, language: filled} if filled else rest
