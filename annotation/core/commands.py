"""What management commands share."""

from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.core.errors import DomainError


class RefusingCommand(BaseCommand):
    """A command whose refusals (DomainError) are printed as their sentence, with exit code 1."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except DomainError as refusal:
            raise CommandError(refusal.sentence) from refusal


def add_without_proposals(parser: CommandParser) -> None:
    """The option of commands that count votes."""
    parser.add_argument(
        "--without-proposals",
        action="store_true",
        help="leave out judgments that began from a pre-filled answer",
    )


def aligned_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows of text under a header, columns padded; the first to the left, the rest to the right."""
    rows = [header, *rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(header))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def shown(number: float | None) -> str:
    """A number with three decimals, or a dash."""
    return "–" if number is None else f"{number:z.3f}"
