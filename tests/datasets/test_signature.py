"""Releases are signed by the installation; anybody can check that without it."""

import base64

import pytest

from annotation.core.errors import DomainError
from annotation.datasets import check
from annotation.datasets.check import check_release


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "manifest.json").write_text('{"files": []}')
    check.sign(tmp_path, "release 1 of tea")
    return tmp_path


def test_a_signature_names_the_key_that_made_it_and_the_same_secret_makes_the_same(folder):
    text = (folder / check.SIGNATURE).read_text()
    assert check.signer(folder) == check.public_key()
    assert f"trusted comment: release 1 of tea, key {check.public_key()}\n" in text
    # The form of minisign: algorithm, number of the key, and 32 or 64 bytes.
    assert len(base64.b64decode(check.public_key())) == 2 + 8 + 32
    assert len(base64.b64decode(text.splitlines()[1])) == 2 + 8 + 64
    check.sign(folder, "release 1 of tea")
    assert (folder / check.SIGNATURE).read_text() == text
    assert check_release(folder, check.public_key()) == []


def test_another_installations_key_is_another(folder, settings):
    settings.SECRET_KEY = "of another installation"
    (fault,) = check_release(folder, check.public_key())
    assert fault == {"path": check.SIGNATURE, "reason": "is not of the key that was named"}
    assert check_release(folder) == []


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
def test_a_signature_that_was_changed_is_refused(folder, break_):
    path = folder / check.SIGNATURE
    path.write_text(break_(path.read_text()))
    with pytest.raises(DomainError, match="not the signature"):
        check.signer(folder)


def test_a_manifest_that_was_changed_is_refused_and_one_without_signature_where_a_key_is_named(
    folder,
):
    (folder / "manifest.json").write_text('{"files": [ ]}')
    (fault,) = check_release(folder)
    assert fault["reason"] == "is not the signature of this manifest.json"
    (folder / check.SIGNATURE).unlink()
    assert check_release(folder) == []
    assert len(check_release(folder, check.public_key())) == 1
