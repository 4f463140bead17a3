"""Every address of the site, asked in every way by everybody, or by the ends of who is alike."""

import json
import os
import re

import pytest
from django.db import transaction
from django.urls import URLPattern, get_resolver, reverse

from annotation import policies
from annotation.core.models import AuditEvent
from annotation.studies.access import PAGES
from tests.security import policy
from tests.security.conftest import writes
from tests.security.table import METHODS, ROLES, TABLE, UNKNOWN

pytestmark = pytest.mark.long


def routes(patterns=None, prefix="") -> dict:
    """Name -> route of every pattern that the resolver knows."""
    found = {}
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            found[pattern.name or f"unnamed: {route}"] = route
        else:
            found |= routes(pattern.url_patterns, route)
    return found


OVERRIDES = ("X-HTTP-Method-Override", "X-Method-Override", "X-HTTP-Method")
PROBLEM = "application/problem+json"
# `make proofs` asks in every way as every role.
EVERY = bool(os.environ.get("ATTUNE_EVERY_ROLE"))
FEW = {"anonymous", "site"}
# Unknown in one place whatever is asked for: whose account was closed, as who is logged out; who
# never was a member, as who left.
TWINS = {"gone": "anonymous", "outsider": "left"}
FRAGMENT_ROLES = ("anonymous", "outsider", "ann")
# The word alone: the random letters of a form's token spell it now and then.
NAMES_RAIN = re.compile(r"(?<![a-z0-9])rain(?![a-z0-9])", re.IGNORECASE)
ROUTES = routes()
NAMES = sorted(set(ROUTES) & set(TABLE))


def test_every_route_has_a_row_and_every_row_a_route():
    assert set(ROUTES) - set(TABLE) == set(), "routes that nobody said anything about"
    assert set(TABLE) - set(ROUTES) == set(), "rows of routes that are gone"


def test_every_route_that_names_a_thing_says_which_foreign_one_it_must_refuse(world):
    # allauth's rows name nobody's thing: their ids are of nothing at all.
    ours = [name for name in NAMES if not name.startswith(("account_", "mfa_", "openid_"))]
    naming = {name for name in ours if re.search("<(?!slug:slug)", ROUTES[name])}
    silent = {name for name in naming if not TABLE[name].foreign(world)}
    # The row's own 404s are the proof: the thing belongs to one person, all others are strangers.
    assert {name for name in silent if TABLE[name].refused != 404} == set()


def test_a_tab_is_offered_to_those_whom_its_page_lets():
    tabs = {url: page.may for url, page in PAGES.items()}
    # Annotators come to it from their desk, not by tabs.
    assert tabs.pop("messages") is policies.study.may_curate
    assert tabs == {url: TABLE[url].may["GET"] for url in tabs}


@pytest.fixture(autouse=True)
def _no_limits(settings):
    # The walk asks more often than a person may; test_doors.py shows that the limits exist.
    settings.ACCOUNT_RATE_LIMITS = False


def ask(client, method, row, world, args, **headers):
    """Status and change of one request, undone again; the answer's body is read to its end."""
    name = next(name for name, one in TABLE.items() if one is row)
    with transaction.atomic(), writes() as written:
        response = _send(client, method, reverse(name, kwargs=args), row, world, headers)
        body = b"".join(response) if response.streaming else response.content
        # Reading every row takes long: only after a request that may have written one.
        changed = bool(written and world.fingerprint.changed())
        transaction.set_rollback(True)
    return response, body.decode(errors="replace"), changed


def _send(client, method, address, row, world, headers):
    data = row.data(world) if method in ("POST", "PUT", "PATCH") else {}
    if row.api:
        body = {key: value for key, value in data.items() if key not in ("slot", "key")}
        headers = {"Idempotency-Key": "k", **headers}
        return client.generic(
            method, address, json.dumps(body), "application/json", headers=headers
        )
    if method in ("GET", "HEAD"):
        return getattr(client, method.lower())(address, headers=headers)
    if method == "POST":
        return client.post(address, data, headers=headers)
    return client.generic(method, address, headers=headers)


def clients(world, row, role, method):
    """Who asks: a browser; a call of the API is asked by a program, and as the FEW by both.

    What the row does not name is refused before anybody looks at who asks.
    """
    program = row.api and role != "anonymous"
    if program:
        yield "token", world.program(role)
    if not program or EVERY or (role in FEW and method in row.methods):
        yield "browser", world.browser(role)


def askers(row, method) -> list[str]:
    """The roles that ask so: of those that get the same status, the least and the most.

    Those between go by the policy alone, whose table test_policies.py has. HEAD, and what the row
    does not name, is asked as the site's alone; allauth's pages, which have no methods of ours, as
    the FEW.
    """
    if EVERY or not row.methods:
        return [role for role in ROLES if EVERY or role in FEW]
    ends = ["site"]
    if method in row.methods and method != "HEAD":
        status = {role: row.expected(method, role) for role in ROLES}
        asking = [role for role in ROLES if status.get(TWINS.get(role)) != status[role]]
        least = {status[role]: role for role in reversed(asking)}
        ends = [*least.values(), *{status[role]: role for role in asking}.values()]
    return [role for role in ROLES if role in ends or (method, role) in row.but]


