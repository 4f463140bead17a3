"""Collect events, send messages, try again: all of what webhooks do.

Events are pulled: whatever made them knows nothing of webhooks.
"""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import httpx2
from django.conf import settings
from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.candidates.models import Candidate
from annotation.candidates.review import counts, rows_of
from annotation.core import audit, jobs, outgoing
from annotation.core.errors import DomainError
from annotation.core.records import chunks
from annotation.datasets.models import Release
from annotation.evaluation.models import Run
from annotation.imports.models import DataImport
from annotation.judging.models import Batch, Item, Judgment
from annotation.studies.models import Study
from annotation.webhooks.models import Delivery, Webhook

# (what the event is about, the message's data)
Events = Iterator[tuple[str, dict]]
# Events that are looked at together.
CHUNK = 10_000


def _judgments(study: Study, since: datetime) -> Events:
    """Judgments of people; imported ones are one import's, not thousands of events."""
    rows = (
        Judgment.objects.standing()
        .filter(slot__study=study, slot__item__batch__purpose=Batch.Purpose.WORK, imported=False)
        .filter(submitted_at__gte=since)
        .order_by("pk")
        .values_list("pk", "slot__item__external_id", "slot__item__batch__task__name")
    )
    for pk, item, task in rows.iterator(CHUNK):
        yield str(pk), {"judgment": pk, "item": item, "task": task}


def _judged_items(study: Study, since: datetime) -> QuerySet[Item]:
    lately = Judgment.objects.filter(
        slot__item=OuterRef("pk"), slot__study=study, submitted_at__gte=since
    )
    work = Item.objects.work().filter(study=study)
    return work.filter(Exists(lately), done__gte=F("overlap"))


def _items(study: Study, since: datetime) -> Events:
    rows = _judged_items(study, since).order_by("position")
    told = rows.values_list("pk", "external_id", "batch__task__name", "done")
    for pk, item, task, done in told.iterator(CHUNK):
        yield str(pk), {"item": item, "task": task, "judgments": done}


def _batches(study: Study, since: datetime) -> Events:
    waiting = Item.objects.originals().filter(batch=OuterRef("pk"), done__lt=F("overlap"))
    judged = Batch.objects.filter(pk__in=_judged_items(study, since).values("batch"))
    for batch in judged.filter(~Exists(waiting)).select_related("task"):
        yield str(batch.pk), {"batch": batch.pk, "task": batch.task.name, "items": batch.size}


def _imports(study: Study, since: datetime) -> Events:
    ended = (DataImport.Status.DONE, DataImport.Status.FAILED)
    rows = DataImport.objects.filter(study=study, status__in=ended, finished_at__gte=since)
    for row in rows.order_by("finished_at"):
        # One that failed can be started again, and then ends once more.
        data = {"import": str(row.pk), "file": row.name, "status": row.status}
        more = {"counts": row.counts, "rejected": row.rejected, "error": row.error}
        ended_at = row.finished_at.timestamp() if row.finished_at else 0
        yield f"{row.pk} {ended_at}", data | more


def _answers(study: Study, since: datetime) -> Events:
    """The answers asked for are written or failed, and none is left to write."""
    asked = Candidate.every.filter(study=study).exclude(endpoint="")
    last = asked.filter(answered_at__gte=since).order_by("-answered_at").first()
    counts = dict(asked.values_list("status").annotate(n=Count("pk")).order_by())
    if last and not counts.keys() & {"requested", "running"}:
        names = ("done", "failed", "cancelled")
        yield f"answers {last.pk}", {name: counts.get(name, 0) for name in names}


def _reviews(study: Study, since: datetime) -> Events:
    """Everything of a kind that models wrote for review is accepted or rejected by now."""
    for row in counts(study):
        last = rows_of(study, row["kind"]).filter(reviewed_at__gte=since).order_by("-reviewed_at")
        decided = last.values_list("pk", "reviewed_at").first()
        if decided and not row["pending"]:
            # What is reviewed once more ends once more.
            subject = f"{row['kind']} {decided[0]} {decided[1].timestamp()}"
            yield subject, {name: row[name] for name in ("kind", "accepted", "rejected")}


def _models(study: Study, since: datetime) -> Events:
    """Runs of models on the study's items or on a release of it that have come to their end."""
    of_study = Q(study=study) | Q(benchmark__release__study=study)
    ended = Run.objects.filter(of_study, status=Run.Status.DONE, finished_at__gte=since)
    for run in ended.select_related("benchmark__release").order_by("pk"):
        release = run.benchmark and run.benchmark.release
        data = {"run": str(run.public_id), "kind": run.kind, "model": run.model, "task": run.task}
        yield str(run.public_id), data | {"release": str(release.public_id) if release else ""}


