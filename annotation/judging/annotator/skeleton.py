"""The judging fragment of plain items, whose template is rendered once for many of them.

Items of one task differ in their texts, ids and numbers; all else of the fragment (labels,
settings, the person's card) is the same. The template is rendered with placeholders in place of
what differs, without the request, and the result is kept as a skeleton. Each page fills it.
"""

import functools
import re
import uuid
from dataclasses import replace
from typing import Any

from django.http import HttpRequest
from django.middleware.csrf import get_token
from django.template.loader import render_to_string
from django.utils.formats import localize
from django.utils.html import conditional_escape
from django.utils.translation import get_language

from annotation.core import text
from annotation.judging.work import present
from annotation.judging.work.present import Shown
from annotation.studies.models import Study

TEMPLATE = "judging/judge.html#judge"
# Placeholders are ids, because some stand in addresses. No text from outside can hold one: they
# are derived from an id made by chance in each process.
_ORIGIN = uuid.uuid4()
_TEXTS = ("query", "need", "attribute", "gold")


class _Shape:
    """What the fragments of several items have in common; equal where their skeletons are."""

    def __init__(self, study: Study, shown: Shown, changeable: bool) -> None:
        self.study, self.shown, self.changeable = study, shown, changeable
        held = tuple(bool(getattr(shown, name)) for name in _TEXTS)
        task = (shown.task_id, repr(shown.config), repr(shown.translations), shown.toured)
        where = (get_language(), study.slug)
        self.key = (*where, *task, shown.person, len(shown.answers), held, changeable)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Shape) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def plain(shown: Shown) -> bool:
    """Whether an item has only parts that a placeholder can stand for, and nothing typed."""
    special = (shown.judged, shown.owner_id, shown.guide, shown.evidence, shown.claims)
    typed = shown.draft or shown.config["proposal"] != "off"
    return not any((*special, typed, shown.rows, shown.extra))


def fragment(request: HttpRequest, study: Study, shown: Shown, last: object) -> str:
    """The fragment for a ``plain`` item; ``last`` is the slot that may be changed, or None."""
    values: dict[str, Any] = {name: getattr(shown, name) for name in _TEXTS}
    values |= {"token": get_token(request), "slot": shown.slot, "last": last}
    values |= {"done": localize(shown.done), "total": localize(shown.in_all)}
    for place, (key, words) in enumerate(shown.answers, start=1):
        values |= {f"id{place}": key, f"text{place}": words}
    pieces = []
    for literal, name, markdown in _skeleton(_Shape(study, shown, bool(last))):
        value = values.get(name, "")
        words = text.render(value, shown.language) if markdown else conditional_escape(value)
        pieces += [literal, words]
    return "".join(pieces)


@functools.lru_cache(maxsize=500)
def _skeleton(shape: _Shape) -> list[tuple[str, str, bool]]:
    """(text, what follows it, whether that is Markdown); nothing ("") follows the last text."""
    shown, places = shape.shown, range(1, len(shape.shown.answers) + 1)
    # Text stands for keys and numbers too: the template writes either as it is.
    named = ["slot", "done", *(name for name in _TEXTS if getattr(shown, name))]
    fields: dict[str, Any] = {name: _placeholder(name) for name in named}
    answers = [(_placeholder(f"id{n}"), _placeholder(f"text{n}")) for n in places]
    fields |= {"in_all": _placeholder("total"), "answers": answers, "order": tuple(places)}
    blank = replace(shown, **fields)
    typed = present.fields({})
    context = {"study": shape.study, "shown": blank, "typed": typed, "refusal": None}
    context |= {"csrf_token": _placeholder("token")}
    context |= {"last": _placeholder("last") if shape.changeable else None}
    html = render_to_string(TEMPLATE, context | present.form(blank, typed))
    names = ["token", "slot", "last", "done", "total", *_TEXTS]
    names += [f"{part}{n}" for part in ("id", "text") for n in places]
    return _split(html, {_placeholder(name): name for name in names})


def _split(html: str, names: dict[str, str]) -> list[tuple[str, str, bool]]:
    # Rendered as Markdown, a placeholder is a paragraph of its own.
    pieces = re.split(f"(<p[^>]*>)?({'|'.join(names)})(?(1)</p>\n)", html)
    starts = range(0, len(pieces) - 1, 3)
    parts = [(pieces[n], names[pieces[n + 2]], bool(pieces[n + 1])) for n in starts]
    return [*parts, (pieces[-1], "", False)]


def _placeholder(name: str) -> str:
    return str(uuid.uuid5(_ORIGIN, name))