@pytest.mark.parametrize("name", NAMES)
def test_each_role_gets_what_the_table_says_under_the_policy(world, name):
    row, wrong = TABLE[name], []
    args = row.args(world)
    for method in METHODS:
        for role in askers(row, method):
            want = row.expected(method, role)
            for how, client in clients(world, row, role, method):
                response, _body, changed = ask(client, method, row, world, args)
                got = response.status_code
                if method == "GET":
                    docs = name == "api-docs" and got == 200
                    policy.check(response, policy.DOCS if docs else policy.POLICY)
                may_change = row.restless or (method in row.changes and got < 400)
                if got != want or (changed and not may_change):
                    wrong.append(
                        f"{method} as {role} ({how}): {got}, not {want}{' CHANGED' * changed}"
                    )
                if want == 302 and role in UNKNOWN and row.leads not in response.url:
                    wrong.append(f"{method} as {role} goes to {response.url}")
                if row.api and got >= 400 and response["Content-Type"] != PROBLEM:
                    wrong.append(f"{method} as {role}: {response['Content-Type']}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", [name for name in NAMES if TABLE[name].may])
def test_whom_the_policy_of_the_table_refuses_the_address_refuses(world, monkeypatch, name):
    """So each address asks the very policy that its row names, before it does anything."""
    row, wrong = TABLE[name], []
    for method, may in row.may.items():
        allowed = [role for role in ROLES if role in row.allowed(method)]
        with monkeypatch.context() as patched:
            patched.setattr(may, "rule", lambda _: False)
            for role in {allowed[0], allowed[-1]}:
                response, _body, changed = ask(
                    world.browser(role), method, row, world, row.args(world)
                )
                if changed or response.status_code not in (403, 404):
                    wrong.append(f"{method} as {role}: {response.status_code}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", [n for n in NAMES if TABLE[n].methods.get("POST", 400) < 400])
def test_what_is_allowed_really_happens(world, name):
    """Otherwise the refusals above would prove nothing."""
    row = TABLE[name]
    role = next(role for role in reversed(ROLES) if row.expected("POST", role) < 400)
    role = "ann" if "ann" in row.allow and row.expected("POST", "ann") < 400 else role
    role = role if name != "consent" else "fresh"
    _response, _body, changed = ask(world.browser(role), "POST", row, world, row.args(world))
    assert changed or "POST" in row.inert


CHANGING = ("POST", "PUT", "PATCH", "DELETE")
# A worker records it when it has read the file (candidates.documents.add_documents).
RECORDED_LATER = {"sources-upload"}


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in NAMES
        if "ann" not in TABLE[name].allow
        and any(TABLE[name].methods.get(method, 400) < 400 for method in CHANGING)
    ],
)
def test_what_staff_changes_is_recorded(world, name):
    """Who did it, and what, in the audit trail; an annotator's work is its own record."""
    row = TABLE[name]
    for method in CHANGING:
        roles = [role for role in reversed(ROLES) if row.expected(method, role) < 400]
        if row.methods.get(method, 400) >= 400 or not roles or name in RECORDED_LATER:
            continue
        before = AuditEvent.objects.count()
        with transaction.atomic(), writes() as written:
            address = reverse(name, kwargs=row.args(world))
            _send(world.browser(roles[0]), method, address, row, world, {})
            recorded = AuditEvent.objects.count() > before
            changed = not recorded and written and world.fingerprint.changed()
            transaction.set_rollback(True)
        assert not changed, f"{method} as {roles[0]}"


@pytest.mark.parametrize("name", NAMES)
def test_a_foreign_thing_is_unknown_to_everybody(world, name):
    row, wrong = TABLE[name], []
    for args in row.foreign(world):
        # The site's administrator is a stranger to no study: only the address can be wrong then.
        for role in sorted(row.allow - (set() if "slug" in args else {"site"})):
            for method in row.methods:
                for how, client in clients(world, row, role, method):
                    response, body, changed = ask(client, method, row, world, args)
                    hidden = not NAMES_RAIN.search(body) and "bo@" not in body
                    refused = response.status_code in (403, 404)
                    if changed or not (refused and hidden):
                        wrong.append(f"{method} {args} as {role} ({how}): {response.status_code}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", [name for name in NAMES if not TABLE[name].api])
def test_a_fragment_is_no_other_door(world, name):
    """htmx asks for parts of pages: the same refusals, and the logged-out are told so."""
    row, wrong = TABLE[name], []
    for role in ROLES if EVERY else FRAGMENT_ROLES:
        for method in row.methods:
            want = row.expected(method, role)
            if want < 300:
                continue
            want = 401 if role in UNKNOWN and not row.public and want == 302 else want
            headers = {"HX-Request": "true"}
            response, _body, changed = ask(
                world.browser(role), method, row, world, row.args(world), **headers
            )
            got = response.status_code
            # A refused fragment may be swapped in: 409 is how a lost item is told.
            same = got == want or (want == 404 and got == 409)
            if want in (401, 403, 404) and not same:
                wrong.append(f"{method} as {role}: {got}, not {want}")
            if changed and want >= 400:
                wrong.append(f"{method} as {role} changed something")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", ["tokens", "tasks", "api-study", "api-tasks"])
def test_no_method_override_opens_a_door(world, name):
    row = TABLE[name]
    for method in {"GET", "POST"} & set(row.methods):
        headers = dict.fromkeys(OVERRIDES, "POST" if method == "GET" else "DELETE")
        response, _body, changed = ask(
            world.browser("site"), method, row, world, row.args(world), **headers
        )
        may_change = row.restless or method in row.changes
        assert response.status_code == row.expected(method, "site")
        assert may_change or not changed
