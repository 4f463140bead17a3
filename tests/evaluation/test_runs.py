"""Runs that workers carry out: once, in turns, and on again after a stop."""

import pytest
from django.urls import reverse

from annotation.core.errors import Conflict
from annotation.evaluation import runs, tasks
from annotation.evaluation.models import Reply, Run
from annotation.evaluation.systems import Measurement
from tests.at_once import at_once
from tests.evaluation.conftest import ask, page, scripted
from tests.scripted_endpoint import NO_CREDIT

pytestmark = pytest.mark.django_db


def request(release):
    wanted = runs.of_release(release, Measurement("scripted", "none"))
    return runs.start(wanted, background=True)


def test_a_run_that_workers_carry_out_is_not_asked_for_twice(cast, release, server, login):
    browser = login(cast.person("Carol"))
    ask(browser, release, confirmed="1")
    assert "asked already" in ask(browser, release, confirmed="1").text
    assert ask(browser, release, confirmed="1", setting="none").status_code == 302
    assert ask(browser, release, confirmed="1", limit="1").status_code == 302
    Run.objects.filter(setting="persona", limit=None).update(status="failed")
    assert ask(browser, release, confirmed="1").status_code == 302
    assert Run.objects.count() == 4


@pytest.mark.django_db(transaction=True)
def test_two_requests_at_once_make_one_run(release, server):
    def once():
        try:
            return request(release)
        except Conflict as refusal:
            return refusal.code

    assert at_once(once, once)[1] == "under_way"
    assert Run.objects.count() == 1


def test_a_worker_goes_on_in_turns_and_asks_nothing_twice(cast, release, server, monkeypatch):
    run = request(release)
    monkeypatch.setattr(tasks, "TURN_SECONDS", 0)
    for _ in range(60):
        if runs.due() == []:
            break
        runs.carry_on(run.pk, tasks.TURN_SECONDS)
    run.refresh_from_db()
    assert run.status == "done"
    # What was on its way at a turn's end is asked again: four calls, and four that waited.
    assert 36 <= server.calls <= 36 + 8 * run.attempts
    assert run.attempts > 1
    assert Reply.objects.count() == 36


def test_a_run_that_stopped_goes_on_from_the_page(cast, release, server, login):
    server.answer = lambda request, n: NO_CREDIT
    run = request(release)
    tasks.work(run.pk)
    browser = login(cast.person("Carol"))
    assert "no credit" in browser.get(page(release)).text
    server.answer = scripted
    again = reverse("models-again", args=["tea", 1, run.public_id])
    assert browser.post(again).status_code == 302
    tasks.notify_due()
    tasks.work(run.pk)
    run.refresh_from_db()
    assert (run.status, run.result["n"]) == ("done", 18)
    browser.post(again)
    assert "Only a run that stopped" in browser.get(page(release)).text
