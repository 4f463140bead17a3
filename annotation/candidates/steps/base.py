"""What a step of generation is: something that a model proposes and people review."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from django.utils.translation import gettext_lazy as _
from pydantic.dataclasses import dataclass as schema

from annotation.candidates.models import Proposal
from annotation.candidates.prompts import Prompt
from annotation.core.errors import DomainError
from annotation.core.schema import LINES_LIMIT, asked, built
from annotation.personas.models import Persona

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

# ask(name, wording's name, schema, values): the value of a call before the last, asked once.
Ask = Callable[[str, Prompt, dict], dict]

NEAR_DUPLICATE = "near-duplicate"
REASONS = {NEAR_DUPLICATE: _("too similar to another"), "other": _("another reason")}


@schema
class Options:
    """What steps are asked for; each takes some of it (OPTIONS)."""

    count: int = asked(_("How many"), 20, ge=1, le=5_000)
    languages: list[str] = asked(_("Languages, one a line"), ["English"], unit="lines")
    language: str = asked(_("Language"), "English", max_length=40)
    hints: list[str] = asked(
        _("Hints, one a line; two are drawn for each persona"), [], unit="lines"
    )
    constraints: str = asked(_("What holds for all of them"), "", unit="text", max_length=2_000)
    texts: list[str] = asked(_("Texts, one a line (or JSON lines with text)"), [], unit="lines")
    examples: list[str] = asked(
        _("Good questions of real people, one a line; one is drawn for each call"),
        [],
        unit="lines",
    )
    per_persona: int = asked(_("Calls a persona"), 1, ge=1, le=200)
    size: int = asked(_("Memories a call"), 6, ge=1, le=30)
    chats: int = asked(_("Conversations a call"), 1, ge=1, le=20)
    least: int = asked(_("Fewest words"), 4, ge=1, le=1_000)
    most: int = asked(_("Most words"), 60, ge=1, le=1_000)


# The options of each step.
OPTIONS = {
    "persona": ("count", "languages", "hints", "constraints"),
    "memory": ("texts", "per_persona"),
    "feature": ("size", "per_persona", "language"),
    "question": ("per_persona", "language", "examples"),
    "general": ("texts", "least", "most"),
    "match": ("per_persona",),
    "attribute": ("chats", "language"),
    "verify": ("language",),
}


def checked(step: str, options: dict) -> dict:
    """``options`` of a step, of their types and within their bounds; DomainError otherwise."""
    if unknown := options.keys() - set(OPTIONS[step]):
        names = ", ".join(OPTIONS[step])
        sentence = f"There is no option “{min(unknown)[:40]}” of {step}. Known: {names}."
        raise DomainError(sentence, code="option")
    model = built(Options, options)
    if sum(map(len, model.texts)) > LINES_LIMIT:
        raise DomainError("The texts are too long: 5 MB at most.", code="option")
    return {name: getattr(model, name) for name in options}


class UnfitError(ValueError):
    """The output fits the schema but makes no sense: the call is tried again."""


@dataclass(frozen=True)
class Result:
    """What a model proposed: its ``text`` is shown and compared; ``flags`` are codes for people."""

    output: dict
    text: str
    flags: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Step:
    """One step. ``plan`` yields inputs, ``write`` asks the model, ``accept`` makes what it is for.

    ``plan(study, options)`` yields ``(persona or None, input)``; ``write(proposal, ask)`` returns a
    Result; ``accept(proposal, by)`` returns the id of what was made, ``undo(proposal, by)`` takes
    it back or raises DomainError; ``calls`` is how many calls a proposal takes.
    ``options`` of ``plan`` also name the ``endpoint``. ``stored(proposal, result)`` runs in the
    transaction that stores a result. What is not ``reviewed`` waits for a curator only where the
    study has answers reviewed: raters judge it anyway.
    """

    name: str
    label: "StrOrPromise"
    plan: Callable[..., Iterator[tuple]]
    write: Callable[[Proposal, Ask], Result]
    accept: Callable[..., str]
    undo: Callable[..., None]
    reasons: dict
    flags: dict = field(default_factory=dict)
    calls: int = 1
    stored: Callable[[Proposal, Result], None] | None = None
    reviewed: bool = True


def persona_of(proposal: Proposal) -> Persona:
    """The persona of a proposal; only of steps that plan none without one."""
    return cast(Persona, proposal.persona)


def text(limit: int = 2_000, least: int = 1) -> dict:
    return {"type": "string", "minLength": least, "maxLength": limit}


def texts(most: int = 12, limit: int = 300) -> dict:
    """A schema of a list of texts."""
    return {"type": "array", "items": text(limit), "maxItems": most}


def record(optional: Collection[str] = (), **properties: Any) -> dict:
    """A schema of an object with exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def numbered(lines: list[str]) -> str:
    """Texts with numbers from 1 on, one a line."""
    return "\n".join(f"{n}. {' '.join(line.split())}" for n, line in enumerate(lines, start=1))
