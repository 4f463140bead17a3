"""Requests made from the OpenAPI document by schemathesis, as every kind of member: never a 5xx.

The suite sends a few to each operation; ``make fuzz`` as many as EXAMPLES says.
"""

import json
import re
from urllib.parse import urlencode

import pytest
from django.db import transaction
from django.urls import resolve, reverse
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.security.table import TABLE
from tests.security.test_fuzz import EXAMPLES, PEOPLE

pytestmark = pytest.mark.long

NAMES = sorted(name for name, row in TABLE.items() if row.api)
QUIET = settings(
    max_examples=EXAMPLES,
    database=None,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def operations():
    """{(path, method): operation} of the document."""
    import schemathesis  # seconds, which no other file's worker has to wait

    document = SchemaGenerator().get_schema(request=None, public=True)
    schema = schemathesis.openapi.from_dict(json.loads(json.dumps(document, default=str)))
    found = [result.ok() for result in schema.get_all_operations()]
    return {(shape(operation.path), operation.method.upper()): operation for operation in found}


def shape(path: str) -> str:
    """A path without the names of its parts: the document calls some of them otherwise."""
    return re.sub(r"{\w+}", "{}", path)


def template(address: str) -> str:
    """The shape of an address: /api/v1/studies/{}/."""
    return "/" + re.sub(r"<[^>]+>", "{}", resolve(address).route)


def send(client, case, address: str):
    """The case's query, headers and body, at an address that exists."""
    query = urlencode(
        {name: str(value).encode(errors="replace") for name, value in (case.query or {}).items()},
        doseq=False,
    )
    headers = {
        name: str(value).encode("latin-1", errors="replace").decode("latin-1")
        for name, value in (case.headers or {}).items()
        if name.lower() not in ("authorization", "content-length")
    }
    body = case.body
    if not isinstance(body, bytes):
        body = b"" if type(body).__name__ == "NotSet" else json.dumps(body, default=str).encode()
    kind = case.media_type or "application/json"
    where = f"{address}?{query}" if query else address
    return client.generic(case.method.upper(), where, body, kind, headers=headers)


@pytest.mark.parametrize("name", NAMES)
def test_no_request_that_the_schema_describes_is_a_fault_of_ours(world, operations, name):
    address = reverse(name, kwargs=TABLE[name].args(world))
    path, faults = template(address), []
    for (where, _), operation in operations.items():
        if where != path:
            continue

        @QUIET
        @given(case=operation.as_strategy(), role=st.sampled_from(PEOPLE))
        def ask(case, role):
            with transaction.atomic():
                response = send(world.program(role), case, address)
                if response.streaming:
                    b"".join(response)
                transaction.set_rollback(True)
            if response.status_code >= 500:
                faults.append(f"{case.method} {address} as {role}: {case.query} {case.body!r}")

        ask()
    assert faults == []


def test_every_operation_of_the_document_is_asked(world, operations):
    addresses = [reverse(name, kwargs=TABLE[name].args(world)) for name in NAMES]
    assert {path for path, _ in operations} - {template(address) for address in addresses} == set()
