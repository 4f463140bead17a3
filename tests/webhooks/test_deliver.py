"""Messages about a study's events: signed, told once, tried again, only to public addresses."""

import asyncio
import base64
import hashlib
import hmac
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from django.utils import timezone

from annotation.candidates import review
from annotation.candidates.models import Candidate
from annotation.celery import app
from annotation.core import jobs, outgoing
from annotation.core.errors import DomainError
from annotation.datasets import freeze
from annotation.evaluation.models import Benchmark, Run
from annotation.imports.models import DataImport
from annotation.judging.models import Judgment
from annotation.webhooks import deliver, tasks
from annotation.webhooks.deliver import sign
from annotation.webhooks.models import Delivery, Webhook
from tests.webhooks.conftest import judge, send_all


def test_a_refused_message_is_sent_again_after_a_wait_under_the_same_id(tea, hook, receiver):
    receiver.statuses = [500]
    message = deliver.test(hook)
    deliver.send(message.pk)
    message.refresh_from_db()
    assert (message.status, message.answer_status) == ("requested", 500)
    assert message.next_try_at > timezone.now()
    assert message.pk not in deliver.deliveries_due()
    Delivery.objects.update(next_try_at=timezone.now())
    send_all()
    message.refresh_from_db()
    assert (message.status, message.attempts) == ("done", 2)
    assert len({headers["webhook-id"] for headers, _body in receiver.requests}) == 1


def test_after_the_last_wait_a_message_is_given_up_and_can_be_sent_again(tea, hook, receiver):
    receiver.statuses = [503] * (len(deliver.DELAYS) + 1)
    message = deliver.test(hook)
    for _attempt in range(len(deliver.DELAYS) + 1):
        Delivery.objects.update(next_try_at=None)
        Webhook.objects.update(waits_until=None)
        deliver.send(message.pk)
    message.refresh_from_db()
    assert (message.status, message.attempts) == ("failed", len(deliver.DELAYS) + 1)
    deliver.replay(message, by=hook.created_by)
    send_all()
    message.refresh_from_db()
    assert message.status == "done"


def test_a_paused_webhook_hears_nothing_of_what_happened_meanwhile(cast, tea, hook, receiver):
    cast.open(tea, items=2, overlap=1)
    deliver.pause(hook, by=cast.person("Carol"))
    judge(tea, cast.person("Ann"))
    assert deliver.collect() == 0
    hook.refresh_from_db()
    assert hook.paused_at is not None


PRIVATE = (
    "127.0.0.1 localhost 10.0.0.1 169.254.169.254 224.0.0.1 [::1] [::127.0.0.1] [::ffff:127.0.0.1] "
    "[::ffff:0:127.0.0.1] [64:ff9b::7f00:1] [64:ff9b::a9fe:a9fe] [64:ff9b:1::a00:1] "
    "[2002:7f00:1::] [2001::80ff:fffe] [fec0::1] [ff02::1]"
)


@pytest.mark.parametrize(
    ("url", "code"),
    [
        *((f"https://{host}/hook", "private") for host in PRIVATE.split()),
        ("http://example.org/hook", "url"),
        ("ftp://example.org/", "url"),
        ("https://user:word@example.org/", "url"),
        ("https://", "url"),
        ("no address", "url"),
        ("https://example.org/" + "a" * 500, "url"),
        ("https://no-such-host.invalid/", "host"),
    ],
)
def test_an_address_that_is_not_public_is_never_called(url, code):
    with pytest.raises(DomainError) as refusal:
        outgoing.post(url, b"{}", {})
    assert refusal.value.code == code


@pytest.mark.parametrize("host", ["8.8.8.8", "[2606:4700::1111]", "[64:ff9b::808:808]"])
def test_a_public_address_is_called_as_it_stands(host):
    assert outgoing._address(httpx2.URL(f"https://{host}/hook")) == host.strip("[]")


def test_a_study_has_up_to_ten_webhooks_and_known_events(cast, tea, settings):
    carol = cast.person("Carol")
    for n in range(10):
        deliver.add_webhook(tea, f"https://example.org/{n}", ["item.complete"], by=carol)
    with pytest.raises(DomainError, match="up to 10"):
        deliver.add_webhook(tea, "https://example.org/11", ["item.complete"], by=carol)
    with pytest.raises(DomainError, match="at least one event"):
        deliver.add_webhook(tea, "https://example.org/11", ["item.unknown"], by=carol)


