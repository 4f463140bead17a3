"""Rows by COPY into Arrow: whole, in order, and with the error that the database ends them with."""

import pyarrow as pa
import pytest
from django.db import DataError, transaction
from django.db.models import F, Max, Value

from annotation.accounts.models import User
from annotation.core import copied

pytestmark = pytest.mark.django_db
SCHEMA = pa.schema({"number": pa.int64(), "name": pa.string()})
ROWS = 3_000


@pytest.fixture
def people():
    people = [User(email=f"{n}@example.org", name=f"„{n}“" * (n % 7 + 1)) for n in range(ROWS)]
    return User.objects.filter(pk__in=[user.pk for user in User.objects.bulk_create(people)])


def named(people):
    return people.order_by("pk").values_list("pk", "name")


def test_copied_rows_are_those_of_the_query_in_blocks(people, monkeypatch):
    monkeypatch.setattr(copied, "BLOCK", 20_000)
    tables = list(copied.copied(named(people), SCHEMA))
    assert len(tables) > 2
    rows = [tuple(row.values()) for table in tables for row in table.to_pylist()]
    assert rows == list(named(people))


def test_no_rows_are_an_empty_table(people):
    assert copied.whole(named(people.filter(pk=0)), SCHEMA).num_rows == 0


def test_an_error_after_many_rows_is_raised_and_the_connection_serves_on(people, monkeypatch):
    monkeypatch.setattr(copied, "BLOCK", 20_000)
    last = people.aggregate(last=Max("pk"))["last"]
    # Not sorted: PostgreSQL sends the rows before the last as it goes.
    rows = people.annotate(quotient=Value(1) / (F("pk") - last)).values_list("pk", "quotient")
    tables = copied.copied(rows, pa.schema({"number": pa.int64(), "quotient": pa.int64()}))
    with pytest.raises(DataError, match="division by zero"), transaction.atomic():
        list(tables)
    assert User.objects.filter(pk=last).exists()
