"""What is told of a study, once and in its order."""

import json

from django.utils import timezone

from annotation.candidates import review
from annotation.candidates.models import Candidate
from annotation.datasets import freeze
from annotation.evaluation.models import Benchmark, Run
from annotation.imports.models import DataImport
from annotation.webhooks import deliver
from annotation.webhooks.models import Delivery
from tests.webhooks.conftest import judge, send_all


def test_judgments_items_and_batches_are_told_once_and_in_this_order(cast, tea, hook, receiver):
    cast.open(tea, items=1, overlap=2)
    judge(tea, cast.person("Ann"))
    assert deliver.collect() == 1
    judge(tea, cast.person("Bo"))
    assert deliver.collect() == 3
    assert deliver.collect() == 0
    send_all()
    types = [json.loads(body)["type"] for _headers, body in receiver.requests]
    assert sorted(types) == [
        "batch.complete",
        "item.complete",
        "judgment.stored",
        "judgment.stored",
    ]
    item = next(b for _h, b in receiver.requests if b'"item.complete"' in b)
    assert json.loads(item)["data"] == {
        "study": "tea",
        "item": tea.items.get().external_id,
        "task": "best",
        "judgments": 2,
    }


def test_ends_of_imports_and_of_generation_are_told_once(cast, tea, receiver):
    carol, now = cast.person("Carol"), timezone.now
    events = ["import.finished", "answers.finished"]
    deliver.add_webhook(tea, f"{receiver.origin}/hook", events, by=carol)
    ended = {"status": "done", "counts": {"queries": 2}, "rejected": 1, "finished_at": now()}
    imported = DataImport.objects.create(study=tea, by=carol, name="a.csv", size=1, **ended)
    first, second = cast.candidates(cast.query(tea), 2)
    written = Candidate.objects.filter(pk=first.pk)
    written.update(endpoint="fake", answered_at=now())
    Candidate.objects.filter(pk=second.pk).update(endpoint="fake", status="requested")
    assert deliver.collect() == 1
    Candidate.objects.filter(pk=second.pk).update(status="failed", answered_at=now())
    assert deliver.collect() == 1
    assert deliver.collect() == 0
    send_all()
    data = {body["type"]: body["data"] for body in (json.loads(b) for _h, b in receiver.requests)}
    assert data["import.finished"] == {
        "study": "tea",
        "import": str(imported.pk),
        "file": "a.csv",
        "status": "done",
        "counts": {"queries": 2},
        "rejected": 1,
        "error": "",
    }
    assert data["answers.finished"] == {"study": "tea", "done": 1, "failed": 1, "cancelled": 0}


def test_the_end_of_a_review_is_told_once_and_once_more_after_it_was_taken_up_again(
    cast, tea, receiver
):
    carol = cast.person("Carol")
    deliver.add_webhook(tea, f"{receiver.origin}/hook", ["review.finished"], by=carol)
    first, second = cast.candidates(cast.query(tea), 2)
    Candidate.objects.update(review="pending")
    review.decide(tea, "answer", [first.pk], accepts=True, by=carol)
    assert deliver.collect() == 0
    review.decide(tea, "answer", [second.pk], accepts=False, reason="other", by=carol)
    assert [deliver.collect(), deliver.collect()] == [1, 0]
    expected = {"study": "tea", "kind": "answer", "accepted": 1, "rejected": 1}
    assert Delivery.objects.get().body["data"] == expected
    review.undo(tea, "answer", [second.pk], by=carol)
    assert deliver.collect() == 0
    review.decide(tea, "answer", [second.pk], accepts=True, by=carol)
    assert deliver.collect() == 1


def test_a_model_that_has_judged_a_task_or_a_release_is_told_once(cast, tea, receiver):
    carol, other = cast.person("Carol"), cast.study("other")
    deliver.add_webhook(tea, f"{receiver.origin}/hook", ["model.finished"], by=carol)
    release = freeze.request_release(tea, "long", "", None)
    benchmarks = [
        Benchmark.objects.create(digest=str(n), layout="dpo", release=r)
        for n, r in enumerate((release, freeze.request_release(other, "long", "", None)))
    ]
    ended = {"status": "done", "finished_at": timezone.now()}
    Run.objects.create(benchmark=benchmarks[1], kind="choice", model="elsewhere", **ended)
    rater = Run.objects.create(study=tea, task="best", kind="rater", model="ours", setting="")
    measured = Run.objects.create(benchmark=benchmarks[0], kind="choice", model="chat", **ended)
    assert [deliver.collect(), deliver.collect()] == [1, 0]
    Run.objects.filter(pk=rater.pk).update(**ended)
    assert [deliver.collect(), deliver.collect()] == [1, 0]
    data = [row.body["data"] for row in Delivery.objects.order_by("created_at")]
    about = {"study": "tea", "run": str(measured.public_id), "kind": "choice", "model": "chat"}
    assert data[0] == about | {"task": "", "release": str(release.public_id)}
    assert (data[1]["model"], data[1]["task"], data[1]["release"]) == ("ours", "best", "")
