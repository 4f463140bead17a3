"""`./attune` and manage.py, as typed in another shell: any folder, any Python, no variables."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from annotation.local import running
from annotation.local.errors import LocalServiceError

REPOSITORY = Path(__file__).parents[2]
PRINT_DATA = ["shell", "-v", "0", "-c", "from django.conf import settings; print(settings.DATA)"]


@pytest.fixture(autouse=True)
def _list_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "FOLDER", tmp_path / "list")


@pytest.fixture
def start(tmp_path):
    """start(name): hold the lock of a data folder, as the supervisor does; the folder."""
    held = []

    def start_(name):
        data = tmp_path / name
        lock = running.lock_file(data)
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
    assert running.data_folder() is None
    with running.listed(data):
        assert running.data_folder() == data
    assert running.data_folder() is None


def test_a_killed_installation_is_not_taken_for_a_running_one(start, tmp_path):
    live = start("live")
    with running.listed(live), running.listed(tmp_path / "killed"):
        assert running.data_folder() == live


def test_between_two_that_run_no_command_chooses(start):
    first, second = start("a"), start("b")
    words = pytest.raises(LocalServiceError, match="Several installations run")
    with running.listed(first), running.listed(second), words as refusal:
        running.data_folder()
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
