"""Settings of every kind of task."""

from typing import Any

from django.utils.translation import gettext_lazy

from annotation.core.errors import DomainError
from annotation.judging.kinds.slots import Data

QUESTION_LIMIT = 300
CHIPS_LIMIT, CHIP_LIMIT = 20, 60
HIDDEN_LIMIT, PATH_LIMIT = 50, 200
TAGS = {
    "uncomfortable": gettext_lazy("Uncomfortable to read"),
    "over-personalised": gettext_lazy("Over-personalised"),
    "wrong-fact": gettext_lazy("Wrong fact about the person"),
    "ignores-need": gettext_lazy("Ignores the need"),
    "unsafe": gettext_lazy("Unsafe"),
    "broken-text": gettext_lazy("Broken text"),
}
# Settings that every kind has, with their defaults.
CONFIG = {
    "question": "",
    "reason": "off",
    "chips": [],
    "tags": True,
    "marks": False,
    "owner_only": False,
    # Fields of the persona that are not shown, as paths: "Name", "Preference.Travel".
    "hidden": [],
}


def check_config(kind: str, config: dict, defaults: dict) -> dict:
    """Return ``config`` with ``defaults`` and those of CONFIG; DomainError for a wrong setting."""
    defaults = CONFIG | defaults
    for key in config.keys() - defaults.keys():
        raise DomainError(f"A {kind} task has no setting “{key}”.", code="config")
    full = defaults | config
    if full["reason"] not in ("off", "optional", "required"):
        raise DomainError("reason must be off, optional or required.", code="config")
    for key, default in defaults.items():
        if isinstance(default, bool) and not isinstance(full[key], bool):
            raise DomainError(f"{key} must be true or false.", code="config")
    check_texts("chips", full["chips"], CHIPS_LIMIT, CHIP_LIMIT)
    check_texts("hidden", full["hidden"], HIDDEN_LIMIT, PATH_LIMIT)
    if not isinstance(full["question"], str) or len(full["question"]) > QUESTION_LIMIT:
        raise DomainError(
            f"question must be a text of up to {QUESTION_LIMIT} characters.", code="config"
        )
    return full


def check_texts(name: str, value: Any, most: int, limit: int) -> None:
    """Refuse what is no list of up to ``most`` different texts of up to ``limit`` characters."""
    fits = isinstance(value, list) and all(
        isinstance(text, str) and text.strip() and len(text) <= limit and text.isprintable()
        for text in value
    )
    if not fits or len(value) > most or len(set(value)) < len(value):
        raise DomainError(
            f"{name} must be a list of up to {most} different texts of up to {limit} characters.",
            code="config",
        )


def check_whole(name: str, value: Any, low: int, high: int) -> None:
    """Refuse a setting that is no whole number from ``low`` to ``high``."""
    if type(value) is not int or not low <= value <= high:
        raise DomainError(f"{name} must be a number from {low} to {high}.", code="config")


def values_of(data: Data, name: str) -> list:
    """The values of a field that may have many, of a form or an API body."""
    return data.getlist(name) if hasattr(data, "getlist") else data.get(name) or []
