"""Template tags that every template has (settings.TEMPLATES builtins)."""

import functools
import json
from typing import Any

from django import template
from django.conf import settings
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from annotation.core import acts, text
from annotation.core.languages import endonym
from annotation.core.words import titled

register = template.Library()
# Messages of a conversation that are shown before it is unfolded, and their characters.
UNFOLDED, UNFOLDED_LENGTH = 4, 4_000
ROLES = {
    "user": gettext_lazy("User"),
    "assistant": gettext_lazy("Assistant"),
    "system": gettext_lazy("Instruction to the assistant"),
}


@register.simple_tag
def attune_version() -> str:
    """The installed version, as `settings.VERSION` and CHANGELOG.md state it."""
    return settings.VERSION


register.filter(endonym)
register.filter(titled)
register.filter("act", acts.words_of)


@register.simple_tag
def icon(name: str) -> SafeString:
    """A drawing of the vendored sprite, of the text's size and colour, silent to readers."""
    drawing = '<svg class="icon" aria-hidden="true"><use href="{}#{}"/></svg>'
    return format_html(drawing, static("vendor/lucide/icons.svg"), name)


@register.simple_block_tag
def table(content: SafeString, title: str, *heads: str) -> SafeString:
    """Rows as a table with ``heads`` in a region called ``title``; an empty head has no name.

    Heads that depend on something are a first row of ``<th scope="col">``. A head stands over
    numbers where the first row's cell does. On a phone the cells of a row flow behind their
    columns' names (`stacked`).
    """
    heads, content = (heads, content) if heads else text.split_heads(content)
    columns = zip(heads, text.numeric_columns(content, len(heads)), strict=True)
    parts = {"title": title, "heads": columns, "rows": text.label_cells(content, heads)}
    return render_to_string("core/_table.html", parts)


@register.simple_tag
def sends_mail() -> bool:
    """Whether a mail server is set; without one no page may claim that a mail was sent."""
    return bool(settings.EMAIL_URL)


@register.filter
def markdown(value: str | None, language: str | None = "") -> str:
    """Render foreign text through the one renderer; ``language`` is what is stored with it."""
    return text.render(str(value or ""), language or "")


@register.inclusion_tag("core/_turns.html")
def turns(messages: list[dict], language: str = "", *, judged: object = None) -> dict:
    """A conversation, its last messages unfolded: at most four, and not more than a page's text.

    The last one is marked where answers to it are ``judged``.
    """
    shown, size = 0, 0
    if judged and messages:
        messages = [*messages[:-1], messages[-1] | {"judged": True}]
    for message in reversed(messages):
        size += len(message["content"])
        if shown and (shown == UNFOLDED or size > UNFOLDED_LENGTH):
            break
        shown += 1
    first = len(messages) - shown
    return {"folded": messages[:first], "open": messages[first:], "language": language}


@register.filter
def speaker(role: str) -> str:
    """The name of a message's role."""
    return str(ROLES.get(role, role))


@register.filter
def foreign(value: str | None, language: str | None = "") -> str:
    """Foreign text on one line, escaped, with its `lang` where the page has another."""
    return text.plain(str(value or ""), language or "")


@register.filter
def as_stored(value: str) -> str:
    """A text to the character, escaped."""
    return text.as_stored(value)


@register.filter
def passages(message: dict) -> str:
    """A message's text through the one renderer, its ``spans`` ([start, end]) highlighted."""
    words, end, pieces = str(message.get("text") or ""), 0, []
    for span in message.get("spans") or ():
        pieces += [(words[end : span[0]], ""), (words[span[0] : span[1]], _("Evidence"))]
        end = span[1]
    return text.render_marked([*pieces, (words[end:], "")])


@register.filter
def at(values: list, place: int) -> object:
    """The value at a place of a list, from 0."""
    return values[place]


@register.filter
def label(key: object) -> str:
    """A profile's key as words: ``Food_Drinks`` becomes ``Food drinks``."""
    words = str(key).replace("_", " ").strip()
    return words[:1].upper() + words[1:].lower() if not words.isupper() else words


@register.filter
def profile(value: Any) -> str:
    """A persona's profile, or any JSON in it, as nested definition lists; everything escaped."""
    if isinstance(value, dict):
        rows = (
            (label(key), profile(inner)) for key, inner in value.items() if inner not in ("", None)
        )
        return format_html("<dl>{}</dl>", format_html_join("", "<dt>{}</dt><dd>{}</dd>", rows))
    if isinstance(value, list):
        entries = ((profile(inner),) for inner in value)
        return format_html("<ul>{}</ul>", format_html_join("", "<li>{}</li>", entries))
    return text.plain(value) if isinstance(value, str) else json.dumps(value)


@register.simple_tag
def piece(name: str, **values: Any) -> SafeString:
    """A part of a page whose template sees ``values`` and the language, and nothing else.

    Rendered once in a process for the same values, which must be hashable: for parts that are the
    same on thousands of pages. The type counts as well, so that safe and foreign text never meet.
    """
    typed = tuple((key, type(value), value) for key, value in values.items())
    return _rendered(name, get_language(), typed)


@functools.lru_cache(maxsize=2_000)
def _rendered(name: str, language: str | None, typed: tuple) -> SafeString:
    return render_to_string(name, {key: value for key, _type, value in typed})
