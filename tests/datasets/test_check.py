"""Releases are checked and signed; anybody can check both without the installation."""

import base64
import json
import shutil

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from annotation.core.errors import DomainError
from annotation.datasets import check
from annotation.datasets.check import check_release
from annotation.datasets.writers import VOTES, Table, Tables, describe

PATHS = ("data/general/easy.jsonl", "data/specific/hard.jsonl")


@pytest.fixture
def folder(tmp_path):
    """A folder such as a release is: two files of pairs, votes and a manifest."""
    here = tmp_path / "release"
    tables = {path: Table(path, "jsonl") for path in PATHS} | {"votes": VOTES}
    with Tables(here, tables) as made:
        made.write(PATHS[1], {"question": "a\nb", "chosen": '"', "reject": ""})
        for n in range(18):
            made.write("votes", {"task": f't"{n}\r\n', "worker": "worker-001", "label": "x,y"})
    (here / "manifest.json").write_text(json.dumps({"files": made.files()}))
    return here


def relist(folder, change):
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest["files"])
    path.write_text(json.dumps(manifest))


def entry(files, path):
    return next(one for one in files if one["path"] == path)


def test_one_flipped_byte_is_found(folder):
    assert check_release(folder) == []
    path = folder / "votes.csv"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert check_release(folder) == [{"path": "votes.csv", "reason": "has changed"}]


def test_missing_and_additional_files_are_found(folder):
    (folder / "data/general/easy.jsonl").unlink()
    (folder / "data/notes.txt").write_text("hello")
    (folder / "data/link").symlink_to("/etc")
    assert check_release(folder) == [
        {"path": "data/general/easy.jsonl", "reason": "is missing"},
        {"path": "data/link", "reason": "is not in the manifest"},
        {"path": "data/notes.txt", "reason": "is not in the manifest"},
    ]


def test_what_python_leaves_beside_tasks_that_were_run_is_no_addition(folder):
    cache = folder / "harness/lm_eval/__pycache__"
    cache.mkdir(parents=True)
    (cache / "verdict.cpython-313.pyc").write_bytes(b"x")
    assert check_release(folder) == []


def test_a_wrong_number_of_rows_is_found(folder):
    relist(folder, lambda files: entry(files, "votes.csv").update(rows=17))
    assert check_release(folder) == [{"path": "votes.csv", "reason": "has 18 rows, not as listed"}]


def test_a_link_to_elsewhere_is_not_followed(folder, tmp_path):
    (folder / "votes.csv").rename(tmp_path / "votes.csv")
    (folder / "votes.csv").symlink_to(tmp_path / "votes.csv")
    shutil.move(folder / "data", tmp_path / "data")
    (folder / "data").symlink_to(tmp_path / "data")
    reasons = {fault["path"]: fault["reason"] for fault in check_release(folder)}
    assert reasons["votes.csv"] == "is a link"
    assert reasons["data/specific/hard.jsonl"] == "is a link"


@pytest.mark.parametrize(
    "path",
    ["../votes.csv", "/etc/passwd", "a/../../b", "./votes.csv", "a\\..\\b", "a\x00b", "", 7, None,
     "manifest.json", ["x"]],
)  # fmt: skip
def test_a_path_that_leads_outside_is_refused(folder, path):
    relist(folder, lambda files: files.append({"path": path, "rows": 0, "bytes": 0, "sha256": ""}))
    with pytest.raises(DomainError, match=r"manifest\.json: file 4 "):
        check_release(folder)


@pytest.mark.parametrize(
    "text",
    ["", "[", "null", "[]", '{"files": 3}', "{}", '{"files": [3]}', "[" * 100_000, "\ufeff{}"],
)
def test_a_manifest_that_is_none_is_refused_with_a_sentence(folder, text):
    (folder / "manifest.json").write_text(text)
    with pytest.raises(DomainError, match="manifest"):
        check_release(folder)


