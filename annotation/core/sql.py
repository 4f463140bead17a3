"""The few statements that every judgment runs, without the cost of building them anew.

Making a query and model instances out of the ORM takes several times what PostgreSQL needs to
answer it, and planning such a join takes longer than running it: these are written out, and
prepared once a connection.
"""

from django.db import connection
from django.db.backends.postgresql.base import ServerBindingCursor


def first(statement: str, values: dict) -> tuple | None:
    """Run one SQL statement and return its first row, or None; JSON columns come as text."""
    connection.ensure_connection()
    # Django's usual cursor writes the values into the text, which leaves nothing to prepare.
    bare = ServerBindingCursor(connection.connection)
    wrap = connection.make_debug_cursor if connection.queries_logged else connection.make_cursor
    with wrap(bare) as cursor:
        cursor.execute(statement, values)
        return cursor.fetchone()
