"""What was erased is out of the database's files and its write-ahead log after the rewriting."""

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from annotation.core.models import Heartbeat
from annotation.histories import erase, rewrite
from annotation.histories.models import Session, Tombstone
from annotation.local import postgres
from annotation.local.folders import private_folder
from tests.histories.conftest import chat
from tests.services import end, spawn, wait_until

CANARY = "quetzalcanary"


def test_it_is_due_once_a_day_after_an_erasure_of_any_kind(ann, bo, bring):
    bring(ann, chat("c-1"), chat("c-2"), name=b"one")
    assert not rewrite.is_due()
    erase.sessions(ann, Session.objects.filter(external_id="c-1"))
    assert rewrite.is_due()
    hour = timedelta(hours=1)
    Heartbeat.objects.create(name=rewrite.NAME, at=timezone.now() - 19 * hour)
    assert not rewrite.is_due()
    Heartbeat.objects.update(at=timezone.now() - 21 * hour)
    assert rewrite.is_due()
    Tombstone.objects.update(erased_at=timezone.now() - 22 * hour)
    assert not rewrite.is_due()
    erase.forget(bo)
    assert rewrite.is_due()


ERASED = """
import django
django.setup()
from django.db import connection
from annotation.accounts.models import User
from annotation.core import jobs
from annotation.histories import erase, ingest, marks, rewrite
from annotation.histories.models import Upload, changing
from annotation.histories.records import Conversation, Message, Search
from annotation.histories.store import store_records
ann = User.objects.create_user("ann@example.org")
upload = Upload.objects.create(owner=ann, size=1, status="running", attempts=1, name="{canary}")
turns = (Message("user", "I ask about {canary}"), Message("assistant", "Of {canary}, much."))
chats = [Conversation("chatgpt", str(n), "{canary}", turns) for n in range(50)]
with changing(ann):
    store_records(upload, [*chats, Search("chrome", "{canary} today")])
ingest._mark(upload, jobs.Lease(upload))
marks.add_words(ann, ["{canary}"])
assert erase.forget(ann).done_at
with connection.cursor() as cursor:
    cursor.execute("CHECKPOINT")
print("erased", flush=True)
input()
assert rewrite.is_due() and rewrite.rewrite()
"""


@pytest.mark.proof
def test_no_raw_file_of_the_database_holds_an_erased_word(tmp_path):
    data = private_folder(tmp_path / "var")
    cluster = postgres.cluster(data)
    log = tmp_path / "postgres.log"
    server = spawn(cluster.program(), log)
    try:
        wait_until(lambda: postgres.is_ready(cluster), server, log)
        postgres.provision(cluster)
        environment = os.environ | {"DATABASE_URL": cluster.url(), "ATTUNE_DATA": str(data)}
        manage = [sys.executable, "-W", "ignore", "manage.py"]
        subprocess.run([*manage, "migrate", "--verbosity=0"], env=environment, check=True)
        script = [sys.executable, "-c", ERASED.format(canary=CANARY)]
        with subprocess.Popen(
            script, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout.readline() == "erased\n"
            before = files_with(cluster.data)
            child.communicate("\n")
        assert child.returncode == 0
        assert {"base", "pg_wal"} <= {path.parts[0] for path in before}
        assert files_with(cluster.data) == []
    finally:
        end(server, cluster.program())


def files_with(folder: Path) -> list[Path]:
    """The files below ``folder`` in which the canary stands, in any case."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [
        path.relative_to(folder) for path in files if CANARY.encode() in path.read_bytes().lower()
    ]
