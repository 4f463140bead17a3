"""Rows of a query by column: COPY out of PostgreSQL, read by Arrow."""

from __future__ import annotations

from collections.abc import Iterator

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import BigIntegerField, Func, QuerySet, TextField
from django.db.models.functions import Cast
from psycopg import Copy
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus

from annotation.core.arrow import pa, pa_csv

# Signs that no value has: JSON escapes them. So no value is ever quoted.
_DELIMITER = "\x1f"
# Bytes that are read together.
BLOCK = 2**20
_AS_CSV = "FORMAT csv, DELIMITER E'\\x1f', QUOTE E'\\x01'"


def copied(rows: QuerySet, schema: pa.Schema) -> Iterator[pa.Table]:
    """The ``rows`` of a ``values_list`` of numbers and texts, some at a time.

    Texts must be without control characters and not empty: JSON (``text_column``) or words. NULL
    is null. Between two tables no other statement may run.
    """
    try:
        statement, values = rows.query.sql_with_params()
    except EmptyResultSet:  # a condition that no row can meet
        return
    with (
        connection.wrap_database_errors,
        connection.cursor() as cursor,
        cursor.copy(cursor.mogrify(f"COPY ({statement}) TO STDOUT ({_AS_CSV})", values)) as copy,
    ):
        for block in _blocks(copy):
            yield _table(block, schema)


def _blocks(copy: Copy) -> Iterator[bytes]:
    """All rows of ``copy``, somewhat more than ``BLOCK`` bytes at a time.

    Rows that have arrived are taken from libpq: psycopg's loop costs several times as much. It is
    left to wait for others, which lets other threads go on.
    """
    pgconn = copy.connection.pgconn
    line, lines, size = copy.read(), [], 0
    while line:
        lines.append(line)
        size += len(line)
        if size > BLOCK:
            yield b"".join(lines)
            lines, size = [], 0
        length, line = pgconn.get_copy_data(1)
        if length == 0:
            line = copy.read()
    if lines:
        yield b"".join(lines)
    results = iter(pgconn.get_result, None)
    if failed := [result for result in results if result.status != ExecStatus.COMMAND_OK]:
        raise error_from_result(failed[0])


def whole(rows: QuerySet, schema: pa.Schema) -> pa.Table:
    """All of the rows that ``copied`` gives; of rows that fit into memory."""
    tables = [schema.empty_table(), *copied(rows, schema)]
    return pa.concat_tables(tables).combine_chunks()


def instant(name: str) -> Func:
    """A column of times as whole microseconds since 1970."""
    template = "(extract(epoch FROM %(expressions)s) * 1000000)::bigint"
    return Func(name, template=template, output_field=BigIntegerField())


def _table(data: bytes, schema: pa.Schema) -> pa.Table:
    return pa_csv.read_csv(
        pa.BufferReader(data),
        pa_csv.ReadOptions(column_names=schema.names, use_threads=False, block_size=len(data) + 1),
        pa_csv.ParseOptions(delimiter=_DELIMITER, quote_char=False),
        pa_csv.ConvertOptions(
            column_types=schema,
            null_values=[""],
            strings_can_be_null=True,
            check_utf8=False,
        ),
    ).combine_chunks()


def text_column(name: str) -> Cast:
    """A column of JSON, numbers or booleans as JSON text."""
    return Cast(name, TextField())
