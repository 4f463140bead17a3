"""What a step of generation is: something that a model proposes and people review."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import Any, cast

from django.db.models import QuerySet
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass as schema

from annotation.accounts.models import User
from annotation.candidates import wording
from annotation.candidates.models import Proposal
from annotation.candidates.strategies import Prompt
from annotation.core import records
from annotation.core.errors import DomainError
from annotation.core.schema import LINES_LIMIT, asked, built
from annotation.core.words import StrOrPromise
from annotation.personas.models import Persona
from annotation.studies.models import Study

# ask(name, prompt, schema): the value of one call, asked for once.
Ask = Callable[[str, Prompt, dict], dict]
Plan = Iterator[tuple[Persona | None, dict]]

NEAR_DUPLICATE = "near-duplicate"
REASONS = {NEAR_DUPLICATE: _("too similar to another"), "other": _("another reason")}


@schema
class Options:
    """What steps are asked for; each takes some of it (``Step.options``)."""

    count: int = asked(_("How many"), 20, ge=1, le=5_000)
    languages: list[str] = asked(_("Languages, one a line"), ["English"], unit="lines")
    language: str = asked(_("Language"), "English", max_length=40)
    hints: list[str] = asked(
        _("Hints, one a line; two are drawn for each persona"), [], unit="lines"
    )
    constraints: str = asked(_("What holds for all of them"), "", unit="text", max_length=2_000)
    texts: list[str] = asked(_("Texts, one a line (or JSON lines with text)"), [], unit="lines")
    per_persona: int = asked(_("Calls a persona"), 1, ge=1, le=200)
    size: int = asked(_("Memories a call"), 6, ge=1, le=30)
    chats: int = asked(_("Conversations a call"), 1, ge=1, le=20)
    asked_on: date | None = asked(_("Asked on"), None, _("The persona is shown as of that day."))
    least: int = asked(_("Fewest words"), 4, ge=1, le=1_000)
    most: int = asked(_("Most words"), 60, ge=1, le=1_000)


def texts_of(lines: Iterable[str]) -> list[str]:
    """Texts, one a line; a line of JSON gives its "text" or "prompt"."""
    texts = []
    for line in lines:
        line = line.strip()
        if line.startswith("{"):
            try:
                value = records.parse(line.encode())
                line = value.get("text") or value.get("prompt") or ""
            except ValueError as error:
                raise DomainError(gettext("A line is no JSON object."), code="texts") from error
            if not isinstance(line, str):
                raise DomainError(gettext("A line has no text."), code="texts")
        if line.strip():
            texts.append(line.strip())
    return texts


def checked(names: Collection[str], options: dict) -> Options:
    """``options`` of a step that takes ``names``, of their types and within their bounds.

    DomainError otherwise.
    """
    if unknown := options.keys() - set(names):
        sentence = f"There is no option “{min(unknown)[:40]}”. Known: {', '.join(names)}."
        raise DomainError(sentence, code="option")
    model = built(Options, options)
    if sum(map(len, model.texts)) > LINES_LIMIT:
        raise DomainError("The texts are too long: 5 MB at most.", code="option")
    return model


def as_json(options: Options, names: Collection[str]) -> dict:
    """Those ``names`` of the options, as a run stores them."""
    return TypeAdapter(Options).dump_python(options, mode="json", include=set(names))


class UnfitError(ValueError):
    """The output fits the schema but makes no sense: the call is tried again."""


@dataclass(frozen=True)
class Result:
    """What a model proposed: its ``text`` is shown and compared; ``flags`` are codes for people."""

    output: dict
    text: str
    flags: list[str] = field(default_factory=list)


class Step:
    """One step of generation; its ``options`` are those of Options that it takes.

    ``calls`` is how many calls a proposal takes. What is not ``reviewed`` waits for a curator only
    where the study has answers reviewed: raters judge it anyway.
    """

    name: str
    label: StrOrPromise
    options: tuple[str, ...]
    reasons: dict = REASONS
    flags: dict = {}
    calls = 1
    reviewed = True

    def plan(self, study: Study, options: Options, endpoint: str) -> Plan:
        """Yield (persona or None, input) of each proposal."""
        raise NotImplementedError

    def write(self, proposal: Proposal, ask: Ask) -> Result:
        """Ask the model."""
        raise NotImplementedError

    def asked(self, study: Study) -> QuerySet[Proposal]:
        """What the step asked for already, unless that failed."""
        earlier = Proposal.objects.filter(study=study, step=self.name)
        return earlier.exclude(status__in=("failed", "cancelled"))

    def said(self, proposal: Proposal, ask: Ask, schema: dict, **values: str) -> dict:
        """What the model says to the step's prompt with ``values`` in its places."""
        return ask(self.name, wording.of(proposal.study, self.name).prompt(**values), schema)

    def store(self, proposal: Proposal, result: Result) -> None:
        """Store more of a result, in its transaction."""

    def accept(self, proposal: Proposal, by: User) -> str:
        """Make what the step is for; the id of what was made."""
        return ""

    def undo(self, proposal: Proposal, by: User) -> None:
        """Take back what was made. DomainError where it is in use."""


def persona_of(proposal: Proposal) -> Persona:
    """The persona of a proposal; only of steps that plan none without one."""
    return cast(Persona, proposal.persona)


def text(limit: int = 2_000, least: int = 1) -> dict:
    return {"type": "string", "minLength": least, "maxLength": limit}


def texts(most: int = 12, limit: int = 300) -> dict:
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