def test_a_message_is_sent_from_a_thread_in_which_an_event_loop_runs(tea, hook, receiver):
    """As in a run whose browser tests leave Playwright's loop in the tests' thread."""

    async def post():
        return outgoing.post(hook.url, b"{}", {})

    with ThreadPoolExecutor(1) as executor:
        assert executor.submit(asyncio.run, post()).result() == 200


def test_a_message_carries_a_signature_that_its_receiver_can_check(tea, hook, receiver):
    message = deliver.test(hook)
    deliver.send(message.pk)
    headers, body = receiver.requests[0]
    key = base64.b64decode(hook.secret.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert headers["webhook-id"] == str(message.pk)
    assert abs(int(headers["webhook-timestamp"]) - timezone.now().timestamp()) < 60


def test_the_signature_equals_the_standards_published_example():
    """The example of the specification's reference libraries."""
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    body = b'{"test": 2432232314}'
    signature = sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body)
    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.fixture
def slow_origin(request):
    """The origin of a listener that sends a byte each ``request.param`` seconds, or none."""
    listener = socket.create_server(("127.0.0.1", 0))
    ended = threading.Event()

    def answer():
        connection, _peer = listener.accept()
        with connection:
            for byte in b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 1000:
                if ended.wait(request.param):
                    return
                try:
                    connection.send(bytes([byte]))
                except OSError:
                    return

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    ended.set()
    thread.join(5)
    listener.close()


@pytest.mark.parametrize("slow_origin", [0.2, 60], ids=["dribbling", "hanging"], indirect=True)
def test_a_slow_listener_holds_a_worker_no_longer_than_the_total_time(
    cast, tea, hook, receiver, slow_origin, settings
):
    settings.WEBHOOK_SECONDS = 1
    settings.WEBHOOK_ORIGINS = [receiver.origin, slow_origin]
    slow = deliver.add_webhook(tea, slow_origin, hook.events, by=cast.person("Carol"))
    late, prompt = deliver.test(slow), deliver.test(hook)
    start = time.monotonic()
    deliver.send(late.pk)
    assert 1 <= time.monotonic() - start < 20
    settings.WEBHOOK_SECONDS = 10
    deliver.send(prompt.pk)
    late.refresh_from_db()
    prompt.refresh_from_db()
    assert (late.status, late.answer_status) == ("requested", None)
    assert late.error == "The address did not answer within 1 s."
    assert prompt.status == "done"


def test_a_study_sends_one_message_at_once_and_another_study_its_own(cast, hook, receiver):
    first, second = deliver.test(hook), deliver.test(hook)
    assert jobs.take(Delivery.objects.all(), first.pk)
    carol, rain = cast.person("Carol"), cast.study("rain")
    other = deliver.test(deliver.add_webhook(rain, receiver.origin, hook.events, by=carol))
    assert list(deliver.deliveries_due()) == [other.pk]
    assert (deliver.send(second.pk), deliver.send(other.pk)) == (None, None)
    assert jobs.end(Delivery.objects.get(pk=first.pk), "done")
    assert (list(deliver.deliveries_due()), deliver.send(second.pk)) == ([second.pk], None)
    called = [headers["webhook-id"] for headers, _body in receiver.requests]
    assert called == [str(other.pk), str(second.pk)]


def test_a_studys_next_message_is_asked_for_when_one_is_sent(hook, receiver):
    first, second = deliver.test(hook), deliver.test(hook)
    with app.connection_for_read() as broker:
        waiting = broker.SimpleQueue(app.amqp.queues["webhooks"])
        waiting.clear()
        tasks.send(str(first.pk))
        arguments, *_further = waiting.get(timeout=10).payload
        waiting.clear()
    assert arguments == [str(second.pk)]


