"""Calls at once: as many as the endpoint takes, each row held by one attempt."""

import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext

from annotation.candidates import calls, generate, pool, results, spending
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
        generate.request(study, strategies=["A3"])
        pool.work(study=study)
        assert (endpoint.calls, endpoint.most_at_once) == (9, 3)
    assert Candidate.objects.filter(status="done").count() == 9


@pytest.mark.django_db(transaction=True)
def test_one_thread_renews_the_leases_of_a_pool(cast, settings, monkeypatch):
    study = cast.study("tea")
    for n in range(2):
        cast.query(study, f"q{n}")
    renewed = []
    renew = jobs.renew_some
    monkeypatch.setattr(jobs, "RENEW_SECONDS", 0.1)
    monkeypatch.setattr(
        jobs,
        "renew_some",
        lambda *rows: renewed.append((renew(*rows), threading.get_ident())),
    )
    with ScriptedEndpoint(latency=1) as endpoint:
        settings.ENDPOINTS = [endpoint.config(concurrency=2)]
        generate.request(study, strategies=["A3"])
        pool.work(study=study)
    assert {count for count, _thread in renewed} >= {2}
    assert {thread for _count, thread in renewed} == {threading.get_ident()}
    assert Candidate.objects.filter(status="done").count() == 2


def test_only_the_attempt_that_holds_a_row_renews_its_lease(cast, settings):
    study = cast.study("tea")
    for n in range(3):
        cast.query(study, f"q{n}")
    with ScriptedEndpoint() as endpoint:
        settings.ENDPOINTS = [endpoint.config(concurrency=3)]
        generate.request(study, strategies=["A3"])
        rows = calls.claim_some("scripted", deque(calls.upcoming("scripted", 3)), 3)
    Candidate.objects.update(lease_expires_at=Now())
    Candidate.objects.filter(pk=rows[0].pk).update(attempts=2)
    Candidate.objects.filter(pk=rows[1].pk).update(status="done")
    assert jobs.renew_some(Candidate, rows) == 1
    renewed = Candidate.objects.filter(lease_expires_at__gt=Now() + jobs.LEASE / 2)
    assert list(renewed) == [rows[2]]


def test_many_rows_are_taken_accounted_for_and_stored_in_as_many_statements_as_one(cast, settings):
    study = cast.study("tea")
    for n in range(4):
        cast.query(study, f"q{n}")
    counts = []
    with ScriptedEndpoint() as endpoint:
        settings.ENDPOINTS = [endpoint.config(concurrency=9)]
        rows = deque(generate.request(study, strategies=["A3"]))
        for number in (1, 3):
            with CaptureQueriesContext(connection) as statements:
                taken = calls.claim_some("scripted", rows, number)
            written = [generate.write(row) for row in taken]
            wish = spending.Wish(study.pk, 10, Decimal(0), True)
            with CaptureQueriesContext(connection) as more:
                reserved = spending.account([], [], [wish] * number)
                settled = [spending.Settlement(row, 5, Decimal(0)) for row in reserved]
                paid = [spending.Payment(Candidate, row.pk, 1, 1, Decimal(0), 1) for row in taken]
                spending.account(settled, paid, [])
                results.store_answers(written)
            counts.append((len(taken), len(statements), len(more)))
    assert Candidate.objects.filter(status="done").count() == 4
    (single, *few), (several, *many) = counts
    assert (single, several, few) == (1, 3, many)


def test_studies_take_turns_however_much_each_asks_for(cast, settings):
    for slug, queries in (("tea", 9), ("rain", 2)):
        for n in range(queries):
            cast.query(cast.study(slug), f"q{n}")
    with ScriptedEndpoint() as endpoint:
        settings.ENDPOINTS = [endpoint.config(concurrency=3)]
        for slug in ("tea", "rain"):
            generate.request(cast.study(slug), strategies=["A3"])
        slugs = [row.study.slug for row in calls.upcoming("scripted", 6)]
    assert len(slugs) == 5
    assert set(slugs[:2]) == set(slugs[2:4]) == {"tea", "rain"}
    assert slugs[4] == "tea"


@pytest.mark.django_db(transaction=True)
def test_workers_have_so_many_pools_at_once(settings):
    def other() -> bool:
        """Whether a second worker would get a place."""
        try:
            with pool.place() as free:
                return free
        finally:
            connection.close()

    with pool.place() as free, ThreadPoolExecutor(1) as executor:
        assert free
        assert executor.submit(other).result() is False
        settings.GENERATION_POOLS = 2
        assert executor.submit(other).result() is True
    with pool.place() as again:
        assert again
