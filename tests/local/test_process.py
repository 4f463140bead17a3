"""A step that runs in a fork of the process that asks for it."""

import os
import sys
import time

import pytest

from annotation.local.errors import LocalServiceError
from annotation.local.process import Apart


def test_what_a_step_imports_is_not_here_afterwards(tmp_path):
    def step():
        import this  # noqa: F401 (nobody imports it)

        (tmp_path / "ppid").write_text(str(os.getppid()))

    with Apart(step) as process:
        assert process.wait(60) == 0
    assert (tmp_path / "ppid").read_text() == str(os.getpid())
    assert "this" not in sys.modules


def test_a_step_that_fails_says_why_here(capfd):
    def refuse():
        raise LocalServiceError("The folder is full.")

    def fail():
        raise ValueError("no sentence")

    with (
        pytest.raises(LocalServiceError, match=r"^The folder is full\.$"),
        Apart(refuse) as process,
    ):
        process.wait(60)
    failure = r"^A step of the start failed \(exit status 1\)\.$"
    with pytest.raises(LocalServiceError, match=failure), Apart(fail) as process:
        process.wait(60)
    assert "ValueError: no sentence" in capfd.readouterr().err


def test_a_step_that_nobody_waits_for_any_more_is_ended():
    with pytest.raises(KeyError), Apart(lambda: time.sleep(600)) as process:
        raise KeyError
    assert process.returncode == -9
