"""Opens a foreign table: a process of its own reads it (`readers`, started by core.foreign).

Its file may be fetched from the Hugging Face Hub.
"""

import json
import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import httpx2
from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic.dataclasses import dataclass as schema

from annotation.core import foreign
from annotation.core.errors import DomainError
from annotation.core.records import Rows
from annotation.core.schema import asked
from annotation.core.uploads import scratch_folder
from annotation.imports import trees
from annotation.imports.mapping import value_at
from annotation.imports.readers import ENCODINGS, TABLE_ENDINGS, are_shards

READER = "annotation.imports.readers:messages"
SAMPLE = 100
JOINED_LIMIT = 200_000


@schema(frozen=True)
class Text:
    """How the text of a file is to be read."""

    encoding: str = asked(
        gettext_lazy("Encoding"),
        "",
        gettext_lazy("Of a CSV or JSON file that is not in UTF-8; nothing is guessed."),
        choices=ENCODINGS,
    )


@dataclass
class Table:
    """A file as rows: ``rows()`` begins anew each time.

    ``notes`` says what was assumed about the file; ``folder`` is where a zipped bundle or release
    was unpacked, in the formats "bundle" and "release", which have no rows.
    """

    format: str
    notes: list[str] = field(default_factory=list)
    folder: Path | None = None
    read: Callable[[], Iterator[Any]] = lambda: iter(())
    joins: "list[Join]" = field(default_factory=list)

    def rows(self) -> Rows:
        """Line and record of each row, or the reason why it is none; with what is joined to it."""
        for line, read in self._read():
            for record in trees.tree_rows(read) if isinstance(read, dict) else [read]:
                for join in self.joins:
                    if isinstance(record, dict):
                        record = join.add(record)
                yield line, trees.until_asked(record) if isinstance(record, dict) else record

    def _read(self) -> Rows:
        columns: list[str] = []
        for message in self.read():
            if isinstance(message, dict):
                columns = message.get("columns", columns)
                continue
            line, cells = message
            yield line, cells if isinstance(cells, str) else dict(zip(columns, cells, strict=True))

    @cached_property
    def sample(self) -> list[dict]:
        """The first rows that can be read, at most SAMPLE."""
        return list(islice((row for _line, row in self.rows() if isinstance(row, dict)), SAMPLE))


@dataclass(frozen=True)
class Join:
    """The rows of another ``file`` by their ``key``, which rows of a table name in ``column``."""

    file: str
    column: str
    key: str
    rows: dict[str, dict]

    @classmethod
    def read(cls, table: Table, file: str, column: str, key: str) -> "Join":
        """Read all of ``table``; DomainError where a row has no key or that of another."""
        rows: dict[str, dict] = {}
        for line, record in table.rows():
            words = {"file": file, "line": line, "key": key, "n": JOINED_LIMIT}
            name = record.get(key) if isinstance(record, dict) else None
            if isinstance(record, str) or name in (None, "") or str(name) in rows:
                sentence = _("%(file)s, line %(line)d: each row needs a “%(key)s” of its own.")
                raise DomainError(sentence % words)
            rows[str(name)] = record
            if len(rows) > JOINED_LIMIT:
                raise DomainError(_("%(file)s has more than %(n)d rows to join.") % words)
        return cls(file, column, key, rows)

    @cached_property
    def fields(self) -> list[str]:
        names = dict.fromkeys(name for row in self.rows.values() for name in row)
        return [name for name in names if name != self.key]

    def add(self, record: dict) -> dict | str:
        """``record`` with "COLUMN.FIELD" of the row it names, a list where it names several."""
        names = value_at(record, self.column)
        several = isinstance(names, list)
        rows = [self.rows.get(str(name)) for name in (names if several else [names])]
        if None in rows:
            missing = names[rows.index(None)] if several else names
            words = {"file": self.file, "key": self.key, "name": str(missing)[:80]}
            return _("%(file)s has no row whose “%(key)s” is “%(name)s”") % words
        joined = {}
        for name in self.fields:
            cells = [row.get(name) for row in rows if row]
            joined[f"{self.column}.{name}"] = cells if several else cells[0]
        return record | joined


@contextmanager
def opened(path: Path, encoding: str = "") -> Iterator[Table]:
    """The table in the file ``path``; ForeignFileError where it is none, or exceeds a limit.

    Its text is in ``encoding``, one of ENCODINGS.

    What a zip or gzip holds is unpacked into a temporary folder for the time of the block.
    """
    reader = f"{READER}:{encoding}" if encoding else READER
    with scratch_folder() as scratch:
        first = foreign.read_foreign(reader, Path(path), scratch)
        begun = [first]

        def read() -> Iterator[Any]:
            # The process that told the format goes on to the rows, once.
            return begun.pop() if begun else foreign.read_foreign(reader, Path(path), scratch)

        try:
            head = next(first)
            folder = head["folder"] and Path(head["folder"])
            yield Table(head["format"], head["notes"], folder, read)
        finally:
            first.close()


