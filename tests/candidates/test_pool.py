"""Calls at once: as many as the endpoint takes, each row held by one attempt."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from annotation.candidates import calls, generate, writing
from annotation.candidates.models import Candidate
from annotation.core import jobs
from tests.candidates.conftest import PROFILE
from tests.scripted_endpoint import ScriptedEndpoint


@pytest.mark.django_db(transaction=True)
def test_a_pool_makes_as_many_calls_at_once_as_the_endpoint_takes(cast, settings):
    study = cast.study("tea")
    persona = cast.persona(study, **PROFILE)
    for n in range(9):
        cast.query(study, f"q{n}", persona, text=f"Where shall I walk on day {n}?")
    with ScriptedEndpoint(latency=0.3) as endpoint:
        settings.ENDPOINTS = [endpoint.config(concurrency=3)]
        generate.request_answers(study, strategies=["A3"])
        writing.work()
        assert (endpoint.calls, endpoint.most_at_once) == (9, 3)
    assert Candidate.objects.filter(status="done").count() == 9


@pytest.mark.django_db(transaction=True)
def test_a_worker_gives_signs_while_models_write(cast, settings, monkeypatch):
    study = cast.study("tea")
    for n in range(2):
        cast.query(study, f"q{n}")
    signs = []
    monkeypatch.setattr(jobs, "RENEW_SECONDS", 0.1)
    monkeypatch.setattr(jobs, "pulse", lambda: lambda: signs.append(1))
    with ScriptedEndpoint(latency=1) as endpoint:
        settings.ENDPOINTS = [endpoint.config(concurrency=2)]
        generate.request_answers(study, strategies=["A3"])
        writing.work()
    assert Candidate.objects.filter(status="done", attempts=1).count() == 2
    assert len(signs) > 5


@pytest.mark.django_db(transaction=True)
def test_a_row_that_breaks_the_writer_keeps_its_lease_and_the_others_are_written(
    cast, settings, monkeypatch
):
    study = cast.study("tea")
    for n in range(3):
        cast.query(study, f"q{n}")
    broken = writing.WRITE[Candidate]

    def write(row):
        if row.query.external_id == "q1":
            raise ZeroDivisionError
        broken(row)

    monkeypatch.setitem(writing.WRITE, Candidate, write)
    with ScriptedEndpoint() as endpoint:
        settings.ENDPOINTS = [endpoint.config(concurrency=3)]
        generate.request_answers(study, strategies=["A3"])
        writing.work()
    rows = Candidate.objects.order_by("query__external_id")
    assert list(rows.values_list("status", flat=True)) == ["done", "running", "done"]


def test_studies_take_turns_however_much_each_asks_for(cast, settings):
    for slug, queries in (("tea", 9), ("rain", 2)):
        for n in range(queries):
            cast.query(cast.study(slug), f"q{n}")
    with ScriptedEndpoint() as endpoint:
        settings.ENDPOINTS = [endpoint.config(concurrency=5)]
        for slug in ("tea", "rain"):
            generate.request_answers(cast.study(slug), strategies=["A3"])
        slugs = [Candidate.objects.get(pk=pk).study.slug for pk in calls.calls_due()]
    assert len(slugs) == 5
    assert set(slugs[:2]) == set(slugs[2:4]) == {"tea", "rain"}
    assert slugs[4] == "tea"


@pytest.mark.django_db(transaction=True)
def test_workers_have_so_many_pools_at_once(settings):
    def other() -> bool:
        """Whether a second worker would get a place."""
        try:
            with writing.place() as free:
                return free
        finally:
            connection.close()

    with writing.place() as free, ThreadPoolExecutor(1) as executor:
        assert free
        assert executor.submit(other).result() is False
        settings.GENERATION_POOLS = 2
        assert executor.submit(other).result() is True
    with writing.place() as again:
        assert again
