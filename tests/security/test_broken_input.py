"""Requests that were answered with a 500 once: each is refused with a sentence, or understood."""

import json

import pytest
import redis

from annotation.judging.models import Draft, Slot
from annotation.judging.work import queue


@pytest.fixture
def ann(cast, tea, login):
    cast.open(tea, marks=True, tie=True)
    return login(cast.member("Ann", tea, "annotator"))


def held(cast, tea) -> Slot:
    return Slot.objects.get(pk=queue.claim(tea, cast.person("Ann")))


def test_a_draft_keeps_the_typed_signs_of_an_escaped_nul(cast, tea, ann):
    slot = held(cast, tea)
    data = {"slot": slot.pk, "reason": r"a \u0000 b \ud800 c"}
    assert ann.post("/studies/tea/judge/draft/", data).status_code == 204
    assert Draft.objects.get().data["reason"] == [r"a \u0000 b \ud800 c"]


@pytest.mark.parametrize("option", [[], {}, None, [[]]])
def test_a_mark_on_no_option_is_refused_with_a_sentence(cast, tea, ann, option):
    slot = held(cast, tea)
    body = {"choice": "tie", "marks": [{"option": option, "start": 0, "end": 1}]}
    answer = ann.post(
        f"/api/v1/slots/{slot.pk}/judgment/",
        json.dumps(body),
        content_type="application/json",
        headers={"Idempotency-Key": "one"},
    )
    assert (answer.status_code, answer.json()["code"]) == (400, "marks")


@pytest.mark.parametrize(
    "path",
    ["tasks/?task=%00", "tasks/?kind=%00", "results/?tier=%00", "releases/?page=%00"],
)
def test_nul_in_an_address_is_a_bad_request(cast, tea, login, path):
    page = login(cast.member("Carol", tea, "curator"))
    assert page.get(f"/studies/tea/{path}").status_code == 400


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("/accounts/login/", {"login": "ann@example.org", "password": "x"}),
        ("/accounts/password/reset/", {"email": "ann@example.org"}),
        ("/join/", {"code": "ABCD-EFGH"}),
    ],
)
def test_without_redis_a_door_answers_503_with_a_sentence(client, cast, path, data, monkeypatch):
    cast.person("Ann")
    client.raise_request_exception = False

    def away(*args, **kwargs):
        raise redis.ConnectionError("refused")

    monkeypatch.setattr("django.core.cache.backends.redis.RedisCacheClient.get_client", away)
    answer = client.post(path, data)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert "A part of the server is not answering" in answer.content.decode()


def test_the_page_of_a_fault_is_in_the_readers_language_and_leads_on(client, cast, monkeypatch):
    client.raise_request_exception = False
    monkeypatch.setattr("django.core.cache.backends.redis.RedisCacheClient.get_client", None)
    data = {"login": "ann@example.org", "password": "x"}
    answer = client.post("/accounts/login/", data, headers={"accept-language": "ko"})
    page = answer.content.decode()
    assert (answer.status_code, '<html lang="ko">' in page) == (500, True)
    assert '<a role="button" href="/">' in page