@dataclass(frozen=True)
class Beginning:
    """What a file begins with: enough to map its columns on a page, which reads no file.

    Format, notes, and the first rows of a table: line, and record or reason.
    """

    format: str
    notes: list[str]
    rows: list[tuple[int, dict | str]]

    @classmethod
    def of(cls, table: Table) -> "Beginning":
        rows = [] if table.folder else list(islice(table.rows(), SAMPLE))
        return cls(table.format, table.notes, rows)

    @classmethod
    def read(cls, text: str) -> "Beginning":
        return cls(**json.loads(text))

    def written(self) -> str:
        """As JSON in ASCII: a row may hold what PostgreSQL stores neither as text nor as JSON."""
        return json.dumps(asdict(self))

    def is_text(self) -> bool:
        """Whether every row is a record of text: another encoding leaves surrogates, or none."""
        try:
            json.dumps(self.rows, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            return False
        return len(self.records()) == len(self.rows)

    def records(self) -> list[dict]:
        """The rows that can be read."""
        return [record for _line, record in self.rows if isinstance(record, dict)]


# --- The Hub --------------------------------------------------------------------------------------


LISTED = 20


@schema(frozen=True)
class HubTable:
    """A table of a data set: its file, or shards, are those of this configuration and split."""

    hub: str = asked(
        gettext_lazy("Data set on the Hugging Face Hub"), "", "owner/name", max_length=200
    )
    config: str = asked(
        gettext_lazy("Configuration"), "", gettext_lazy("A part of the file's path"), max_length=200
    )
    split: str = asked(
        gettext_lazy("Split"), "", gettext_lazy("A part of the file's name"), max_length=200
    )
    revision: str = asked(gettext_lazy("Branch, tag or commit"), "", max_length=200)


def fetch(wanted: HubTable, folder: Path) -> tuple[Path, str]:
    """The file of ``wanted`` in ``folder``, and its address with the commit.

    DomainError where there is no connection, no such data set, or not exactly one such table. The
    shards of a table come as a zip of them.
    """
    try:
        from huggingface_hub import HfApi, constants
        from huggingface_hub.errors import (
            HfHubHTTPError,
            HFValidationError,
            LocalEntryNotFoundError,
        )
    except ImportError as error:
        sentence = _("Install the extra: pip install 'attune-platform[evaluate]'.")
        raise DomainError(sentence) from error
    endpoint = os.environ.get("HF_ENDPOINT") or constants.ENDPOINT
    # Without the installation's token, with which curators would read its owner's private data.
    api = HfApi(endpoint=endpoint, token=False)
    try:
        info = api.dataset_info(
            wanted.hub, revision=wanted.revision or None, files_metadata=True, timeout=20
        )
        names = _files_of(wanted, {f.rfilename: f.size or 0 for f in info.siblings or ()})
        paths = [
            api.hf_hub_download(
                wanted.hub, name, repo_type="dataset", revision=info.sha, local_dir=folder
            )
            for name in names
        ]
    except HFValidationError as error:
        raise DomainError(_("A data set is called owner/name.")) from error
    except HfHubHTTPError as error:
        words = {"name": wanted.hub, "status": error.response.status_code}
        raise DomainError(
            _("The Hub does not give “%(name)s” (status %(status)s): is it public?") % words
        ) from error
    except (httpx2.HTTPError, LocalEntryNotFoundError, OSError) as error:
        words = {"address": endpoint}
        raise DomainError(
            _("%(address)s cannot be reached from here. Send the file itself.") % words
        ) from error
    path = Path(paths[0]) if len(paths) == 1 else _zipped(paths, folder / "shards.zip")
    return path, f"{wanted.hub}, {endpoint}/datasets/{wanted.hub}/tree/{info.sha}"


def _zipped(paths: list[str], path: Path) -> Path:
    """The shards of a table as one file, as they are."""
    with zipfile.ZipFile(path, "w") as archive:
        for shard in paths:
            archive.write(shard, Path(shard).name)
    return path


def _files_of(wanted: HubTable, sizes: dict[str, int]) -> list[str]:
    """The table among files {name: bytes} that has the configuration and split: its shards."""
    names = [name for name in sizes if name.lower().endswith(TABLE_ENDINGS)]
    for part in filter(None, (wanted.config, wanted.split)):
        names = [name for name in names if part in name]
    names.sort()
    if len(names) != 1 and not are_shards(names):
        listed = ", ".join((names or list(sizes))[:LISTED]) or "–"
        words = {"n": len(names), "files": listed}
        raise DomainError(
            _("%(n)d tables fit: name configuration and split. There are: %(files)s.") % words
        )
    if sum(sizes[name] for name in names) > settings.IMPORT_MAX_BYTES:
        raise DomainError(_("“%s” is larger than imports may be.") % names[0])
    return names
