"""Calls of the API that add 100 rows each, against the SQL that stores the same rows.

The floor takes the rows that a call has stored and inserts them once more, by one INSERT a table in
one transaction, into tables with the same columns and indexes. Both are seconds a call, the median,
and they take turns. `python -m benchmarks.bulk_api 5` makes 5 calls a list instead of 20.
"""

import json
import statistics
import sys
import time

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

from benchmarks import stack
from benchmarks.clients import Connection
from benchmarks.figures import figure, setup_django

ROWS, CALLS = 100, 20
STUDY, EMAIL = "bulk", "bulk@example.org"
WORDS = "How long should green tea be in the water, and how hot may that water be? " * 8
# What each list's rows become, and how the rows of a call are found: after the last one before it.
TABLES = {
    "queries": {"queries_query": "id"},
    "candidates": {"candidates_candidate": "created_at"},
    "items": {"judging_item": "position", "judging_itemoption": "id", "judging_slot": "position"},
}


def main(calls: int = CALLS) -> dict[str, dict]:
    """Seconds a call of each list; AssertionError where a call stores other than it was sent."""
    figures = {}
    with stack.running() as attune:
        token = attune.run("benchmarks.bulk_api", "--child")["token"]
        with psycopg.connect(attune.database_url, autocommit=True) as connection:
            for name in TABLES:
                figures |= _measured(attune.port, token, connection, name, calls)
    return figures


def _measured(port: int, token: str, connection, name: str, calls: int) -> dict[str, dict]:
    client, ours, floor = Connection(port), [], []
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    for call in range(calls):
        rows = [_row(name, call * ROWS + n, calls * ROWS // 2) for n in range(ROWS)]
        body = json.dumps({"rows": rows})
        last = {table: _last(connection, table, column) for table, column in TABLES[name].items()}
        begin = time.perf_counter()
        status, answer = client.send("POST", f"/api/v1/studies/{STUDY}/{name}/", body, headers)
        ours.append(time.perf_counter() - begin)
        assert (status, json.loads(answer)["stored"]) == (201, ROWS), answer
        floor.append(_inserted_again(connection, last))
    return figure(
        f"bulk_{name}",
        statistics.median(ours) * 1000,
        statistics.median(floor) * 1000,
        "ms",
        rows=ROWS,
    )


def _row(name: str, number: int, half: int) -> dict:
    """A row of a list; the first ``half`` questions get two answers and two items each."""
    query = number % half
    if name == "queries":
        return {"id": f"q{number}", "text": f"{number}: {WORDS[:100]}", "need": "A calm evening."}
    if name == "candidates":
        return {"id": f"c{number}", "query": f"q{query}", "text": f"{number}: {WORDS}"}
    shown = [f"c{query}", f"c{query + half}"]
    return {"id": f"i{number}", "task": "better", "query": f"q{query}", "candidates": shown}


def _last(connection, table: str, column: str):
    query = sql.SQL("SELECT max({}) FROM {}").format(sql.Identifier(column), sql.Identifier(table))
    return connection.execute(query).fetchone()[0]


def _inserted_again(connection: psycopg.Connection, last: dict) -> float:
    """Seconds of inserting what came into the tables after ``last`` into tables like them."""
    statements = []
    for table, after in last.items():
        copy = sql.Identifier(f"bench_{table}")
        column = sql.Identifier(next(names[table] for names in TABLES.values() if table in names))
        here = sql.Identifier(table)
        connection.execute(
            sql.SQL("CREATE TABLE IF NOT EXISTS {} (LIKE {} INCLUDING ALL)").format(copy, here)
        )
        new = sql.SQL("SELECT * FROM {} WHERE {} > {} OR {} IS NULL").format(
            here, column, after, after
        )
        rows = connection.execute(new).fetchall()
        line = sql.SQL("({})").format(sql.SQL(", ").join(sql.Placeholder() * len(rows[0])))
        lines = sql.SQL(", ").join([line] * len(rows))
        values = [
            Jsonb(value) if isinstance(value, dict | list) else value
            for row in rows
            for value in row
        ]
        insert = sql.SQL("INSERT INTO {} VALUES {}").format(copy, lines)
        statements.append(psycopg.ClientCursor(connection).mogrify(insert, values).encode())
    begin = time.perf_counter()
    with connection.transaction():
        for statement in statements:
            connection.execute(statement)
    return time.perf_counter() - begin


def _child() -> dict:
    """Make the study, its task and a curator; the curator's token."""
    setup_django()
    from annotation.accounts.models import ApiToken, User
    from annotation.judging.kinds import kind_of
    from annotation.studies.models import Membership, Study, TaskDefinition

    user = User.objects.create(email=EMAIL, name="Bulk")
    study = Study.objects.create(slug=STUDY, title="Bulk")
    Membership.objects.create(study=study, user=user, role="administrator")
    config = kind_of("selection").check_config({"options": 2})
    TaskDefinition.objects.create(study=study, name="better", kind="selection", config=config)
    _token, key = ApiToken.issue(user)
    return {"token": key}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(_child()))
    else:
        main(*map(int, sys.argv[1:]))
