"""What a history file gives: conversations, searches, visits, and what had to be left out."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext_lazy as _
from pydantic import TypeAdapter

from annotation.core.errors import DomainError
from annotation.core.words import StrOrPromise

# Every refusal of a whole file, and its sentence. None of them quotes the file.
REFUSALS = {
    "unsupported_format": _(
        "This is not an export that can be read here. Upload the archive as you received it, or "
        "its JSON, HTML or CSV file."
    ),
    "invalid_json": _("The file is not valid JSON: it is damaged or was changed by hand."),
    "truncated_json": _(
        "The file ends in the middle: it was not downloaded completely. Download it again."
    ),
    "encoding": _("The characters of this file cannot be read. Save it as UTF-8."),
    "empty_file": _("The file is empty."),
    "empty_history": _("The file was read, but it holds no conversation and no search."),
    "too_large": _("The file, or one entry in it, is larger than what can be read here."),
    "too_deep": _("The file is nested more deeply than any export is."),
    "zip_bomb": _(
        "The archive unpacks to far more than an export holds, so it was not read. Upload only "
        "the part with your conversations or searches."
    ),
    "unsafe_path": _("A name in the archive points outside the archive, so nothing was read."),
    "unsafe_member": _(
        "The archive holds something that is not an ordinary file, so nothing was read."
    ),
    "symlink": _("The archive holds a link to another file, so nothing was read."),
    "nested_archive": _(
        "The archive holds only further archives. Unpack it and upload the one with your history."
    ),
    "encrypted_archive": _("The archive is locked with a password. Upload it without one."),
    "duplicate_member": _("The archive holds two files of the same name, so nothing was read."),
    "corrupt_archive": _("The archive is damaged or incomplete. Download it again."),
}

# Why one entry was left out, while the rest was read; refusals' codes serve here as well.
OMISSIONS = {
    "empty": _("has no message with text or a file"),
    "junk": _("lacks what a conversation or search needs"),
    "too_large": _("is larger than one conversation can be"),
    "too_deep": _("is nested more deeply than any export is"),
    "invalid_json": _("is not valid JSON"),
    "truncated_json": _("ends in the middle"),
    "encoding": _("holds characters that cannot be read; they were replaced"),
    "fallback_encoding": _("is not UTF-8; it was read as Western European text (cp1252)"),
    "nested_archive": _("is an archive inside the archive; it was not opened"),
    "unknown_content": _("holds a kind of content that is not known; it was left out"),
}


# What people call where a history comes from.
NAMES: dict[str, StrOrPromise] = {
    "aistudio": "AI Studio",
    "chatgpt": "ChatGPT",
    "chrome": "Chrome",
    "claude": "Claude",
    "copilot": "Copilot",
    "deepseek": "DeepSeek",
    "gemini": "Gemini",
    "google_search": _("Google Search"),
    "google_takeout": "Google Takeout",
    "grok": "Grok",
    "lechat": "Le Chat",
    "lmsys": "LMSYS-Chat-1M",
    "mixed": _("several services"),
    "openai_messages": _("OpenAI messages"),
    "queries": _("a table of searches"),
    "release": _("a release"),
    "sharegpt": "ShareGPT",
    "wildchat": "WildChat",
    "youtube": "YouTube",
}


@dataclass(frozen=True, slots=True)
class Message:
    """One visible turn: ``role`` is user or assistant, ``at`` in UTC, ``attachments`` names."""

    role: str
    text: str
    at: datetime | None = None
    id: str = ""
    attachments: tuple[str, ...] = ()
    model: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation with at least one message, in reading order, on the path last seen.

    ``id`` is the provider's, or where it has none a digest of what identifies it. ``flags`` says
    what was inferred: ``grouped_by_time`` (the provider names no conversations), ``prefix_kept``
    (a verb of the interface may stand before a prompt). ``account`` is the one it was held in,
    where the provider names it.
    """

    provider: str
    id: str
    title: str
    messages: tuple[Message, ...]
    created_at: datetime | None = None
    updated_at: datetime | None = None
    time_zone_assumed: bool = False
    flags: tuple[str, ...] = ()
    account: str = ""


@dataclass(frozen=True, slots=True)
class Search:
    """One query that the person typed."""

    provider: str
    text: str
    at: datetime | None = None
    time_zone_assumed: bool = False


@dataclass(frozen=True, slots=True)
class Visit:
    """One page or video that the person opened; ``text`` is its title or else its address."""

    provider: str
    text: str
    at: datetime | None = None
    time_zone_assumed: bool = False


@dataclass(frozen=True, slots=True)
class Skipped:
    """One entry that was left out, or a warning about it; ``reason`` is "code: words"."""

    where: str
    reason: str

    @property
    def code(self) -> str:
        """A key of OMISSIONS."""
        return self.reason.partition(":")[0]


Record = Conversation | Search | Visit | Skipped


_KINDS: dict[str, Any] = {
    kind.__name__: TypeAdapter(kind) for kind in (Conversation, Search, Visit, Skipped)
}


def packed(record: Record) -> list:
    """A record as JSON: the name of its kind, and its fields."""
    name = type(record).__name__
    return [name, _KINDS[name].dump_python(record, mode="json")]


def unpacked(values: list) -> Record:
    """The record of which ``packed`` made these values."""
    name, fields = values
    return _KINDS[name].validate_python(fields)


class Refused(DomainError):  # noqa: N818 - as its elders in core.errors
    """The whole file cannot be read: ``code`` is a key of REFUSALS and gives the sentence."""

    def __init__(self, code: str, sentence: str = "") -> None:
        super().__init__(sentence or str(REFUSALS[code]), code=code)


def skipped(where: str, code: str) -> Skipped:
    """A Skipped whose words are those of OMISSIONS."""
    return Skipped(where, f"{code}: {OMISSIONS[code]}")
