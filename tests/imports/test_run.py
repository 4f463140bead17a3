"""Imports whose process is killed in the middle, as by the kernel: nothing is lost or doubled."""

import time

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotation.core.models import AuditEvent
from annotation.datasets import freeze
from annotation.imports import run, votes
from annotation.imports.bring import Options
from annotation.imports.models import DataImport
from annotation.judging.imports.judgments import writers
from annotation.judging.models import Item, Judgment
from tests.processes import die, killed

pytestmark = pytest.mark.django_db(transaction=True)
PAIRS = "prompt,answer_a,answer_b,winner,rater\n" + "".join(
    f"Why {item}?,x{item},y{item},{label},{rater}\n"
    for item in range(4)
    for rater, label in (("ann", "A"), ("bo", "B"))
)

COLUMNS = {"columns": {"prompt": ["prompt"], "answer_a": ["answer_a"], "answer_b": ["answer_b"],
                       "label": ["winner"], "worker": ["rater"]}}  # fmt: skip


def holds_up_nobody(*studies):
    """Nothing keeps releases of ``studies`` waiting, once PostgreSQL has noticed the end."""
    deadline = time.monotonic() + 30
    while any(writers(study) for study in studies):
        assert time.monotonic() < deadline


def test_a_killed_import_of_a_table_goes_on_after_its_last_stored_chunk(cast, tea, monkeypatch):
    row = run.whole(tea, cast.person("Carol"), SimpleUploadedFile("a.csv", PAIRS.encode()))
    run.request_import(row, COLUMNS, Options())
    monkeypatch.setattr(votes, "ITEMS_AT_ONCE", 1)

    def work():
        # All four items are checked and there, and the votes of two of them are stored.
        store, chunks = votes.Storing.store, []

        def store_two_items(*arguments, write):
            if write:
                chunks.append(arguments)
            return die() if len(chunks) > 2 else store(*arguments, write=write)

        votes.Storing.store = store_two_items
        run.run(row.pk)

    killed(work)
    row.refresh_from_db()
    assert (row.status, row.rows, row.rows_stored) == ("running", 8, 5)
    assert (tea.queries.count(), tea.items.count(), Judgment.objects.count()) == (4, 4, 4)
    assert not tea.slots.filter(status="open").exists()  # nobody is given what the file answers
    elsewhere = cast.study("elsewhere")
    holds_up_nobody(tea, elsewhere)
    assert freeze.request_release(elsewhere, "long", "", None).frozen["judgment"] > 0
    assert run.due() == []
    DataImport.objects.update(lease_expires_at="2020-01-01T00:00Z")
    assert run.due() == [row.pk]
    judgments = Judgment.objects.order_by("pk").values_list("pk", "submitted_at")
    stored, first = votes.Storing.store, list(judgments)
    calls = []
    monkeypatch.setattr(
        votes.Storing,
        "store",
        lambda self, rows, write: [calls.append(write), stored(self, rows, write=write)][1],
    )
    done = run.run(row.pk)
    assert (done.status, done.attempts, done.rows_stored, calls) == ("done", 2, 8, [True, True])
    assert (done.counts["items"], done.counts["votes"], done.counts["workers"]) == (4, 8, 2)
    assert list(judgments.all())[:4] == first
    assert (tea.queries.count(), tea.candidates.count()) == (4, 8)
    assert list(Item.objects.values_list("done", "counts")) == [(2, {"1": 1, "2": 1})] * 4
    assert AuditEvent.objects.filter(action="study.import_data").count() == 1


def test_a_long_file_with_a_fault_in_its_last_vote_stores_nothing(cast, tea, monkeypatch):
    monkeypatch.setattr(votes, "ITEMS_AT_ONCE", 1)
    text = PAIRS + "Why 3?,x3,y3,B,ann\n"
    row = run.whole(tea, cast.person("Carol"), SimpleUploadedFile("a.csv", text.encode()))
    run.request_import(row, COLUMNS, Options())
    assert run.run(row.pk).status == "failed"
    assert (tea.queries.count(), Judgment.objects.count()) == (0, 0)
    run.request_import(row, COLUMNS, Options(skip_faults=True))
    done = run.run(row.pk)
    assert (done.status, done.counts["votes"], done.rejected) == ("done", 8, 1)
    assert list(done.faults.values_list("line", flat=True)) == [10]
