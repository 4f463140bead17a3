"""What all formats share: careful access to what a file claims, and building conversations."""

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from annotation.histories import texts
from annotation.histories.records import Conversation, Message, Refused, Skipped, skipped

ROLES = {
    "user": ("user", "human", "prompter", "request"),
    "assistant": ("assistant", "gpt", "ai", "model", "response", "bot", "chatgpt", "bing", "bard"),
}
_ROLE_OF = {word: role for role, words in ROLES.items() for word in words}
MESSAGES, CHARACTERS = 100_000, 12 << 20  # of one conversation
ENTRIES = 300_000  # that can be sorted or grouped


def items(value: object) -> list:
    return value if isinstance(value, list) else []


def fields(value: object) -> dict:
    return value if isinstance(value, dict) else {}


def objects(value: object) -> list[dict]:
    return [item for item in items(value) if isinstance(item, dict)]


def identifier(*values: Any) -> str:
    """The first of these that can serve as an id, as text."""
    for value in values:
        if isinstance(value, str) and (name := texts.name(value)):
            return name
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 64:
            return str(value)
    return ""


def role_of(value: object) -> str:
    """user, assistant, or "" for every other role (system, tool)."""
    return _ROLE_OF.get(value.strip().casefold(), "") if isinstance(value, str) else ""


def made_id(*parts: str) -> str:
    """An id for what has none: the same for the same parts."""
    whole = hashlib.sha256()
    for part in parts:
        data = part.encode()
        whole.update(b"%d:" % len(data) + data)
    return whole.hexdigest()[:32]


def names(values: Iterable) -> tuple[str, ...]:
    """Attachments' names: of texts, or of objects by their name; each once."""
    unique: dict[str, None] = {}
    for value in values:
        if isinstance(value, dict):
            keys = ("name", "file_name", "fileName", "title", "id", "file_uuid")
            value = next((n for key in keys if (n := texts.name(value.get(key)))), "file")
        if name := texts.name(value):
            unique[name] = None
        if len(unique) == 1_000:
            break
    return tuple(unique)


class Entry(NamedTuple):
    """One value of a file's outermost list, and its place in it."""

    number: int
    value: Any
    of_lines: bool = False

    @property
    def where(self) -> str:
        """The place, for a person."""
        return place(self.number, self.of_lines)


def place(number: int, of_lines: bool = False) -> str:
    """The entry, or line, of a file as a message to a person names it."""
    words = _("line %(number)d") if of_lines else _("entry %(number)d")
    return words % {"number": number}


def each(fits: Callable[[dict], object]) -> Callable[[Callable], Callable]:
    """For formats whose entries stand alone: read those that ``fits``; the others are junk."""

    def of_all(read: Callable) -> Callable:
        def read_all(entries: Iterator[Entry | Skipped]) -> Iterator:
            for entry in entries:
                if isinstance(entry, Skipped):
                    yield entry
                elif isinstance(entry.value, dict) and fits(entry.value):
                    yield from read(entry)
                else:
                    yield skipped(entry.where, "junk")

        return read_all

    return of_all


class Draft:
    """A conversation in the making."""

    def __init__(
        self,
        provider: str,
        where: str,
        *,
        id: object = "",
        title: object = "",
        created: object = None,
        updated: object = None,
        account: object = "",
    ) -> None:
        self._provider, self._where, self._account = provider, where, identifier(account)
        self._id, self._title = identifier(id), texts.name(title)
        self._assumed = False
        self._created, self._updated = self._time(created), self._time(updated)
        self._messages: list[Message] = []
        self._characters = 0
        self.flags: set[str] = set()

    def add(
        self,
        role: object,
        text: object,
        at: object = None,
        *,
        id: object = "",
        attachments: Iterable = (),
        model: object = "",
    ) -> None:
        """Take a turn, unless its role is neither user nor assistant, or it is empty."""
        role, text, attachments = role_of(role), texts.clean(text), names(attachments)
        if not role or not (attachments or text.strip()):
            return
        self._characters += len(text)
        if self._characters <= CHARACTERS and len(self._messages) <= MESSAGES:
            time = self._time(at)
            message = Message(role, text, time, identifier(id), attachments, texts.name(model))
            self._messages.append(message)

    def _time(self, value: object) -> datetime | None:
        moment = value if isinstance(value, texts.Moment) else texts.moment(value)
        self._assumed |= moment.assumed
        return moment.at

    def finish(self) -> Conversation | Skipped:
        """The conversation, or why it is none. Without an id its words and their order make one."""
        if self._characters > CHARACTERS or len(self._messages) > MESSAGES:
            return skipped(self._where, "too_large")
        if not self._messages:
            return skipped(self._where, "empty")
        dates = [message.at for message in self._messages if message.at]
        # A dated one stays the same as it grows.
        turns = self._messages[:1] if self._created else self._messages
        words = (part for turn in turns for part in (turn.role, turn.text))
        begun = self._created.isoformat() if self._created else self._title
        return Conversation(
            provider=self._provider,
            id=self._id or made_id(self._provider, begun, *words),
            title=self._title,
            messages=tuple(self._messages),
            created_at=self._created or (dates[0] if dates else None),
            updated_at=self._updated or (max(dates) if dates else None),
            time_zone_assumed=self._assumed,
            flags=tuple(sorted(self.flags)),
            account=self._account,
        )


@dataclass(frozen=True)
class Layout:
    """Where a service's conversation has its parts, by the names of its fields.

    ``turns`` gives the messages in order. Of several names, separated by a blank, the first counts
    that holds something. ``about`` names the inner object that the conversation's own fields are
    in, where they are in one.
    """

    provider: str
    turns: Callable[[dict], Iterable[dict]]
    id: str = "id"
    title: str = "title"
    created: str = ""
    updated: str = ""
    about: str = ""
    role: str = "role"
    text: str = "text"
    at: str = ""
    turn_id: str = ""
    files: str = "files"

    def read(self, entry: Entry) -> Iterator[Conversation | Skipped]:
        value = entry.value
        about = fields(value.get(self.about)) if self.about else value
        draft = Draft(
            self.provider,
            entry.where,
            id=_first(about, self.id),
            title=_first(about, self.title),
            created=about.get(self.created),
            updated=about.get(self.updated),
            account=fields(value.get("account")).get("uuid"),
        )
        for turn in self.turns(value):
            draft.add(
                turn.get(self.role),
                turn.get(self.text),
                turn.get(self.at),
                id=_first(turn, self.turn_id),
                attachments=items(turn.get(self.files)),
                model=turn.get("model"),
            )
        yield draft.finish()


def _first(value: dict, names: str) -> object:
    return next((held for name in names.split() if (held := value.get(name))), "")


class Spill:
    """Entries put aside on disk until the file's end, when their order is known."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - goes with this object
        self._count = 0

    def put(self, *values: Any) -> int:
        """Keep JSON values; returns their key. Refused beyond ENTRIES of them."""
        self._count += 1
        if self._count > ENTRIES:
            raise Refused("too_large")
        at = self._file.tell()
        self._file.write(json.dumps(values).encode() + b"\n")
        return at

    def get(self, at: int) -> list:
        """What `put` was given."""
        self._file.seek(at)
        return json.loads(self._file.readline())
