"""Jobs of every kind together: how many in which state, what is stuck, and what to do about it."""

from dataclasses import dataclass
from datetime import timedelta

from django.apps import apps
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.core import audit, jobs
from annotation.core.errors import Conflict, NotFound
from annotation.core.jobs import Job

STUCK_AFTER = timedelta(minutes=5)
SHOWN = 50


@dataclass(frozen=True)
class Stuck:
    """A job that failed, or that nobody has worked at for STUCK_AFTER."""

    kind: str
    row: Job


def kinds() -> dict[str, type[Job]]:
    """Every table of jobs by its name, in the order of the apps."""
    return {model._meta.label_lower: model for model in apps.get_models() if issubclass(model, Job)}


def states() -> dict[str, dict[str, int]]:
    """{kind: {status: rows}}."""
    return {
        name: dict(_rows(model).values_list("status").annotate(n=Count("pk")).order_by())
        for name, model in kinds().items()
    }


def stuck() -> list[Stuck]:
    """At most SHOWN jobs of each kind that need a person, newest first."""
    return [
        Stuck(name, row)
        for name, model in kinds().items()
        for row in _stuck(model).order_by("-pk")[:SHOWN]
    ]


def count_stuck() -> int:
    """How many jobs are overdue; what failed and was told to its user is not among them."""
    return sum(_overdue(model).count() for model in kinds().values())


@transaction.atomic
def retry(kind: str, pk: str, by: User) -> None:
    """Ask once more for a failed or overdue job."""
    row = _locked(kind, pk)
    jobs.again(_rows(type(row)).filter(pk=row.pk))
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


def _stuck(model: type[Job]) -> QuerySet:
    return _rows(model).filter(Q(status=jobs.FAILED) | Q(pk__in=_overdue(model).values("pk")))


def _overdue(model: type[Job]) -> QuerySet:
    late = Now() - STUCK_AFTER
    waiting = Q(status=jobs.REQUESTED, next_try_at__lt=late)
    return _rows(model).filter(waiting | Q(status=jobs.RUNNING, lease_expires_at__lt=late))
