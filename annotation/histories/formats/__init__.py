"""Exports of chat and search services, from bytes to records: `Reading` is the way in.

A format is two pure functions and one line of FORMATS. Files are recognised by their first bytes,
then by their keys, never by name.
"""

import codecs
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from django.utils.translation import gettext as _

from annotation.core.foreign import Limits
from annotation.histories.archives import Member, Stream, Upload, is_archive
from annotation.histories.formats import chats, google
from annotation.histories.formats.build import Entry, Layout, each
from annotation.histories.formats.streams import Document, Table, Text
from annotation.histories.records import (
    OMISSIONS,
    REFUSALS,
    Conversation,
    Record,
    Refused,
    Search,
    Skipped,
    Visit,
    packed,
    skipped,
)


@dataclass(frozen=True)
class Format:
    """How one format is known and read.

    ``detect`` takes what is sampled of a file (``json``: an entry, ``csv``: the header, ``html``:
    the beginning) and returns the provider's name or ""; ``read`` takes the entries, the table or
    the text. A ``general`` format is anybody's: it is not sought in the export of a service, where
    such files are attachments.
    """

    kind: str
    detect: Callable[..., str]
    read: Callable[..., Iterator[Record]]
    general: bool = False


def _chats(layout: Layout, fits: Callable[[dict], bool], general: bool = False) -> Format:
    """The format of entries that are a conversation each."""

    def detect(entry: dict) -> str:
        return layout.provider if fits(entry) else ""

    return Format("json", detect, each(fits)(layout.read), general)


# The first that knows a sample reads the file.
FORMATS = (
    _chats(chats.DEEPSEEK, chats.is_deepseek),
    replace(_chats(chats.CHATGPT, chats.is_chatgpt), read=chats.read_chatgpt),
    _chats(chats.CLAUDE, chats.is_claude),
    _chats(chats.GROK, chats.is_grok),
    Format("json", chats.detect_lechat, chats.read_lechat),
    Format("json", google.detect_chrome, google.read_chrome),
    Format("json", google.detect_activity, google.read_activity),
    Format("html", chats.detect_chatgpt_page, chats.read_chatgpt_page),
    Format("html", google.detect_activity_page, google.read_activity_page),
    Format("csv", chats.detect_copilot, chats.read_copilot),
    _chats(google.AISTUDIO, google.is_aistudio, general=True),
    *(_chats(layout, fits, general=True) for layout, fits in chats.CORPORA),
    _chats(chats.MESSAGES, chats.is_messages, general=True),
    Format("csv", chats.detect_queries, chats.read_queries, general=True),
)
# What may stand beside each other in one Takeout archive.
TAKEOUT = frozenset(("gemini", "youtube", "google_search", "chrome"))
# What a member of an archive may be, if there is a history beside it: it is a file of the person's.
_FORGIVEN = {
    *("nested_archive", "invalid_json", "truncated_json", "too_large", "too_deep", "encoding"),
    *("empty_file", "empty_history"),
}
_HISTORY = (Conversation, Search, Visit)
_HEAD = 1 << 16
_SAMPLED = 100  # entries that may be junk before one is known
_PAGE = 1 << 20  # characters of a page, which begins with its style
_BLANK = " \t\r\n\ufeff"


@dataclass(frozen=True)
class _Hit:
    member: Member
    format: Format
    provider: str


class Reading:
    """One export as a provider gave it: ``source`` names it, iterating gives its records, once.

    `file` is binary and seekable: an archive, JSON, HTML or CSV; `progress` is called with the
    number of bytes read. Refused, at once or while iterating, where it cannot be read: then nothing
    of it may be kept. A conversation may come twice (in two shards), and so may a search: whoever
    stores them keeps the one updated last. ``source`` is "google_takeout" for several services of
    Google, "mixed" for several others.
    """

    def __init__(self, file: BinaryIO, progress: Callable[[int], None] | None = None) -> None:
        upload = Upload(file, progress)
        self._forgiving = upload.is_archive
        self._faults: list[Skipped] = []
        self._is_empty = False
        hits = [hit for member in upload.members() if (hit := self._recognise(member))]
        self._hits = _chosen(hits)
        if not self._hits:
            otherwise = "empty_history" if self._is_empty else "unsupported_format"
            raise Refused(self._main_fault(otherwise))
        providers = {hit.provider for hit in self._hits}
        several = "google_takeout" if providers <= TAKEOUT else "mixed"
        self.source = several if len(providers) > 1 else providers.pop()

    def __iter__(self) -> Iterator[Record]:
        """All records; Refused as soon as the file turns out unreadable, or empty at its end."""
        held = False
        accounts: set[tuple[str, str]] = set()
        yield from list(self._faults)
        for hit in self._hits:
            for record in _records(hit):
                if isinstance(record, Skipped):
                    where = ": ".join(filter(None, (hit.member.name, record.where)))
                    record = replace(record, where=where)
                    self._note(record)
                elif isinstance(record, Conversation):
                    _check_account(record, accounts)
                held |= isinstance(record, _HISTORY)
                yield record
        if not held:
            raise Refused(self._main_fault("empty_history"))

    def _recognise(self, member: Member) -> _Hit | None:
        try:
            return _sniffed(member)
        except Refused as refused:
            if not self._forgiving or refused.code not in _FORGIVEN:
                raise
            self._is_empty |= refused.code == "empty_history"
            # Pictures and other files without text are left out without a notice.
            if refused.code in OMISSIONS and refused.code != "encoding":
                self._note(skipped(member.name, refused.code))
            return None

    def _note(self, fault: Skipped) -> None:
        if len(self._faults) < _SAMPLED:
            self._faults.append(fault)

    def _main_fault(self, otherwise: str) -> str:
        """Why nothing was found: what is wrong with what was looked at, if anything is."""
        codes = (fault.code for fault in self._faults)
        return next((c for c in codes if c in REFUSALS and c != "encoding"), otherwise)