def test_an_address_that_fails_in_a_row_waits_twice_as_long_each_time(cast, tea, hook, receiver):
    failures = deliver.FAILURES_IN_A_ROW
    receiver.statuses = [500] * (failures + 8)
    waits = []
    for _number in range(failures + 8):
        deliver.send(deliver.test(hook).pk)
        hook.refresh_from_db()
        waits.append(hook.waits and round((hook.waits_until - timezone.now()).total_seconds() / 60))
        Webhook.objects.update(waits_until=timezone.now())
    assert waits == [False] * (failures - 1) + [1, 2, 4, 8, 16, 32, 60, 60, 60]
    deliver.send(deliver.test(hook).pk)
    hook.refresh_from_db()
    assert (hook.failures, hook.waits_until) == (0, None)


def test_an_address_that_waits_is_not_called_and_others_are(cast, tea, hook, receiver, client):
    other = deliver.add_webhook(
        tea, f"{receiver.origin}/other", hook.events, by=cast.person("Carol")
    )
    late, prompt = deliver.test(hook), deliver.test(other)
    until = timezone.now() + deliver.LONGEST_WAIT
    Webhook.objects.filter(pk=hook.pk).update(failures=11, waits_until=until)
    assert list(deliver.deliveries_due()) == [prompt.pk]
    deliver.send(late.pk)
    assert receiver.requests == []
    client.force_login(cast.person("Carol"))
    page = client.get(f"/studies/{tea.slug}/webhooks/").content.decode()
    assert "the last 11 calls failed" in page
    deliver.replay(late, by=hook.created_by)
    deliver.send(late.pk)
    assert len(receiver.requests) == 1


def test_judgments_items_and_batches_are_told_once_and_in_this_order(cast, tea, hook, receiver):
    cast.open(tea, items=1, overlap=2)
    judge(tea, cast.person("Ann"))
    assert deliver.collect() == 1
    judge(tea, cast.person("Bo"))
    assert deliver.collect() == 3
    assert deliver.collect() == 0
    send_all()
    types = [json.loads(body)["type"] for _headers, body in receiver.requests]
    assert sorted(types) == ["batch.complete", "item.complete", *["judgment.stored"] * 2]
    item = next(b for _h, b in receiver.requests if b'"item.complete"' in b)
    about = {"study": "tea", "item": tea.items.get().external_id, "task": "best"}
    assert json.loads(item)["data"] == about | {"judgments": 2}


def test_no_event_is_passed_over_where_there_are_many_at_once(cast, tea, hook, monkeypatch):
    monkeypatch.setattr(deliver, "CHUNK", 2)
    cast.open(tea, items=5, overlap=1)
    for _item in range(5):
        judge(tea, cast.person("Ann"))
    deliver.collect()
    told = Delivery.objects.filter(event="judgment.stored").values_list("subject", flat=True)
    assert set(told) == {str(pk) for pk in Judgment.objects.values_list("pk", flat=True)}
    assert deliver.collect() == 0


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
    about = {"study": "tea", "import": str(imported.pk), "file": "a.csv", "status": "done"}
    assert data["import.finished"] == about | {"counts": {"queries": 2}, "rejected": 1, "error": ""}
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


def test_a_curator_adds_tests_and_removes_a_webhook_in_the_browser(cast, tea, login, receiver):
    page = login(cast.person("Carol"))
    body = {"url": f"{receiver.origin}/x", "events": ["release.ready"]}
    assert page.post("/studies/tea/webhooks/", body).status_code == 302
    hook = tea.webhooks.get()
    assert hook.secret in page.get("/studies/tea/webhooks/").content.decode()
    page.post(f"/studies/tea/webhooks/{hook.pk}/", {"action": "test"})
    send_all()
    assert "delivered" in page.get("/studies/tea/webhooks/").content.decode()
    question = page.post(f"/studies/tea/webhooks/{hook.pk}/", {"action": "remove"})
    assert f"Remove “{hook.url}”?" in question.content.decode()
    assert tea.webhooks.get() == hook, "nothing is removed before the answer"
    page.post(f"/studies/tea/webhooks/{hook.pk}/", {"action": "remove", "sure": "1"})
    assert not tea.webhooks.exists()
    refused = page.post("/studies/tea/webhooks/", {"url": "http://x", "events": ["x"]})
    assert refused.status_code == 400
