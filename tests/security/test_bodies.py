"""Bodies, addresses and headers that nobody in their right mind sends: a sentence, never a 500."""

import json
import string
from uuid import UUID

import pytest
from django.db import transaction
from django.urls import reverse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

PROBLEM = "application/problem+json"
ONCE = settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
HOSTILE = {
    "lone surrogate": b'{"choice": "\\ud800"}',
    "surrogate key": b'{"\\udfff": 1}',
    "NUL": b'{"choice": "tie", "reason": "a\\u0000b"}',
    "NUL key": b'{"\\u0000": 1}',
    "NaN": b'{"choice": "tie", "seconds": NaN}',
    "Infinity": b'{"choice": "tie", "seconds": -Infinity}',
    "1e400": b'{"choice": "tie", "seconds": 1e400}',
    "1e400 elsewhere": b'{"choice": "tie", "other": [1e400]}',
    "huge integer": b'{"choice": "tie", "seconds": ' + b"9" * 5_000 + b"}",
    "nested lists": b'{"choice": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "nested objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "never closed": b"[" * 100_000,
    "bad UTF-8": b'{"choice": "\xff\xfe"}',
    "UTF-16": '{"choice": "tie"}'.encode("utf-16"),
    "byte order mark": b"\xef\xbb\xbf{}",
    "a list": b"[]",
    "a string": b'"tie"',
    "a number": b"1",
    "null": b"null",
    "two documents": b"{}{}",
    "no JSON": b"choice=tie",
    "a form": b"choice=tie&key=k",
    "choice a list": b'{"choice": ["tie"]}',
    "choice an object": b'{"choice": {"a": 1}}',
    "choice null": b'{"choice": null}',
    "choice true": b'{"choice": true}',
    "nothing": b"",
    "empty": b"{}",
    "same key twice": b'{"choice": "x", "choice": "y"}',
    "reason a number": b'{"choice": "tie", "reason": 5}',
    "flags a string": b'{"choice": "tie", "flags": "unsafe"}',
    "flags of objects": b'{"choice": "tie", "flags": [{}]}',
    "long": b'{"choice": "tie", "reason": "' + b"x" * 100_000 + b'"}',
    "too large": b'{"reason": "' + b"x" * 3_000_000 + b'"}',
}


def judgment(world) -> str:
    return reverse("api-judgment", args=[world.mine.slot.pk])


def send(world, address, body, kind="application/json", **headers):
    """Status of one request by Ann's program, undone again."""
    with transaction.atomic():
        response = world.program("ann").generic(
            "POST", address, body, kind, headers={"Idempotency-Key": "k", **headers}
        )
        transaction.set_rollback(True)
    if response.status_code >= 400:
        assert response["Content-Type"] == PROBLEM
        problem = response.json()
        assert problem["status"] == response.status_code
        assert problem["detail"]
        assert "Traceback" not in problem["detail"]
    return response.status_code


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_judgment_is_refused_with_a_sentence(world, name):
    status = send(world, judgment(world), HOSTILE[name])
    assert 400 <= status < 500
    assert world.fingerprint.changed() == set()


def test_what_a_hostile_body_says_reaches_neither_claim_nor_release(world):
    wrong = {}
    for name, body in HOSTILE.items():
        for route, args in (("api-claim", ["tea"]), ("api-release", [world.mine.slot.pk])):
            status = send(world, reverse(route, args=args), body)
            if status >= 500:
                wrong[name, route] = status
    assert wrong == {}


@pytest.mark.parametrize(
    "kind",
    ["text/html", "multipart/form-data", "multipart/form-data; boundary=x", "", "x/y; charset"],
)
def test_another_kind_of_body_is_refused(world, kind):
    assert send(world, judgment(world), b'{"choice": "tie"}', kind) in (400, 415)


@pytest.mark.parametrize("key", ["", "k" * 201, "a\tb", "é\x80", "\x7f"])
def test_a_key_that_cannot_be_kept_is_refused(world, key):
    option = world.mine.slot.item.options.first()
    body = json.dumps({"choice": str(option.candidate_id)})
    assert send(world, judgment(world), body, **{"Idempotency-Key": key}) == 400


SEGMENTS = st.text(string.printable, max_size=20) | st.sampled_from(
    ["%00", "%ff", "%2e%2e", "..", "%ud800", str(UUID(int=0)), "9" * 40, "-1", "é", "tea", "\u0000"]
)


@given(parts=st.lists(SEGMENTS, max_size=4), api=st.booleans())
@ONCE
def test_no_address_breaks_the_site(world, parts, api):
    path = "/api/v1/" if api else "/studies/"
    response = world.browser("curator").get(path + "/".join(parts))
    assert response.status_code < 500


@pytest.mark.parametrize("number", ["9" * 19, "9" * 40, "2147483648"])
@pytest.mark.parametrize("name", ["member", "revoke", "close-batch", "token-revoke"])
def test_a_number_too_large_for_the_database_is_unknown(world, name, number):
    key = "batch" if name == "close-batch" else "pk"
    args = {key: int(number)} | ({} if name == "token-revoke" else {"slug": "tea"})
    assert world.browser("administrator").post(reverse(name, kwargs=args)).status_code == 404


@pytest.mark.parametrize(
    "query",
    [
        *(
            "owner__password__startswith=p",
            "annotator__password__regex=.",
            "ordering=annotator__email",
        ),
        *("search=secret", "fields=password", "_connector=OR", "page_size=0", "page_size=-1"),
        *("page_size=99999999999999999999", "cursor=x", "cursor=%00", "cursor=cD0w", "format=api"),
        *("cursor=cD14", "cursor=cD0lMDA=", "cursor=cj0xJnA9YWJj", "cursor=cD05OTk5OTk5OTk5OTk5OQ"),
    ],
)
def test_no_query_is_a_lookup_into_the_database(world, query):
    client = world.program("curator")
    address = reverse("api-judgments", args=["tea"])
    plain, asked = client.get(address), client.get(f"{address}?{query}")
    assert asked.status_code in (200, 400, 404)
    if asked.status_code == 200:
        assert asked.json()["results"] == plain.json()["results"]
    else:
        assert asked["Content-Type"] == PROBLEM


def test_a_page_of_the_api_is_capped(world):
    address = reverse("api-studies") + "?page_size=1000000"
    request = world.program("site").get(address).wsgi_request
    from rest_framework.request import Request

    from annotation.api.http import Cursor

    assert Cursor().get_page_size(Request(request)) == 1000
