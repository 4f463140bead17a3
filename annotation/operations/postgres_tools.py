"""PostgreSQL's own programs: the embedded wheel's where it is installed, else those of the PATH."""

import os
import shutil
import subprocess
from pathlib import Path

from django.db import connection

from annotation.core.errors import DomainError
from annotation.local.errors import LocalServiceError
from annotation.local.postgres import wheel_binaries


def dump(target: Path, snapshot: str) -> None:
    """Write the schema ``public``, as ``snapshot`` sees it, to ``target`` in the custom format."""
    options = ["--format=custom", "--schema=public", "--no-owner", "--no-privileges"]
    _run("pg_dump", *options, f"--snapshot={snapshot}", f"--file={target}")


def load(source: Path, before: str) -> None:
    """Run ``before`` and then the dump ``source`` in one transaction: all of it, or nothing."""
    script = source.with_suffix(".sql")
    options = ["--no-owner", "--no-privileges", f"--file={script}"]
    _run("pg_restore", *options, str(source), connect=False)
    beginning = source.with_suffix(".before.sql")
    # The schema is there: the extension lives in it, and stays.
    beginning.write_text(before, encoding="utf-8")
    text = script.read_text(encoding="utf-8")
    script.write_text(text.replace("CREATE SCHEMA public;", ""), encoding="utf-8")
    options = ["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--single-transaction"]
    _run("psql", *options, "--output=/dev/null", f"--file={beginning}", f"--file={script}")


def _run(name: str, *arguments: str, connect: bool = True) -> None:
    database = connection.settings_dict
    environment = {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "PGCONNECT_TIMEOUT": "10"}
    if connect:
        environment |= {
            variable: str(database[key])
            for variable, key in {
                "PGHOST": "HOST",
                "PGPORT": "PORT",
                "PGUSER": "USER",
                "PGDATABASE": "NAME",
                "PGPASSWORD": "PASSWORD",
            }.items()
            if database[key]
        }
    done = subprocess.run(  # noqa: S603 - our own words
        [_program(name), *arguments], env=environment, capture_output=True, text=True
    )
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line.lower()]
        reason = (lines or [f"exit status {done.returncode}"])[0]
        raise DomainError(f"{name} failed: {reason[:300]}")


def _program(name: str) -> str:
    try:
        return str(wheel_binaries() / name)
    except LocalServiceError:
        path = shutil.which(name)
    if path is None:
        raise DomainError(f"{name} was not found: install PostgreSQL's client programs.")
    return path
