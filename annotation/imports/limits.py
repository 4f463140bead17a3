"""What a foreign table may take of the machine that reads it."""

from dataclasses import dataclass

from django.conf import settings
from django.utils.translation import gettext as _

from annotation.core.errors import DomainError

MB = 2**20
# What the smallest file may take: memory, seconds of processor time, and bytes of text.
ROOM, MOMENT, TEXT = 24 * MB, 10, 2 * MB
# And how much of each a file may take for a byte, or a megabyte, of its own.
ROOM_TIMES, SECONDS_A_MB, TEXT_TIMES = 100, 20, 1_000
# The last words of the process that reads, and the status with which it ends without them.
END, OUT_OF_MEMORY = "end", 71
# A row is as long as several cells.
ROW_CELLS = 16


class TableError(DomainError):
    """The file is no table that can be read; a sentence says why."""

    code = "table"


@dataclass(frozen=True)
class Limits:
    """The limits of one file: the settings', or less where the file is small."""

    memory: int
    seconds: int
    cells: int
    columns: int
    cell: int
    unpacked: int
    text: int

    @classmethod
    def of(cls, size: int) -> "Limits":
        """Those of a file of ``size`` bytes."""
        unpacked = settings.IMPORT_UNPACKED_BYTES
        return cls(
            memory=min(ROOM + ROOM_TIMES * size, settings.IMPORT_MEMORY_BYTES),
            seconds=min(MOMENT + SECONDS_A_MB * size // MB, settings.IMPORT_SECONDS),
            cells=settings.IMPORT_CELLS,
            columns=settings.IMPORT_COLUMNS,
            cell=settings.IMPORT_CELL_LENGTH,
            unpacked=unpacked,
            text=min(TEXT + TEXT_TIMES * size, unpacked),
        )


def too_large(sentence: str, limit: int) -> TableError:
    return TableError(sentence % {"n": f"{limit:,}"}, code="table_limit")


def out_of_memory(limits: Limits) -> TableError:
    sentence = _("Reading the file takes more than %(n)s MB of memory, the limit for its size.")
    return too_large(sentence, limits.memory // MB)


def out_of_time(limits: Limits) -> TableError:
    sentence = _("Reading the file takes more than %(n)s seconds, the limit for its size.")
    return too_large(sentence, limits.seconds)


def broken(limits: Limits) -> TableError:
    """The refusal of a file at which a library crashed."""
    sentence = _(
        "The file cannot be read: it is broken, or reading it takes more than %(n)s MB of memory, "
        "the limit for its size."
    )
    return too_large(sentence, limits.memory // MB)
