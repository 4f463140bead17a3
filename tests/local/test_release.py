"""A version is released once, from a clean commit whose changelog names it."""

import re
import shutil
import subprocess

import pytest

from deploy.release import ROOT, faults

FILES = ("CHANGELOG.md", "CITATION.cff", "agreement/pyproject.toml", "client/pyproject.toml")


@pytest.fixture
def root(tmp_path):
    for name in FILES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    changelog = tmp_path / "CHANGELOG.md"
    text = changelog.read_text("utf-8").replace("[1.0.0] - Unreleased", "[1.0.0] - 2026-12-01")
    changelog.write_text(text, "utf-8")
    return tmp_path


def test_a_clean_commit_with_a_dated_entry_may_be_released(root):
    assert faults("1.0.0", "", "", root) == []


def test_each_fault_is_named(root):
    assert faults("1.1.0", "0b1e5f", " M Makefile", root) == [
        "There are changes that are not committed.",
        "v1.1.0 is the tag of 0b1e5f: raise the version.",
        "CHANGELOG.md has no entry `## [1.1.0] - YYYY-MM-DD`.",
        "agreement/pyproject.toml has version 1.0.0.",
        "client/pyproject.toml has version 1.0.0.",
        "CITATION.cff does not have version 1.1.0.",
    ]


def test_an_entry_without_a_date_is_none(root):
    changelog = root / "CHANGELOG.md"
    changelog.write_text(changelog.read_text("utf-8").replace("2026-12-01", "Unreleased"), "utf-8")
    assert faults("1.0.0", "", "", root) == ["CHANGELOG.md has no entry `## [1.0.0] - YYYY-MM-DD`."]


@pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="ssh-keygen is not here")
def test_what_was_signed_is_verified_as_the_page_says_and_another_file_refused(tmp_path):
    def run(*words: str, **options):
        return subprocess.run(words, cwd=tmp_path, capture_output=True, **options)

    (tmp_path / "attune.whl").write_text("The wheel.")
    sums = run("sha256sum", "attune.whl", check=True).stdout
    (tmp_path / "SHA256SUMS").write_bytes(sums)
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key", check=True)
    sign = re.search(r"ssh-keygen -Y sign .*?SHA256SUMS", (ROOT / "Makefile").read_text("utf-8"))
    words = sign[0].replace('"$(SIGNING_KEY)"', "key").replace("dist/", "")
    run(*words.split(), check=True)
    (tmp_path / "allowed_signers").write_text("attune " + (tmp_path / "key.pub").read_text())
    page = (ROOT / "SECURITY.md").read_text("utf-8")
    verify = re.search(r"```sh\n(.*?)```", page, re.DOTALL)[1]
    assert run("sh", "-ec", verify).returncode == 0
    (tmp_path / "attune.whl").write_text("Another wheel.")
    assert run("sh", "-ec", verify).returncode == 1
    (tmp_path / "SHA256SUMS").write_bytes(run("sha256sum", "attune.whl", check=True).stdout)
    assert run("sh", "-ec", verify).returncode == 255
