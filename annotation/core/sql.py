"""The few statements that every judgment runs, without the cost of building them each time.

Making a query and model instances out of the ORM takes several times what PostgreSQL needs to
answer it, and planning such a join takes longer than running it: these are written out, and
prepared once a connection.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from django.db import (
    InterfaceError,
    InternalError,
    OperationalError,
    connection,
    models,
    transaction,
)
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.sql.compiler import SQLCompiler
from psycopg import Cursor

from annotation.core.records import chunks

CHUNK = 2000
Stored = TypeVar("Stored", bound=models.Model)
OUTAGES = (OperationalError, InterfaceError)


def is_outage(error: BaseException) -> bool:
    """Whether ``error`` says that the database is away."""
    # An internal error without SQLSTATE is not the server's word: its end came into a COMMIT.
    broken = isinstance(error, InternalError) and not getattr(error.__cause__, "sqlstate", None)
    return broken or isinstance(error, OUTAGES)


def first(statement: str, values: dict) -> tuple | None:
    """Run one SQL statement and return its first row, or None; JSON columns come as text."""
    connection.ensure_connection()
    # Django's usual cursor writes the values into the text, which leaves nothing to prepare.
    bare = Cursor(connection.connection)
    wrap = connection.make_debug_cursor if connection.queries_logged else connection.make_cursor
    # django-stubs take it for a wrapper of cursors; it is one of psycopg.
    with wrap(bare) as cursor:  # type: ignore[arg-type]
        cursor.execute(statement, values)
        return cursor.fetchone()


@transaction.atomic
def save_in_chunks(save: Callable[[list], int], rows: Iterable) -> int:
    """The sum of what ``save`` returns of each chunk of ``rows``; all or nothing is stored."""
    return sum(save(chunk) for chunk in chunks(rows, CHUNK))


def columns(model: type[models.Model], alias: str) -> str:
    """The columns of a model for a SELECT whose rows ``instance`` reads."""
    return ", ".join(f"{alias}.{field.column}" for field in model._meta.concrete_fields)


def instance(model: type[Stored], row: tuple) -> Stored:
    """The model's instance of a row that begins with ``columns``."""
    fields = model._meta.concrete_fields
    values = [
        field.from_db_value(value, None, connection) if hasattr(field, "from_db_value") else value
        for field, value in zip(fields, row, strict=False)
    ]
    return model.from_db(connection.alias, [field.attname for field in fields], values)


def copy(model: type[models.Model], rows: Sequence[dict[str, Any]]) -> list[Any]:
    """Insert rows into the model's own table by COPY; their keys, new ones where rows have none.

    A row has values by the names of attributes, of types that psycopg knows; what none of them has
    is the field's default. Django's conversion of each value would take most of the time.
    """
    if not rows:
        return []
    key = model._meta.pk
    table = model._meta.db_table
    keys = [row.get(key.attname) for row in rows]
    with connection.cursor() as cursor:
        if keys[0] is None:
            cursor.execute(
                "SELECT nextval(pg_get_serial_sequence(%s, %s)) FROM generate_series(1, %s)",
                [table, key.column, len(rows)],
            )
            keys = [row[0] for row in cursor.fetchall()]
        fields = [field for field in model._meta.local_concrete_fields if field is not key]
        named = [field for field in fields if field.attname in rows[0]]
        constant = {
            str(field.column): field.get_db_prep_save(field.get_default(), connection)
            for field in fields
            if field not in named
        }
        names = ", ".join([str(key.column), *(str(field.column) for field in named), *constant])
        statement = f"COPY {table} ({names}) FROM STDIN"
        with connection.wrap_database_errors, cursor.copy(statement) as target:
            columns = [(field.attname, isinstance(field, models.JSONField)) for field in named]
            for pk, row in zip(keys, rows, strict=True):
                values = [_json(row[name]) if is_json else row[name] for name, is_json in columns]
                target.write_row([pk, *values, *constant.values()])
    return keys


def _json(value: Any) -> str | None:
    """A value of a JSON column; most are empty."""
    if not value and isinstance(value, list | dict):
        return "[]" if isinstance(value, list) else "{}"
    return None if value is None else json.dumps(value)


class _Among(models.Lookup):
    """The left side is one of the values, which are one parameter: an array."""

    prepare_rhs = False

    def as_sql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper
    ) -> tuple[str, tuple[Any, ...]]:
        column, values = self.process_lhs(compiler, connection)
        return f"{column} = ANY(%s)", (*values, self.rhs)


def among(field: str, values: Iterable) -> models.Lookup:
    """A condition as ``field__in=values``, for thousands of ids.

    As a placeholder each they would take longer to write down than the rows to read.
    """
    return _Among(models.F(field), list(values))


def analyze(*tables: type[models.Model]) -> None:
    """Update PostgreSQL's statistics of these models' tables, after many rows were added.

    Autovacuum waits for fifty changed rows a table: tables of few rows (batches, tasks, studies)
    would keep the estimates of empty ones, and joins with them run as nested loops.
    """
    names = ", ".join(connection.ops.quote_name(table._meta.db_table) for table in tables)
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {names}")


# Statistics of a table that grew by a third at most do for plans; autovacuum renews them later.
GROWTH = 3
_ROWS = "SELECT relname, reltuples FROM pg_class WHERE oid = ANY(%s::regclass[])"


def analyze_grown(rows: int, *tables: type[models.Model]) -> None:
    """``analyze`` those of the tables in which ``rows`` new ones are more than a third."""
    quoted = [connection.ops.quote_name(table._meta.db_table) for table in tables]
    with connection.cursor() as cursor:
        cursor.execute(_ROWS, [quoted])
        rows_of = dict(cursor.fetchall())
    # Without statistics the number is -1.
    grown = [table for table in tables if rows_of[table._meta.db_table] < rows * GROWTH]
    if grown:
        analyze(*grown)
