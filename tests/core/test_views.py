"""The two pages that probes ask: JSON whatever the method, and whatever is away."""

import pytest
from django.db import OperationalError
from django.db.backends.postgresql.base import DatabaseWrapper
from django.test import Client

LIVE, READY = "/health/live", "/health/ready"


@pytest.mark.parametrize("path", [LIVE, READY])
@pytest.mark.parametrize("method", ["post", "put", "patch", "delete", "options"])
def test_health_answers_other_methods_in_json(db, path, method):
    answer = getattr(Client(enforce_csrf_checks=True), method)(path)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD")
    assert answer.json() == {"status": "method not allowed"}


def test_a_probe_with_a_persons_cookie_is_told_of_the_database_in_json(
    tea, cast, login, monkeypatch
):
    def away(*_arguments):
        raise OperationalError("away")

    client = login(cast.member("Ann", tea, "annotator"))
    with monkeypatch.context() as patch:
        patch.setattr(DatabaseWrapper, "get_new_connection", away)
        answer = client.get(READY)
    parts = {"database": "unavailable", "migrations": "unavailable", "broker": "ok"}
    assert (answer.status_code, answer.json()) == (503, {"status": "unavailable", **parts})


def test_a_body_that_is_too_large_is_a_problem_of_its_own(cast, settings, login):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    client = login(cast.person("Ann"))
    answer = client.post("/api/v1/histories/", "x" * 101, content_type="application/json")
    assert (answer.status_code, answer["Content-Type"]) == (413, "application/problem+json")
    assert answer.json()["detail"] == "Nothing was changed."


@pytest.mark.parametrize(
    ("path", "status", "title"),
    [("/api/v1/", 401, "Unauthorized"), ("/api/nothing/", 404, "Not Found")],
)
def test_a_problem_has_the_phrase_of_its_status_for_a_title(client, db, path, status, title):
    problem = client.get(path).json()
    assert (problem["status"], problem["title"], problem["type"]) == (status, title, "about:blank")
    assert set(problem) == {"type", "title", "status", "code", "detail", "request"}
