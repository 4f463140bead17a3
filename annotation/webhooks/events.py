"""What webhooks are told of. Events are pulled: whatever made them knows nothing of webhooks."""

from collections.abc import Callable, Iterator
from datetime import datetime

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from annotation.candidates.models import Candidate
from annotation.candidates.review import counts, rows_of
from annotation.datasets.models import Release
from annotation.evaluation.models import Run
from annotation.imports.models import DataImport
from annotation.judging.models import Batch, Item, Judgment
from annotation.studies.models import Study

# (what the event is about, the message's data)
Events = Iterator[tuple[str, dict]]
LIMIT = 10_000


def _judgments(study: Study, since: datetime) -> Events:
    """Judgments of people; imported ones are one import's, not thousands of events."""
    rows = (
        Judgment.objects.standing()
        .filter(slot__study=study, slot__item__batch__purpose=Batch.Purpose.WORK, imported=False)
        .filter(submitted_at__gte=since)
        .order_by("pk")
        .values_list("pk", "slot__item__external_id", "slot__item__batch__task__name")[:LIMIT]
    )
    for pk, item, task in rows:
        yield str(pk), {"judgment": pk, "item": item, "task": task}


def _judged_items(study: Study, since: datetime) -> QuerySet[Item]:
    lately = Judgment.objects.filter(
        slot__item=OuterRef("pk"), slot__study=study, submitted_at__gte=since
    )
    work = Item.objects.work().filter(study=study)
    return work.filter(Exists(lately), done__gte=F("overlap"))


def _items(study: Study, since: datetime) -> Events:
    rows = _judged_items(study, since).order_by("position")
    for pk, item, task, done in rows.values_list("pk", "external_id", "batch__task__name", "done")[
        :LIMIT
    ]:
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
    for run in ended.select_related("benchmark__release").order_by("pk")[:LIMIT]:
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
