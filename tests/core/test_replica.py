"""Two PostgreSQL servers in streaming replication: who reads which, and what a page says of it."""

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest
from django.http import HttpResponse

from annotation.accounts.models import User
from annotation.core import middleware as replica
from annotation.datasets.models import Release
from annotation.local import postgres
from annotation.local.process import run_as
from tests.local.conftest import services  # noqa: F401 - a fixture
from tests.services import end, spawn, wait_until

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys, time
import django
from django.conf import settings
backend = "django.contrib.staticfiles.storage.StaticFilesStorage"
settings.STORAGES["staticfiles"] = {"BACKEND": backend}
settings.SESSION_ENGINE = "django.contrib.sessions.backends.db"
django.setup()
from django.db import connections
from django.test import Client
from django.utils import timezone
from tests.conftest import Cast
from annotation.datasets.models import Release

cast = Cast()
study = cast.study("tea")
carol = cast.member("Carol", study, "curator")
client = Client(headers={"host": "localhost"})
client.force_login(carol)
superuser = sys.argv[1]


def on_replica(statement):
    import psycopg
    with psycopg.connect(superuser, autocommit=True) as connection:
        return connection.execute(statement).fetchone()


def page():
    answer = client.get("/studies/tea/releases/")
    assert answer.status_code == 200, answer.status_code
    return "dropped for the test" in answer.text, "Figures" in answer.text, "X-Data-Age" in answer


def caught_up():
    lsn = connections["default"].cursor().execute("SELECT pg_current_wal_lsn()").fetchone()[0]
    while on_replica(f"SELECT pg_last_wal_replay_lsn() < '{lsn}'")[0]:
        time.sleep(0.1)


caught_up()
print("empty", *page())
on_replica("SELECT pg_wal_replay_pause(), 1")
while on_replica("SELECT pg_get_wal_replay_pause_state()")[0] != "paused":
    time.sleep(0.1)
Release.objects.create(
    study=study, version=1, layout="long", format="jsonl", salt="s", as_of=timezone.now(),
    frozen={}, status="failed", error="dropped for the test",
)
print("behind", *page())
client.cookies["attune-wrote"] = "1"
print("writer", *page())
del client.cookies["attune-wrote"]
on_replica("SELECT pg_wal_replay_resume(), 1")
caught_up()
print("caught", *page())
settings.REPLICA_MAX_SECONDS = -1
print("old", *page())
settings.REPLICA_MAX_SECONDS = 60
connections["replica"].close()
connections["replica"].settings_dict["HOST"] = "/nonexistent"
print("gone", *page())
"""


@pytest.fixture
def standby(services):  # noqa: F811
    """A copy of the running database that follows it; ends with the test."""
    primary = services.cluster
    home = Path(tempfile.mkdtemp(dir=primary.home.parent, prefix="standby-"))
    copy = replace(primary, home=home, sockets=home / "socket")
    copy.sockets.mkdir(mode=0o700)
    if primary.account:
        entry = pwd.getpwnam(primary.account)
        for folder in (home, copy.sockets):
            os.chown(folder, entry.pw_uid, entry.pw_gid)
    password = (primary.secrets / postgres.SUPERUSER_SECRET).read_text().strip()
    words = [*run_as(primary.account), primary.binaries / "pg_basebackup", "--write-recovery-conf"]
    words += ["--host", primary.sockets, "--username", postgres.SUPERUSER, "--pgdata", copy.data]
    environment = {"PATH": os.defpath, "PGPASSWORD": password}
    subprocess.run([*words, "--checkpoint=fast"], env=environment, cwd=home, check=True)
    log = services.data / "log" / "standby.log"
    server = spawn(copy.program(), log)
    wait_until(lambda: postgres.is_ready(copy), server, log)
    yield copy, f"host={copy.sockets} user={postgres.SUPERUSER} password={password} dbname=attune"
    end(server, copy.program())
    shutil.rmtree(home)


@pytest.mark.parametrize(
    ("page", "method", "wrote", "age", "where"),
    [
        ("releases", "GET", False, 3, "replica"),
        ("home", "GET", False, 3, "default"),
        ("releases", "POST", False, 3, "default"),
        ("releases", "GET", True, 3, "default"),
        ("releases", "GET", False, None, "default"),
    ],
)
def test_a_page_of_releases_reads_a_young_copy_unless_its_reader_has_just_written(
    rf, monkeypatch, page, method, wrote, age, where
):
    monkeypatch.setattr(replica, "_age", lambda: age)
    read = []

    def view(request):
        request.resolver_match = SimpleNamespace(url_name=page)
        middleware.process_view(request)
        read.extend(replica.Router().db_for_read(model) for model in (Release, User))
        return HttpResponse()

    middleware = replica.Replica(view)
    request = rf.generic(method, "/")
    request.COOKIES = {replica.WROTE: "1"} if wrote else {}
    response = middleware(request)
    assert read == [where, "default"]
    assert response.headers.get("X-Data-Age") == ("3" if where == "replica" else None)
    assert (replica.WROTE in response.cookies) is (method == "POST")


@pytest.mark.proof
@pytest.mark.services
def test_pages_of_releases_read_the_copy_and_say_how_old_it_is(services, standby):  # noqa: F811
    copy, superuser = standby
    own = str(services.cluster.sockets)
    url = services.cluster.url()
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "annotation.settings",
        "PYTHONPATH": str(ROOT),
        "DATABASE_URL": url,
        "ATTUNE_REPLICA_URL": url.replace(own.replace("/", "%2F"), str(copy.sockets)),
    }
    assert str(copy.sockets) in environment["ATTUNE_REPLICA_URL"]
    migrate = [sys.executable, "-m", "annotation", "migrate", "--verbosity=0"]
    subprocess.run(migrate, env=environment, cwd=ROOT, check=True)
    with psycopg.connect(superuser) as connection:
        assert connection.execute("SELECT pg_is_in_recovery()").fetchone() == (True,)
    command = [sys.executable, "-c", PROGRAM, superuser]
    done = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-3000:]
    # Whether the release is seen, whether the page tells its age, and whether the header does.
    assert done.stdout.splitlines() == [
        "empty False True True",
        "behind False True True",
        "writer True False False",
        "caught True True True",
        "old True False False",
        "gone True False False",
    ]