def _releases(study: Study, since: datetime) -> Events:
    done = Release.objects.filter(study=study, status=Release.Status.DONE, as_of__gte=since)
    for release in done:
        data = {"release": str(release.public_id), "version": release.version}
        yield str(release.public_id), data | {"layout": release.layout}


def _revised(study: Study, since: datetime) -> Events:
    """Releases whose files took the place of older ones, without the words of who left."""
    rows = Release.objects.filter(study=study, revision__gt=0, status=Release.Status.DONE)
    for release in rows:
        last = release.revisions[-1]
        if datetime.fromisoformat(last["revised_at"]) >= since:
            about = {"release": str(release.public_id), "version": release.number}
            digests = {"digest": release.digest, "replaces": last}
            yield f"{release.public_id} {release.revision}", about | digests


# How long an event may take from its time to its being visible: a transaction, or for a release
# the writing of its files. So far back is looked again; the same event is never told twice.
MINUTES = {"release.ready": 24 * 60, "release.revised": 24 * 60}
EVENTS: dict[str, Callable[[Study, datetime], Events]] = {
    "judgment.stored": _judgments,
    "item.complete": _items,
    "batch.complete": _batches,
    "import.finished": _imports,
    "answers.finished": _answers,
    "review.finished": _reviews,
    "model.finished": _models,
    "release.ready": _releases,
    "release.revised": _revised,
}


# --- Messages -------------------------------------------------------------------------------------


WEBHOOKS_A_STUDY = 10
TEST = "webhook.test"
# Waits after the first, second, … attempt that failed: about a day in all.
DELAYS = [timedelta(seconds=s) for s in (5, 60, 300, 1800, 7200, 21600, 43200)]
# After so many failures in a row an address waits: at first so long, then twice as long each time.
FAILURES_IN_A_ROW = 5
FIRST_WAIT, LONGEST_WAIT = timedelta(minutes=1), timedelta(hours=1)
OVERLAP_MINUTES = 10


@transaction.atomic
def add_webhook(study: Study, url: str, events: list[str], *, by: User) -> Webhook:
    """Make a webhook for ``events`` (names of EVENTS); DomainError where the address is refused."""
    outgoing.check_url(url)
    unknown = set(events) - set(EVENTS)
    if unknown or not events:
        names = ", ".join(EVENTS)
        raise DomainError(_("Choose at least one event of: %(names)s.") % {"names": names})
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if study.webhooks.count() >= WEBHOOKS_A_STUDY:
        sentence = _("A study has up to %(n)d webhooks.") % {"n": WEBHOOKS_A_STUDY}
        raise DomainError(sentence, code="too_many")
    webhook = Webhook.objects.create(
        study=study, url=url, events=sorted(set(events)), created_by=by
    )
    audit.record(by, "webhook.add", webhook, host=httpx2.URL(url).host, events=webhook.events)
    return webhook


@transaction.atomic
def remove(webhook: Webhook, *, by: User) -> None:
    """Delete a webhook with its messages."""
    audit.record(by, "webhook.remove", webhook)
    webhook.delete()


@transaction.atomic
def pause(webhook: Webhook, *, by: User) -> None:
    """Pause a webhook, or let a paused one go on; what happened meanwhile is not told."""
    fields = {"paused_at": None if webhook.paused_at else timezone.now(), "seen_at": Now()}
    Webhook.objects.filter(pk=webhook.pk).update(**fields)
    audit.record(by, "webhook.pause", webhook, paused=fields["paused_at"] is not None)


def test(webhook: Webhook) -> Delivery:
    """Ask for a message without content, as a trial; its address waits no longer."""
    Webhook.objects.filter(pk=webhook.pk).update(waits_until=None)
    subject = timezone.now().isoformat()
    body = _message(webhook, TEST, {"webhook": webhook.pk})
    return Delivery.objects.create(webhook=webhook, event=TEST, subject=subject, body=body)


@transaction.atomic
def replay(delivery: Delivery, *, by: User) -> None:
    """Ask for the message once more, under the same id; its address waits no longer."""
    audit.record(by, "webhook.replay", delivery.webhook, message=str(delivery.pk))
    Webhook.objects.filter(pk=delivery.webhook_id).update(waits_until=None)
    jobs.retry_jobs(Delivery.objects.filter(pk=delivery.pk).exclude(status=Delivery.Status.RUNNING))


def collect() -> int:
    """Make a message of every event that no webhook was told of yet; how many."""
    made = 0
    for webhook in Webhook.objects.filter(paused_at=None).select_related("study"):
        made += _collect(webhook)
    old = timezone.now() - timedelta(days=settings.KEEP_DAYS["webhooks"])
    over = (Delivery.Status.DONE, Delivery.Status.FAILED)
    Delivery.objects.filter(created_at__lt=old, status__in=over).delete()
    return made


