"""Jobs of every kind together: how many in which state, what is stuck, and what to do about it."""

from dataclasses import dataclass
from datetime import timedelta

from django.apps import apps
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.accounts.models import User
from annotation.core import audit, jobs
from annotation.core.errors import Conflict, NotFound
from annotation.core.jobs import Job

STUCK_AFTER = timedelta(minutes=5)
SHOWN = 50
# What a page calls the tables of jobs and their states.
KINDS = {
    "histories.upload": gettext_lazy("Files of histories"),
    "candidates.candidate": gettext_lazy("Answers"),
    "candidates.proposal": gettext_lazy("Proposals"),
    "candidates.documentfile": gettext_lazy("Files of documents"),
    "datasets.release": gettext_lazy("Releases"),
    "datasets.releaseimport": gettext_lazy("Imports of releases"),
    "imports.dataimport": gettext_lazy("Imports of data"),
    "evaluation.run": gettext_lazy("Runs of models"),
    "webhooks.delivery": gettext_lazy("Messages of webhooks"),
}
STATES = {
    "receiving": gettext_lazy("being sent"),
    "waiting": gettext_lazy("to be mapped"),
    Job.Status.REQUESTED: gettext_lazy("waiting"),
    Job.Status.RUNNING: gettext_lazy("running"),
    Job.Status.DONE: gettext_lazy("done"),
    Job.Status.FAILED: gettext_lazy("failed"),
    Job.Status.CANCELLED: gettext_lazy("cancelled"),
    "duplicate": gettext_lazy("already here"),
    "erased_before": gettext_lazy("erased before"),
}


@dataclass(frozen=True)
class Stuck:
    """A job that failed, or that nobody has worked at for STUCK_AFTER."""

    kind: str
    row: Job

    @property
    def label(self) -> str:
        """The kind's name on a page."""
        return str(KINDS[self.kind])

    @property
    def state(self) -> str:
        """The state's name on a page."""
        return str(STATES[self.row.status])


def kinds() -> dict[str, type[Job]]:
    """Every table of jobs by its name, in the order of the apps."""
    return {model._meta.label_lower: model for model in apps.get_models() if issubclass(model, Job)}


def states() -> dict[str, dict[str, int]]:
    """{kind: {status: rows}}."""
    return {
        name: dict(_rows(model).values_list("status").annotate(n=Count("pk")).order_by())
        for name, model in kinds().items()
    }


def totals() -> list[tuple[str, list[tuple[str, int]]]]:
    """``states`` with the names of a page, states in the order in which a job passes them."""
    return [(str(KINDS[kind]), _named(counts)) for kind, counts in states().items()]


def _named(counts: dict[str, int]) -> list[tuple[str, int]]:
    return [(str(words), counts[state]) for state, words in STATES.items() if state in counts]


def stuck() -> list[Stuck]:
    """At most SHOWN jobs of each kind that need a person, newest first, with their studies."""
    return [
        Stuck(name, row)
        for name, model in kinds().items()
        for row in _stuck(model).select_related(*_study(model)).order_by("-pk")[:SHOWN]
    ]


def count_stuck() -> int:
    """How many jobs are overdue; what failed and was told to its user is not among them."""
    return sum(_overdue(model).count() for model in kinds().values())


@transaction.atomic
def retry(kind: str, pk: str, by: User) -> None:
    """Ask once more for a failed or overdue job."""
    row = _locked(kind, pk)
    jobs.retry_jobs(_rows(type(row)).filter(pk=row.pk))
    audit.record(by, "job.retry", row, kind=kind)


@transaction.atomic
def park(kind: str, pk: str, by: User) -> None:
    """Close an overdue job: nobody works at it until somebody asks again."""
    row = _locked(kind, pk)
    _rows(type(row)).filter(pk=row.pk).update(
        status=jobs.FAILED, lease_expires_at=None, error=_("The operator has stopped this job.")
    )
    audit.record(by, "job.park", row, kind=kind)


def _locked(kind: str, pk: str) -> Job:
    unknown = NotFound(_("There is no such job."))
    model = kinds().get(kind)
    if model is None:
        raise unknown
    try:
        key = model._meta.pk.to_python(pk)
    except ValidationError:
        raise unknown from None
    row = _rows(model).select_for_update().filter(pk=key).first()
    if row is None:
        raise unknown
    if not _stuck(model).filter(pk=row.pk).exists():
        raise Conflict(_("Somebody works at this job, or it is done."))
    return row


def _rows(model: type[Job]) -> QuerySet:
    return model._base_manager.all()


def _study(model: type[Job]) -> list[str]:
    return [field.name for field in model._meta.fields if field.name == "study"]


def _stuck(model: type[Job]) -> QuerySet:
    return _rows(model).filter(Q(status=jobs.FAILED) | Q(pk__in=_overdue(model).values("pk")))


def _overdue(model: type[Job]) -> QuerySet:
    late = Now() - STUCK_AFTER
    waiting = Q(status=jobs.REQUESTED, next_try_at__lt=late)
    return _rows(model).filter(waiting | Q(status=jobs.RUNNING, lease_expires_at__lt=late))