def _check_account(chat: Conversation, accounts: set[tuple[str, str]]) -> None:
    """Refused where a provider's chats are of several people: the others gave no consent."""
    if chat.account:
        accounts.add((chat.provider, chat.account))
    if len(accounts) > len({provider for provider, _account in accounts}):
        sentence = _("The file holds chats of more than one account. Send only your own.")
        raise Refused("unsupported_format", sentence)


def _chosen(hits: list[_Hit]) -> list[_Hit]:
    """Without what only repeats or is attached to the export of a service."""
    if any(not hit.format.general for hit in hits):
        hits = [hit for hit in hits if not hit.format.general]
    kinds = {hit.format.kind for hit in hits if hit.provider == "chatgpt"}
    # chat.html holds the same as the JSON beside it.
    return [h for h in hits if (h.provider, h.format.kind) != ("chatgpt", "html") or len(kinds) < 2]


def _sniffed(member: Member) -> _Hit | None:
    """The format of a file, or None; opens it once, since an archive may have to start over."""
    stream = member.open()
    head = stream.head(_HEAD)
    if is_archive(head):
        raise Refused("nested_archive")
    mark = _first_mark(head)
    if not mark:
        raise Refused("empty_file")
    kind = "json" if mark in "[{" else "html" if mark == "<" else "csv"
    for sample in _samples(kind, stream):
        for candidate in FORMATS:
            if candidate.kind == kind and (provider := candidate.detect(sample)):
                return _Hit(member, candidate, provider)
    return None


def _first_mark(head: bytes) -> str:
    wide = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    text = head.decode("utf-16", "ignore") if wide else head.decode("utf-8", "replace")
    return text.lstrip(_BLANK)[:1]


def _samples(kind: str, stream: Stream) -> Iterator[object]:
    """What a format is known by: entries of a JSON document, a page's beginning, a header."""
    if kind == "csv":
        yield Table(Text(stream, "cp1252")).header
    elif kind == "html":
        text, head = Text(stream), ""
        while len(head) < _PAGE and (piece := text.read()):
            head += piece
        yield head
    else:
        yield from _entries_sampled(Document(Text(stream)).entries())


def _entries_sampled(entries: Iterator[Entry | Skipped]) -> Iterator[dict]:
    fault = "empty_history"
    for entry in itertools.islice(entries, _SAMPLED):
        if isinstance(entry, Skipped):
            fault = entry.code
        else:
            fault = ""
            if isinstance(entry.value, dict):
                yield entry.value
    if fault:
        raise Refused(fault)


def _records(hit: _Hit) -> Iterator[Record]:
    table = hit.format.kind == "csv"
    text = Text(hit.member.open(), "cp1252" if table else "utf-8")
    if hit.format.kind == "json":
        yield from hit.format.read(Document(text).entries())
    else:
        yield from hit.format.read(Table(text) if table else text)
    if text.replaced:
        where = "" if hit.member.name else _("the file")
        yield skipped(where, "fallback_encoding" if table else "encoding")


PROGRESS = 1 << 20  # bytes between two messages of how far the reading has come


def messages(path: Path, scratch: Path, limits: Limits) -> Iterator[dict | list]:
    """What the process that reads an export says: its source, records, how far it has come."""
    done = told = 0

    def note(count: int) -> None:
        nonlocal done
        done = count

    with path.open("rb") as file:
        reading = Reading(file, note)
        yield {"source": reading.source}
        for record in reading:
            yield packed(record)
            if done - told > PROGRESS:
                told = done
                yield {"done": done}
