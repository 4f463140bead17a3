"""What the web server asks of each session of the database, whatever the worker's are."""

import os
import runpy
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connections

CONFIGURATION = Path(__file__).parents[2] / "annotation" / "local" / "gunicorn.conf.py"


@pytest.mark.django_db
def test_the_web_servers_sessions_are_limited_where_the_environment_names_no_limit(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("ATTUNE_DATA", str(tmp_path))
    monkeypatch.setenv("ATTUNE_LOCK_TIMEOUT_MS", "4000")
    monkeypatch.setitem(os.environ, "PROMETHEUS_MULTIPROC_DIR", "")  # the file sets it
    database = settings.DATABASES["default"]
    options = {**database["OPTIONS"], "options": "-c statement_timeout=0 -c lock_timeout=4000"}
    monkeypatch.setitem(database, "OPTIONS", options)
    runpy.run_path(str(CONFIGURATION))["post_fork"](None, None)
    connection = connections.create_connection("default")
    names = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
    with connection.cursor() as cursor:
        limits = [cursor.execute(f"SHOW {name}").fetchone()[0] for name in names]
    connection.close()
    assert limits == ["15s", "4s", "30s"]
