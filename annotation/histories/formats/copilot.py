"""Microsoft Copilot: a CSV of messages, newest first and without ids."""

from collections.abc import Iterator

from annotation.histories.formats.build import Draft, Spill, digest
from annotation.histories.formats.streams import Table
from annotation.histories.records import Record

HEADER = ["conversation", "time", "author", "message"]


def detect(header: list[str]) -> str:
    """The name "copilot" for its four columns, in any order and beside others."""
    return "copilot" if set(HEADER) <= set(header) else ""


def read(table: Table) -> Iterator[Record]:
    """All conversations. The title is all that holds one together, so equal titles merge.

    Question and answer share one second: the file is reversed, not sorted.
    """
    spill = Spill()
    turns: dict[str, list[int]] = {}
    where: dict[str, str] = {}
    for entry in table.rows():
        title, *message = (entry.value.get(name, "") for name in HEADER)
        where.setdefault(title, entry.where)
        turns.setdefault(title, []).append(spill.put(*message))
    for title, keys in turns.items():
        draft = Draft("copilot", where[title], id=digest("copilot", title), title=title)
        for key in reversed(keys):
            time, author, text = spill.get(key)
            draft.add(author, text, time)
        yield draft.finish()
