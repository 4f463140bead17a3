"""The few statements that every judgment runs, without the cost of building them each time.

Making a query and model instances out of the ORM takes several times what PostgreSQL needs to
answer it, and planning such a join takes longer than running it: these are written out, and
prepared once a connection.
"""

from collections.abc import Iterable

from django.db import connection, models
from django.db.backends.postgresql.base import ServerBindingCursor


def first(statement: str, values: dict) -> tuple | None:
    """Run one SQL statement and return its first row, or None; JSON columns come as text."""
    connection.ensure_connection()
    # Django's usual cursor writes the values into the text, which leaves nothing to prepare.
    # django-stubs take it for a wrapper of cursors; it is one of psycopg.
    bare = ServerBindingCursor(connection.connection)  # type: ignore[call-arg]
    wrap = connection.make_debug_cursor if connection.queries_logged else connection.make_cursor
    with wrap(bare) as cursor:  # type: ignore[arg-type]
        cursor.execute(statement, values)
        return cursor.fetchone()


class _Among(models.Lookup):
    """The left side is one of the values, which are one parameter: an array."""

    prepare_rhs = False

    def as_sql(self, compiler, connection):
        column, values = self.process_lhs(compiler, connection)
        return f"{column} = ANY(%s)", [*values, self.rhs]


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
