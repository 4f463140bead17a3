"""The one process of both workers: short work that ends by itself ends the process."""

import os
import signal

import pytest
from celery import Celery
from celery.worker import state

from annotation import worker


@pytest.fixture
def ended(monkeypatch):
    """The signals that the process sends itself; its short worker fails at once."""
    sent = []

    class Failing:
        def __init__(self, **options):
            assert options["queues"] == ["notices", "webhooks"]

        def start(self):
            raise OSError("no more files")

    monkeypatch.setattr(Celery, "WorkController", Failing)
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append((pid, number)))
    with pytest.raises(OSError, match="no more files"):
        worker.short_worker()
    return sent


def test_short_work_that_fails_ends_the_process_so_that_it_is_started_again(ended):
    assert ended == [(os.getpid(), signal.SIGTERM)]


class TestWhileTheProcessEnds:
    @pytest.fixture(autouse=True)
    def _told_to_end(self, monkeypatch):
        monkeypatch.setattr(state, "should_stop", 0)

    def test_it_is_not_told_again(self, ended):
        assert ended == []
