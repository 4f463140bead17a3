"""What logs hold: ids, never a key, an address or a traceback of a refusal."""

import json
import logging
import sys

import psycopg
import pytest
from django.db import InternalError, OperationalError
from django.test import Client

from annotation.core import logs
from annotation.core.logs import masked
from annotation.studies.models import Invitation, JoinCode

UUID = "0b8e5f9c-0c3d-4f57-9a3e-2f7d8f1e6a55"


@pytest.fixture
def lines():
    """The lines that reach the log, as the server writes them."""
    written = []

    class Keeper(logging.Handler):
        def emit(self, record):
            written.append(self.format(record))

    handler = Keeper()
    handler.addFilter(logs.Context())
    handler.setFormatter(logs.Line())
    logging.getLogger().addHandler(handler)
    yield written
    logging.getLogger().removeHandler(handler)


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/invitations/abc/", "/invitations/.../"),
        ("/join/K7F2/", "/join/.../"),
        ("/join/study/", "/join/study/"),
        ("/crowd/eyJzIjoxfQ:1u/", "/crowd/.../"),
        ("/crowd/returned/", "/crowd/returned/"),
        ("/accounts/password/reset/key/1-set-password/", "/accounts/password/reset/key/.../"),
        ("/accounts/confirm-email/Mg:abc/", "/accounts/confirm-email/.../"),
        ("/x/abcdefghijklmnopqrstuvwxyz/", "/x/.../"),
        *[(path, path) for path in (f"/history/{UUID}/", "/studies/tea/judge/")],
    ],
)
def test_keys_in_a_path_are_masked(path, shown):
    assert masked(path) == shown


def test_no_key_reaches_the_log(tea, lines):
    client = Client()
    _, key = Invitation.issue(tea, "annotator")
    _, code = JoinCode.issue(tea, uses=1, days=1)
    for path in (f"/invitations/{key}x/", f"/join/{code}/x/", f"/crowd/{key}/", f"/nothing/{key}/"):
        assert client.get(path).status_code == 404
    text = "\n".join(lines)
    assert "/invitations/..." in text
    assert key not in text
    assert code not in text


def test_a_refusal_is_one_line(tea, cast, login, lines):
    assert (
        login(cast.member("Ann", tea, "annotator")).get("/studies/tea/people/").status_code == 403
    )
    (line,) = [line for line in lines if "/people/" in line]
    assert "\n" not in line


def test_a_request_id_comes_in_and_goes_out_and_stands_in_the_log(client, db, lines):
    answer = client.get("/nothing/", headers={"X-Request-ID": "proxy-4711"})
    assert answer.headers["X-Request-ID"] == "proxy-4711"
    assert any("[proxy-4711]" in line for line in lines)
    assert "proxy-4711" in answer.content.decode()


@pytest.mark.parametrize("sent", ["", "short", "x" * 65, "a b c d e f g", "<script>alert(1)"])
def test_an_odd_request_id_is_replaced(client, db, sent):
    name = client.get("/health/live", headers={"X-Request-ID": sent}).headers["X-Request-ID"]
    assert (len(name), name == sent) == (32, False)


def test_a_json_line_has_ids_and_no_database_details():
    words = "broken\nDETAIL:  Key (email)=(ann@example.org) already exists."
    try:
        raise ValueError(words)
    except ValueError:
        record = logging.LogRecord("a", 40, "", 1, "it %s", ("/join/K7F2/",), sys.exc_info())
    logs.Context().filter(record)
    entry = json.loads(logs.Json().format(record))
    assert (entry["message"], entry["level"]) == ("it /join/.../", "error")
    assert "ValueError: broken" in entry["traceback"]
    assert "ann@example.org" not in json.dumps(entry)


def test_a_database_that_is_away_is_one_line_with_its_sqlstate(client, db, lines, monkeypatch):
    def away(request):
        raise OperationalError("timeout") from psycopg.errors.QueryCanceled("DETAIL: secret")

    client.raise_request_exception = False
    monkeypatch.setattr("annotation.core.views.MigrationExecutor", lambda *a: away(None))
    answer = client.get("/health/ready")
    assert answer.status_code == 503
    monkeypatch.setattr("annotation.core.views._migrations", lambda: away(None))
    answer = client.get("/health/ready")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    (line,) = [line for line in lines if "SQLSTATE" in line]
    assert "database unavailable: OperationalError, SQLSTATE 57014" in line
    assert not any("Traceback" in line or "secret" in line for line in lines)


def test_a_commit_that_the_databases_end_cut_short_is_an_outage_and_no_fault_of_ours(
    client, db, lines, monkeypatch
):
    def ends(cause):
        def commit():
            raise InternalError("broken") from cause

        client.raise_request_exception = False
        monkeypatch.setattr("annotation.core.views._migrations", commit)
        return client.get("/health/ready").status_code

    assert ends(psycopg.InternalError("received 2 results from command 'COMMIT'")) == 503
    (line,) = [line for line in lines if "SQLSTATE" in line]
    assert "database unavailable: InternalError, SQLSTATE none" in line
    assert ends(psycopg.errors.InFailedSqlTransaction("ours")) == 500


def test_a_fault_of_ours_shows_the_requests_id(client, db, monkeypatch):
    def broken():
        raise ValueError

    client.raise_request_exception = False
    monkeypatch.setattr("annotation.core.views._migrations", broken)
    answer = client.get("/health/ready", headers={"X-Request-ID": "proxy-4711"})
    assert answer.status_code == 500
    assert "proxy-4711" in answer.content.decode()


def test_being_alive_asks_no_database(tea, cast, login, django_assert_num_queries):
    client = login(cast.member("Ann", tea, "annotator"))
    with django_assert_num_queries(0):
        assert client.get("/health/live").status_code == 200
