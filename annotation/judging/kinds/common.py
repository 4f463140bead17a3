"""Settings of every kind of task, and the parts of every answer: reason, chips, tags, marks."""

import json
import math
import re

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.core.errors import DomainError

REASON_LIMIT = 5_000
QUESTION_LIMIT = 300
MARKS_LIMIT = 50
# PostgreSQL's text and JSON hold neither.
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
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


def check_texts(name: str, value, most: int, limit: int) -> None:
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


def check_whole(name: str, value, low: int, high: int) -> None:
    """Refuse a setting that is no whole number from ``low`` to ``high``."""
    if type(value) is not int or not low <= value <= high:
        raise DomainError(f"{name} must be a number from {low} to {high}.", code="config")


def read(data, config: dict, options: list) -> dict:
    """Reason, flags, chips and marks of a form or an API body, checked.

    Raises DomainError with a sentence for the annotator.
    """
    return {
        "reason": text_of(data, "reason", config["reason"]),
        "flags": subset(values_of(data, "flags"), TAGS, "flags"),
        "chips": subset(values_of(data, "chips"), config["chips"], "chips"),
        "marks": _marks(data.get("marks"), config, options),
    }


def values_of(data, name: str) -> list:
    """The values of a field that may have many, of a form or an API body."""
    return data.getlist(name) if hasattr(data, "getlist") else data.get(name) or []


def text_of(data, name: str, rule: str, least: int = 0) -> str:
    """The text of a field; DomainError where ``rule`` is "required" and it is missing or short."""
    value = data.get(name)
    if value is not None and not isinstance(value, str):
        raise DomainError(_("The reason must be text."), code="reason")
    text = (value or "").strip()
    if UNSTORABLE.search(text):
        raise DomainError(_("The reason holds a character that cannot be stored."), code="reason")
    if rule == "required" and not text:
        raise DomainError(_("Say in a few words why you chose this answer."), code="reason")
    if len(text) < least and rule == "required":
        raise DomainError(
            _("Please write at least %(n)d characters of feedback.") % {"n": least}, code="reason"
        )
    if len(text) > REASON_LIMIT:
        raise DomainError(
            _("The reason may have %(n)d characters.") % {"n": REASON_LIMIT}, code="reason"
        )
    return "" if rule == "off" else text


def choice_of(data, name: str, allowed, sentence: str) -> str:
    """The value of a field that must be one of ``allowed``; DomainError has ``sentence``."""
    value = data.get(name)
    if not isinstance(value, str) or value not in allowed:
        raise DomainError(sentence, code=name)
    return value


def whole_of(value, low: int, high: int, sentence: str, code: str) -> int:
    """A whole number from ``low`` to ``high``, of a form's text or a JSON number."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 4:
        value = int(value)
    if type(value) is not int or not low <= value <= high:
        raise DomainError(sentence, code=code)
    return value


def circumstances(data) -> dict:
    """How it was judged, as the page reports it; what is no such record is left out."""
    raw = data.get("circumstances")
    try:
        reported = json.loads(raw) if isinstance(raw, str) and len(raw) < 2_000 else {}
    except (ValueError, RecursionError):
        reported = {}
    if not isinstance(reported, dict):
        return {}
    readers = {
        "idle": _seconds,
        "panes": lambda value: [_seconds(seconds) for seconds in value[:9]],
        "diff": bool,
        "raw": bool,
        "traits": bool,
        "device": lambda value: value if value in ("phone", "desktop") else "",
    }
    try:
        return {name: read(reported[name]) for name, read in readers.items() if name in reported}
    except (TypeError, ValueError, OverflowError):
        return {}


def flagged(data, shown: list[int]) -> dict:
    """{"flagged": canonical numbers} of the answers that the tags are about, by place (from 1)."""
    places = [value for value in values_of(data, "flagged") if isinstance(value, str)]
    numbers = [number for place, number in enumerate(shown, start=1) if str(place) in places]
    return {"flagged": sorted(numbers)} if numbers else {}


def _seconds(value) -> float:
    seconds = round(float(value), 1)
    if not math.isfinite(seconds) or not 0 <= seconds <= 604_800:
        raise ValueError
    return seconds


def subset(values, allowed, name: str) -> list[str]:
    """The values in order, each once; DomainError for one that is not ``allowed``."""
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise DomainError(f"{name} must be a list of names.".capitalize(), code=name)
    for value in sorted(set(values) - set(allowed)):
        raise DomainError(
            f"There is no “{value[:40]}” among the {name}. Known: {', '.join(sorted(allowed))}.",
            code=name,
        )
    return sorted(set(values))


def _marks(value, config: dict, options: list) -> list[dict]:
    """Marked passages, as JSON text (form) or a list (API)."""
    if isinstance(value, str) and value:
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise DomainError(_("The marked passages cannot be read."), code="marks") from None
    if not value:
        return []
    by_id = {option.candidate: option.number for option in options}
    if not config["marks"] or not isinstance(value, list) or len(value) > MARKS_LIMIT:
        raise DomainError(_("The marked passages cannot be read."), code="marks")
    return [_mark(mark, by_id) for mark in value]


def _mark(mark, by_id: dict) -> dict:
    wrong = DomainError(_("The marked passages cannot be read."), code="marks")
    if not isinstance(mark, dict):
        raise wrong
    start, end, text = mark.get("start"), mark.get("end"), mark.get("text")
    comment = mark.get("comment", "")
    fits = (
        isinstance(mark.get("option"), str | int)
        and mark["option"] in by_id
        and type(start) is int
        and type(end) is int
        and 0 <= start < end <= 1_000_000
        and mark.get("sign") in ("+", "-")
        and all(isinstance(part, str) and not UNSTORABLE.search(part) for part in (text, comment))
        and len(text) <= 2_000
        and len(comment) <= 1_000
    )
    if not fits:
        raise wrong
    return {
        "option": by_id[mark["option"]],
        "start": start,
        "end": end,
        "text": text,
        "sign": mark["sign"],
        "comment": comment.strip(),
    }