def test_a_file_listed_twice_is_refused(folder):
    relist(folder, lambda files: files.append(files[0]))
    with pytest.raises(DomainError, match="is listed twice"):
        check_release(folder)


def test_damaged_parquet_under_a_matching_digest_is_a_sentence(tmp_path):
    (tmp_path / "x.parquet").write_bytes(b"no parquet")
    files = {"files": [describe(tmp_path, "x.parquet", 1)]}
    (tmp_path / "manifest.json").write_text(json.dumps(files))
    assert check_release(tmp_path) == [{"path": "x.parquet", "reason": "is not a Parquet file"}]


def test_the_command_prints_json_and_ends_with_1_where_files_differ(folder, capsys, tmp_path):
    call_command("check_release", folder, "--json")
    assert json.loads(capsys.readouterr().out) == {"ok": True}
    (folder / "votes.csv").write_text("task,worker,label\r\n")
    with pytest.raises(CommandError, match=r"votes\.csv has changed") as refusal:
        call_command("check_release", folder, "--json")
    assert refusal.value.returncode == 1
    assert json.loads(capsys.readouterr().out) == {
        "ok": False,
        "files": [{"path": "votes.csv", "reason": "has changed"}],
    }
    with pytest.raises(CommandError, match="is not a folder"):
        call_command("check_release", tmp_path / "nowhere")


def test_a_hub_that_cannot_be_reached_is_said_in_words(folder, monkeypatch):
    pytest.importorskip("huggingface_hub", reason="the extra “evaluate” is not installed")
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(CommandError, match=r"The Hub did not take it: .*[Cc]onnect"):
        call_command("push_release", str(folder), "my-lab/tea")


@pytest.fixture
def signed(tmp_path):
    (tmp_path / "manifest.json").write_text('{"files": []}')
    check.sign(tmp_path, "release 1 of tea")
    return tmp_path


def test_a_signature_names_the_key_that_made_it_and_the_same_secret_makes_the_same(signed):
    text = (signed / check.SIGNATURE).read_text()
    assert check.signer(signed) == check.public_key()
    assert f"trusted comment: release 1 of tea, key {check.public_key()}\n" in text
    # The form of minisign: algorithm, number of the key, and 32 or 64 bytes.
    assert len(base64.b64decode(check.public_key())) == 2 + 8 + 32
    assert len(base64.b64decode(text.splitlines()[1])) == 2 + 8 + 64
    check.sign(signed, "release 1 of tea")
    assert (signed / check.SIGNATURE).read_text() == text
    assert check_release(signed, check.public_key()) == []


def test_another_installations_key_is_another(signed, settings):
    settings.SECRET_KEY = "of another installation"
    (fault,) = check_release(signed, check.public_key())
    assert fault == {"path": check.SIGNATURE, "reason": "is not of the key that was named"}
    assert check_release(signed) == []


@pytest.mark.parametrize(
    "break_",
    [
        lambda text: text.replace("release 1", "release 2"),
        lambda text: text.replace("\n", "\nA", 1),
        lambda text: text.rpartition("\n")[0].rpartition("\n")[0],
        lambda text: text + "x" * 5000,
        lambda text: "",
    ],
    ids=["comment", "signature", "short", "long", "empty"],
)
def test_a_signature_that_was_changed_is_refused(signed, break_):
    path = signed / check.SIGNATURE
    path.write_text(break_(path.read_text()))
    with pytest.raises(DomainError, match="not the signature"):
        check.signer(signed)


def test_a_manifest_that_was_changed_is_refused_and_one_without_signature_where_a_key_is_named(
    signed,
):
    (signed / "manifest.json").write_text('{"files": [ ]}')
    (fault,) = check_release(signed)
    assert fault["reason"] == "is not the signature of this manifest.json"
    (signed / check.SIGNATURE).unlink()
    assert check_release(signed) == []
    assert len(check_release(signed, check.public_key())) == 1
