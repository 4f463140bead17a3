"""Broken requests to every route by every kind of member: refused with a sentence, never a 5xx.

The suite sends a few to each; ``make fuzz`` as many as EXAMPLES says.
"""

import json
import os
import random
from urllib.parse import quote

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.urls import reverse

from tests.security.table import TABLE

pytestmark = pytest.mark.long

EXAMPLES = int(os.environ.get("ATTUNE_FUZZ_EXAMPLES") or 3)
PEOPLE = ("anonymous", "ann", "researcher", "curator", "administrator", "site")
TEXTS = (
    *("", " ", "x" * 5_000, "\x00", "a\x00b", "\u202e", "\ufeff", "é", "数", "😀", "-1", "0", "1"),
    *("99999999999999999999999", "1e400", "NaN", "true", "null", "[]", "{}", "[" * 3_000),
    *("' OR 1=1 --", "<script>", "%00", "../../etc/passwd", "2026-13-45", "\r\nX: y", "\\ud800"),
)
VALUES = (
    *TEXTS,
    None,
    True,
    -1,
    0,
    2**63,
    10**30,
    0.5,
    [],
    {},
    [None],
    [[[]]],
    {"a": {}},
    "\ud800",
)


def form(dice: random.Random, fields: dict) -> dict:
    """The route's own fields with some of them spoilt, and one that it does not know."""
    data = {name: value for name, value in fields.items() if value is not None}
    for name in [*data, "page", "action", "unknown"]:
        if dice.random() < 0.6:
            data[name] = dice.choice(TEXTS)
        elif dice.random() < 0.1:
            data[name] = SimpleUploadedFile("x", dice.choice(TEXTS).encode())
    return data


def body(dice: random.Random, fields: dict) -> str:
    """JSON with spoilt values, or text that is no JSON."""
    if dice.random() < 0.1:
        return dice.choice(TEXTS)
    spoilt = {name: dice.choice(VALUES) if dice.random() < 0.6 else fields[name] for name in fields}
    spoilt |= {dice.choice(("unknown", "study", "id", "")): dice.choice(VALUES)}
    return json.dumps(spoilt, default=str)


def send(dice: random.Random, client, row, method: str, address: str, fields: dict):
    if method not in ("POST", "PUT", "PATCH"):
        names = ("page", "q", "task", "tier", "format", "cursor", "all", "chart", "panel")
        query = "&".join(f"{name}={quote(dice.choice(TEXTS))}" for name in dice.sample(names, 3))
        return client.generic(method, f"{address}?{query}")
    if row.api:
        headers = {"Idempotency-Key": dice.choice(("k", "", "x" * 300))}
        kind = dice.choice(("application/json",) * 5 + ("text/plain",))
        sent = body(dice, fields).encode(errors="replace")
        return client.generic(method, address, sent, kind, headers=headers)
    return client.post(address, form(dice, fields))


@pytest.mark.parametrize("name", sorted(TABLE))
def test_no_broken_request_is_a_fault_of_ours(world, name, settings):
    settings.ACCOUNT_RATE_LIMITS = settings.MFA_RATE_LIMITS = False
    row, dice, faults = TABLE[name], random.Random(name), []  # noqa: S311 - the same requests each time
    address = reverse(name, kwargs=row.args(world))
    methods = sorted(row.methods) or ["GET", "POST"]
    for number in range(EXAMPLES):
        role, method = dice.choice(PEOPLE), dice.choice(methods)
        client = world.program(role) if row.api and number % 2 else world.browser(role)
        with transaction.atomic():
            response = send(dice, client, row, method, address, dict(row.data(world) or {}))
            if response.streaming:
                b"".join(response)
            transaction.set_rollback(True)
        if response.status_code >= 500:
            faults.append(f"{method} {address} as {role}, number {number}: {response.status_code}")
    assert not faults, "\n".join(faults)
