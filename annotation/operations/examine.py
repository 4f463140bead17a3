"""What `doctor` and the operator's page look at: checks of every part, and jobs of every kind.

Each check says what it saw in a few words. Of jobs there is how many are in which state, what is
stuck, and what to do about it.
"""

import platform
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import django
import httpx2
import redis
from django.apps import apps
from django.conf import settings
from django.core import mail
from django.core.exceptions import ObjectDoesNotExist, ValidationError
from django.db import DatabaseError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Now
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.accounts.models import User
from annotation.core import audit, jobs
from annotation.core.errors import Conflict, NotFound
from annotation.core.jobs import SILENCE, Job
from annotation.core.models import Heartbeat

FREE_MEGABYTES = 300
SECONDS = 3
CLOCK_SECONDS = 2
# What a page calls each check; `doctor` and its document print the names.
LABELS = {
    "database": gettext_lazy("Database"),
    "extension": gettext_lazy("Database extension"),
    "migrations": gettext_lazy("Migrations"),
    "broker": gettext_lazy("Message broker"),
    "worker": gettext_lazy("Background worker"),
    "beat": gettext_lazy("Scheduler"),
    "jobs": gettext_lazy("Jobs"),
    "clock": gettext_lazy("Clock"),
    "backup": gettext_lazy("Backup"),
    "mail": gettext_lazy("Mail"),
    "versions": gettext_lazy("Versions"),
    "disk": gettext_lazy("Disk"),
    "endpoint": gettext_lazy("Endpoint"),
}
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
class Check:
    """One thing that was looked at; ``detail`` names no secret."""

    name: str
    ok: bool
    detail: str

    @property
    def label(self) -> str:
        """The name in the reader's language; the name of a folder or endpoint stays as it is."""
        part, _space, rest = self.name.partition(" ")
        return f"{LABELS[part]} {rest}".strip()


def examine() -> list[Check]:
    """Look at every part; a part that cannot be asked is one that fails, never an exception."""
    looks: dict[str, Callable[[], tuple[bool, str]]] = {
        "database": _database,
        "extension": _extension,
        "migrations": _migrations,
        "broker": _broker,
        "worker": partial(_sign, "worker"),
        "beat": partial(_sign, "beat"),
        "jobs": _jobs,
        "clock": _clock,
        "backup": _backup,
        "mail": _mail,
        "versions": _versions,
    }
    checks = [_guarded(name, look) for name, look in looks.items()]
    return [*checks, *_disks(), *_endpoints()]


def report(checks: list[Check]) -> dict:
    """The contract's document: ``{"ok", "checks": [{"name", "ok", "detail"}]}``."""
    return {"ok": all(check.ok for check in checks), "checks": [asdict(check) for check in checks]}


def _guarded(name: str, look: Callable[[], tuple[bool, str]]) -> Check:
    try:
        return Check(name, *look())
    except (DatabaseError, redis.RedisError, OSError, ValueError) as error:
        return Check(name, False, _("no answer (%(error)s)") % {"error": type(error).__name__})


def _database() -> tuple[bool, str]:
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        return True, f"PostgreSQL {cursor.fetchone()[0]}"


def _extension() -> tuple[bool, str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
        row = cursor.fetchone()
    return (True, f"vector {row[0]}") if row else (False, _("vector is missing"))


def _migrations() -> tuple[bool, str]:
    executor = MigrationExecutor(connection)
    n = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    return n == 0, _("%(n)d to run") % {"n": n} if n else _("all run")


def _broker() -> tuple[bool, str]:
    with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=SECONDS) as client:
        return True, f"Redis {client.info('server')['redis_version']}"


def _sign(name: str) -> tuple[bool, str]:
    at = Heartbeat.objects.filter(name=name).values_list("at", flat=True).first()
    if at is None:
        return False, _("never seen")
    age = timezone.now() - at
    words = _("seen %(seconds)d s ago") % {"seconds": round(age.total_seconds())}
    return age < SILENCE, words


def _jobs() -> tuple[bool, str]:
    count = count_stuck()
    return count == 0, _("%(n)d overdue") % {"n": count}


def _clock() -> tuple[bool, str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        difference = abs((timezone.now() - cursor.fetchone()[0]).total_seconds())
    words = _("%(seconds)s s from the database's")
    return difference < CLOCK_SECONDS, words % {"seconds": f"{difference:.2f}"}


def _backup() -> tuple[bool, str]:
    at = Heartbeat.objects.filter(name="backup").values_list("at", flat=True).first()
    hours = settings.BACKUP_HOURS
    if at is None:
        return not hours, _("none yet") if hours else _("none yet, and none is scheduled")
    age = timezone.now() - at
    in_time = not hours or age < timedelta(hours=2 * hours)
    return in_time, _("%(hours)s hours ago") % {"hours": f"{age.total_seconds() / 3600:.1f}"}


def _mail() -> tuple[bool, str]:
    if not settings.EMAIL_URL:
        return True, _("no mail server: mails are files")
    with mail.get_connection(timeout=SECONDS):
        return True, _("%(host)s takes mail") % {"host": settings.EMAIL_HOST}


def _versions() -> tuple[bool, str]:
    python = platform.python_version()
    return True, f"Attune {settings.VERSION}, Django {django.__version__}, Python {python}"


def places() -> dict[str, Path]:
    """Folders whose disks matter, by name."""
    return {
        "data": settings.DATA,
        **{name: settings.DATA / name for name in ("releases", "histories", "documents", "log")},
    }


def _disks() -> Iterator[Check]:
    for name, folder in places().items():
        if folder.exists():
            usage = shutil.disk_usage(folder)
            enough = usage.free // 2**20 >= FREE_MEGABYTES
            detail = _("%(size)s free") % {"size": filesizeformat(usage.free)}
            yield Check(f"disk {name}", enough, detail)


def _endpoints() -> Iterator[Check]:
    """Whether each model server answers at all; whether it knows its model is told by its use."""
    for entry in settings.ENDPOINTS:
        name, address = f"endpoint {entry.get('name', '?')}", str(entry.get("base_url", ""))
        host = urlsplit(address).hostname
        key = {"Authorization": f"Bearer {entry['api_key']}"} if entry.get("api_key") else {}
        try:
            url = f"{address.rstrip('/')}/models"
            answer = httpx2.get(url, headers=key, timeout=SECONDS, trust_env=False)
            status = answer.status_code
            detail = _("%(host)s answers %(status)d") % {"host": host, "status": status}
            yield Check(name, status < 500, detail)
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            detail = _("%(host)s does not answer (%(error)s)")
            values = {"host": host, "error": type(error).__name__}
            yield Check(name, False, detail % values)


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
    try:
        model = kinds()[kind]
        key = model._meta.pk.to_python(pk)
        row = _rows(model).select_for_update().get(pk=key)
    except (KeyError, ValidationError, ObjectDoesNotExist):
        raise NotFound(_("There is no such job.")) from None
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
