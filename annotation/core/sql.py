from django.db import connection


def first(statement: str, values: dict) -> tuple | None:
    """Run one SQL statement and return its first row, or None; JSON columns come as text.

    For the few statements that every judgment runs: building a query and model instances out of
    it costs there several times what PostgreSQL takes to answer it.
    """
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchone()
