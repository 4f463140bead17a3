"""How a program is run: with its own environment, as its account, and never without its parent."""

import fcntl
import os
import pwd
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from annotation.local import process
from annotation.local.folders import LocalServiceError
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


REPOSITORY = Path(__file__).parents[2]
PRINT_DATA = ["shell", "-v", "0", "-c", "from django.conf import settings; print(settings.DATA)"]


@pytest.fixture(autouse=True)
def _list_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(process, "FOLDER", tmp_path / "list")


@pytest.fixture
def start(tmp_path):
    """start(name): hold the lock of a data folder, as the supervisor does; the folder."""
    held = []

    def start_(name):
        data = tmp_path / name
        lock = process.lock_file(data)
        lock.parent.mkdir(parents=True)
        file = lock.open("w")
        fcntl.flock(file, fcntl.LOCK_EX)
        held.append(file)
        return data

    yield start_
    for file in held:
        file.close()


def run(program, *arguments, cwd, **variables):
    hidden = {"ATTUNE_DATA", "DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    command = [*program, *arguments]
    return subprocess.run(
        command, cwd=cwd, env=environment | variables, capture_output=True, text=True
    )


def test_the_one_installation_that_runs_is_the_one_meant(start):
    data = start("var")
    assert process.data_folder() is None
    with process.listed(data):
        assert process.data_folder() == data
    assert process.data_folder() is None


def test_a_killed_installation_is_not_taken_for_a_running_one(start, tmp_path):
    live = start("live")
    with process.listed(live), process.listed(tmp_path / "killed"):
        assert process.data_folder() == live


def test_between_two_that_run_no_command_chooses(start):
    first, second = start("a"), start("b")
    words = pytest.raises(LocalServiceError, match="Several installations run")
    with process.listed(first), process.listed(second), words as refusal:
        process.data_folder()
    assert f"({first}, {second})" in str(refusal.value)


@pytest.mark.skipif(not (REPOSITORY / ".venv").exists(), reason="needs the .venv of `make up`")
def test_the_script_runs_from_any_folder_through_a_link_in_the_repositorys_environment(tmp_path):
    link = tmp_path / "attune"
    link.symlink_to(REPOSITORY / "attune")
    code = [*PRINT_DATA[:-1], "import sys; print(sys.prefix)"]
    done = run([str(link)], *code, cwd=tmp_path, ATTUNE_DATA=str(tmp_path / "data"))
    assert (done.stderr, done.returncode) == ("", 0)
    assert (REPOSITORY / ".venv").samefile(done.stdout.strip())


@pytest.mark.skipif(not (REPOSITORY / ".venv").exists(), reason="needs the .venv of `make up`")
def test_manage_py_leaves_a_python_without_the_packages_for_the_environment(tmp_path):
    outside = [sys._base_executable, str(REPOSITORY / "manage.py")]
    done = run(outside, *PRINT_DATA, cwd=tmp_path, ATTUNE_DATA=str(tmp_path / "data"))
    assert (done.stdout, done.returncode) == (f"{tmp_path / 'data'}\n", 0)


def test_without_an_installed_environment_a_sentence_says_what_to_run(tmp_path):
    copy = tmp_path / "manage.py"
    copy.write_text((REPOSITORY / "manage.py").read_text())
    bare = [sys._base_executable, "-S", str(copy)]
    done = run(bare, "check", cwd=tmp_path)
    assert (done.stderr, done.returncode) == (
        "Attune is not installed yet: run `make up` first.\n",
        1,
    )
