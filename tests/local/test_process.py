"""How a program is run: with its own environment, as its account, and never without its parent."""

import os
import pwd
import signal
import subprocess
import sys
import time

import psutil
import pytest

from annotation.local.errors import LocalServiceError
from annotation.local.process import Program, run_as, tail
from tests.local.conftest import needs_root
from tests.services import spawn

PRINT = "import os, sys; print(sorted(set(os.environ) - {'LC_CTYPE'}), os.geteuid(), flush=True)"
PARENT = """
import subprocess, sys, time
from annotation.local.process import Program
program = Program("child", ["sleep", "600"], orphan_signal=15)
print(subprocess.Popen(program.command()).pid, flush=True)
time.sleep(600)
"""


def said(program: Program, log) -> str:
    assert spawn(program, log).wait(60) == 0
    return log.read_text()


def test_a_program_sees_its_own_environment_or_ours(tmp_path, monkeypatch):
    monkeypatch.setenv("A_SECRET", "of ours")
    argv = [sys.executable, "-c", PRINT]
    alone = Program("alone", argv, environment={"WORD": "two words"})
    assert said(alone, tmp_path / "alone") == f"['WORD'] {os.geteuid()}\n"
    assert "'A_SECRET'" in said(Program("ours", argv), tmp_path / "ours")


@needs_root
def test_a_program_runs_as_its_account_in_no_group_of_ours():
    words = [*run_as("nobody"), "id"]
    entry = pwd.getpwnam("nobody")
    printed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert printed.startswith(f"uid={entry.pw_uid}(nobody) gid={entry.pw_gid}")
    assert printed.partition(" groups=")[2].count(",") == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's end")
def test_a_program_does_not_outlive_a_parent_that_is_killed():
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE) as parent:
        child = psutil.Process(int(parent.stdout.readline()))
        while child.name() != "sleep":  # setpriv sets the signal, and then becomes the program
            time.sleep(0.01)
        parent.kill()
    assert child.wait(60) in (None, -signal.SIGTERM)


def test_without_setpriv_programs_run_as_our_own_account_only(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert Program("redis", ["redis"]).command() == ["redis"]
    with pytest.raises(LocalServiceError, match=r"needs the program setpriv: install util-linux"):
        run_as("attune-postgres")


def test_the_last_lines_of_a_log_are_shown_indented(tmp_path):
    log = tmp_path / "web.log"
    assert tail(log) == ""
    log.write_text("one\ntwo\nthree\n")
    assert tail(log, 2) == "    two\n    three"