def _collect(webhook: Webhook) -> int:
    now, made = timezone.now(), 0
    for event in webhook.events:
        back = timedelta(minutes=MINUTES.get(event, OVERLAP_MINUTES))
        since = max(webhook.seen_at - back, webhook.created_at)
        for rows in chunks(EVENTS[event](webhook.study, since), CHUNK):
            made += _queue(webhook, event, rows)
    Webhook.objects.filter(pk=webhook.pk).update(seen_at=now)
    return made


def _queue(webhook: Webhook, event: str, rows: Sequence[tuple[str, dict]]) -> int:
    """Make messages of those of ``rows`` that the webhook was not told of; how many."""
    queued = webhook.deliveries.filter(event=event, subject__in=[row[0] for row in rows])
    told = set(queued.values_list("subject", flat=True))
    new = [
        Delivery(webhook=webhook, event=event, subject=subject, body=_message(webhook, event, data))
        for subject, data in rows
        if subject not in told
    ]
    Delivery.objects.bulk_create(new, ignore_conflicts=True, batch_size=1000)
    return len(new)


def _message(webhook: Webhook, event: str, data: dict) -> dict:
    at = timezone.now().isoformat()
    return {"type": event, "timestamp": at, "data": {"study": webhook.study.slug, **data}}


def deliveries_due() -> QuerySet:
    """The id of the oldest message to send now, of each study that sends none."""
    rows = jobs.startable(_callable().filter(webhook__paused_at=None))
    rows = rows.order_by("webhook__study", "created_at").distinct("webhook__study")
    return rows.values_list("pk", flat=True)


def _callable() -> QuerySet:
    """Messages to addresses that do not wait.

    A subquery, not a join: an UPDATE must test the row's own state again after it waited for it.
    """
    ready = Webhook.objects.filter(Q(waits_until=None) | Q(waits_until__lte=Now()))
    return Delivery.objects.filter(webhook__in=ready)


def _count(webhook: Webhook, *, failed: bool) -> None:
    """Note how a call went, and let an address wait whose calls failed too often in a row."""
    rows, failures = Webhook.objects.filter(pk=webhook.pk), webhook.failures + 1
    if not failed:
        rows.exclude(failures=0).update(failures=0, waits_until=None)
    elif failures < FAILURES_IN_A_ROW:
        rows.update(failures=F("failures") + 1)
    else:
        # The exponent is bounded: a timedelta holds no more.
        wait = min(FIRST_WAIT * 2 ** min(failures - FAILURES_IN_A_ROW, 10), LONGEST_WAIT)
        rows.update(failures=F("failures") + 1, waits_until=Now() + wait)


def send(delivery_id: UUID | str) -> UUID | None:
    """Send one message, if nobody else does; the id of the study's next one.

    A failed one is tried again after a wait.
    """
    if not jobs.take(_callable(), delivery_id):
        return None
    delivery = Delivery.objects.select_related("webhook").get(pk=delivery_id)
    status, error = _post(delivery)
    arrived = status is not None and 200 <= status < 300
    _count(delivery.webhook, failed=not arrived)
    if arrived:
        jobs.end(delivery, Delivery.Status.DONE, answer_status=status, tried_at=Now(), error="")
        return _next(delivery)
    last = delivery.attempts > len(DELAYS)
    jobs.end(
        delivery,
        Delivery.Status.FAILED if last else Delivery.Status.REQUESTED,
        # Each attempt has its own wait: none counts towards the tries of a job.
        tries_from=F("attempts"),
        next_try_at=None if last else Now() + DELAYS[delivery.attempts - 1],
        answer_status=status,
        tried_at=Now(),
        error=error or _("The address answered %(status)s.") % {"status": status},
    )
    return _next(delivery)


def _next(delivery: Delivery) -> UUID | None:
    return deliveries_due().filter(webhook__study=delivery.webhook.study_id).first()


def _post(delivery: Delivery) -> tuple[int | None, str]:
    """The answer's status, or the sentence why there is none."""
    body = json.dumps(delivery.body, ensure_ascii=False).encode()
    at = int(time.time())
    headers = {
        "content-type": "application/json",
        "user-agent": "Attune-Webhooks/1",
        "webhook-id": str(delivery.pk),
        "webhook-timestamp": str(at),
        "webhook-signature": sign(delivery.webhook.secret, str(delivery.pk), at, body),
    }
    try:
        return outgoing.post(delivery.webhook.url, body, headers), ""
    except DomainError as refusal:
        return None, refusal.sentence
    except httpx2.HTTPError as error:
        name = type(error).__name__
        return None, _("The address did not answer (%(cause)s).") % {"cause": name}


def sign(secret: str, message: str, timestamp: int, body: bytes) -> str:
    """The header ``webhook-signature``: HMAC-SHA256 over id, time (seconds) and body.

    ``secret`` is "whsec_" and the key in base64.
    """
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{message}.{timestamp}.".encode() + body
    digest = hmac.new(key, signed, hashlib.sha256).digest()
    return "v1," + base64.b64encode(digest).decode()
