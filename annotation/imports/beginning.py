"""What a file begins with: enough to map its columns on a page, which reads no file."""

import json
from dataclasses import asdict, dataclass
from itertools import islice

from annotation.imports.tables import SAMPLE, Table


@dataclass(frozen=True)
class Beginning:
    """Format, notes, and the first rows of a table: line, and record or reason."""

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

    def records(self) -> list[dict]:
        """The rows that can be read."""
        return [record for _line, record in self.rows if isinstance(record, dict)]
