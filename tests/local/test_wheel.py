"""The wheels, installed into environments of their own: what they carry, and that they serve."""

import os
import re
import signal
import subprocess
import sys
import zipfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.core.management import get_commands

from annotation.__main__ import GROUPS, CommandLine
from annotation.core.made import compile_catalogues
from annotation.local.model import free_port

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "client" / "src"))

from attune_client import Attune  # noqa: E402

QUIET = ("--quiet", "--disable-pip-version-check", "--no-deps")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """{name: file} of the wheels that `make wheel` builds."""
    folder = tmp_path_factory.mktemp("dist")
    compile_catalogues()
    for part in (".", "./agreement", "./client"):
        words = ["wheel", *QUIET, "--no-build-isolation", "--wheel-dir", folder, part]
        subprocess.run([sys.executable, "-m", "pip", *words], cwd=ROOT, check=True)
    return {file.name.split("-")[0]: file for file in folder.iterdir()}


def names(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


def test_the_platforms_wheel_has_what_a_clone_has_beside_the_package(wheels):
    inside = names(wheels["attune_platform"])
    listed = ["git", "ls-files", "demo", "locale", "static", "templates", "locks/base.lock"]
    files = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {f"annotation/shipped/{file}" for file in files.splitlines()} <= inside
    assert "annotation/shipped/locale/ko/LC_MESSAGES/django.mo" in inside
    assert {name.split("/")[0] for name in inside} == {
        "annotation",
        "attune_platform-1.0.0.dist-info",
    }


def test_the_statistics_wheel_needs_nothing_of_the_platform_and_its_examples_run(wheels, tmp_path):
    zipfile.ZipFile(wheels["attune_agreement"]).extractall(tmp_path)
    modules = {path.name for path in (ROOT / "annotation/agreement/statistics").glob("*.py")}
    assert modules == {path.name for path in (tmp_path / "attune_agreement").iterdir()}
    readme = (ROOT / "agreement/README.md").read_text("utf-8")
    code = "".join(re.findall(r"```python\n(.*?)```", readme, re.DOTALL))
    code += f"import importlib, sys\nfor name in {sorted(modules)}:\n"
    code += "    importlib.import_module('attune_agreement.' + name.removesuffix('.py'))\n"
    code += "print({'django', 'annotation'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert lines[:2] == ["0.556 0.281", "0.556"]
    assert lines[3] == "no item has two votes"
    assert lines[-3:] == ["medium hard", "2", "set()"]


@pytest.fixture
def installed(wheels, tmp_path):
    """Runs `attune` of an environment with the wheel and what it names, and no clone."""
    home = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    pip = [sys.executable, "-m", "pip", "--python", home / "bin" / "python", "install", *QUIET]
    locks = [word for name in ("laptop", "models") for word in ("-r", ROOT / f"locks/{name}.lock")]
    subprocess.run([*pip, *locks], check=True)
    subprocess.run([*pip, wheels["attune_platform"]], check=True)
    own = ("ATTUNE_", "DATABASE_", "REDIS_", "DJANGO_", "PYTHON", "PORT")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    environment["XDG_DATA_HOME"] = str(tmp_path / "share")

    def attune(*words: str, start: bool = False):
        options = {"cwd": tmp_path, "env": environment, "stdout": subprocess.PIPE, "text": True}
        command = [str(home / "bin" / "attune"), *words]
        if start:
            return subprocess.Popen(command, **options)
        return subprocess.run(command, **options, check=True).stdout

    return attune


@contextmanager
def serving(attune, port: int):
    """A server of `attune up` at ``port``, ended at the end."""
    server = attune("up", "--port", str(port), start=True)
    try:
        assert server.stdout.readline() == f"Attune is ready: http://127.0.0.1:{port}\n"
        yield
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(60)


@pytest.mark.proof
def test_the_slimmed_environment_of_a_wheel_serves_judges_and_releases(installed, tmp_path):
    port = free_port()
    with serving(installed, port):
        installed("add_member", "demo", "ann@example.org", "--role", "annotator", "--consented")
        token = installed("make_token", "ann@example.org").strip()
    files = [path for path in (tmp_path / "venv").rglob("*") if path.is_file()]
    assert not any("pginstall" in path.parts for path in files)
    assert sum(path.lstat().st_blocks * 512 for path in files) < 700 * 2**20
    with serving(installed, port):  # by what is left
        ann = Attune(f"http://127.0.0.1:{port}", token)
        slot = ann.call("POST", "studies/demo/claim/")
        choice = {"choice": slot["options"][0]["id"], "seconds": 20}
        ann.call("POST", f"slots/{slot['slot']}/judgment/", choice, key="first")
        assert ann.call("POST", "studies/demo/claim/")["slot"] != slot["slot"]
        for format in ("jsonl", "parquet"):
            words = ("--layout", "long", "--format", format, "--out", str(tmp_path / format))
            installed("release", "demo-votes", *words)
        assert "krippendorff" in installed("agreement", "demo-votes", "--json")
    assert (tmp_path / "share/attune/var/secrets").is_dir()


def test_the_help_has_every_command_of_attune_once_and_djangos_only_when_asked():
    ours = {name for name, app in get_commands().items() if str(app).startswith("annotation")}
    grouped = [name for words in GROUPS.values() for name in words.split()]
    assert sorted(grouped) == sorted(ours)
    words = CommandLine(["attune", "help"]).main_help_text()
    assert "makemigrations" not in words
    assert re.search(r"^  agreement +Agreement between annotators$", words, re.MULTILINE)
    assert not [line for line in words.splitlines() if re.fullmatch(r"  \w+ *", line)]
    assert "makemigrations" in CommandLine(["attune", "help", "--all"]).main_help_text()
