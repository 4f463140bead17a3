"""What `doctor` and the operator's page look at. Each check says what it saw in a few words."""

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
from django.conf import settings
from django.core import mail
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.core.jobs import SILENCE
from annotation.core.models import Heartbeat
from annotation.operations import queues

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
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    n = len(plan)
    return not plan, _("%(n)d to run") % {"n": n} if n else _("all run")


def _broker() -> tuple[bool, str]:
    with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=SECONDS) as client:
        return True, f"Redis {client.info('server')['redis_version']}"


def _sign(name: str) -> tuple[bool, str]:
    at = Heartbeat.objects.filter(name=name).values_list("at", flat=True).first()
    if at is None:
        return False, _("never seen")
    age = timezone.now() - at
    seconds = round(age.total_seconds())
    return age < SILENCE, _("seen %(seconds)d s ago") % {"seconds": seconds}


def _jobs() -> tuple[bool, str]:
    count = queues.count_stuck()
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
