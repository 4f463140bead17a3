"""Secrets are made once, closed to others, and never empty."""

import threading

import pytest

from annotation.local.folders import LocalServiceError, read_or_create, write_private
from tests.local.test_folders import mode


def test_a_secret_is_made_once_and_only_its_owner_can_read_it(tmp_path):
    path = tmp_path / "new" / "secrets" / "key"
    secret = read_or_create(path, 50)
    assert len(secret) >= 50
    assert read_or_create(path, 50) == secret
    assert mode(path) == 0o600
    assert mode(path.parent) == mode(path.parent.parent) == 0o700
    assert [entry.name for entry in path.parent.iterdir()] == ["key"]


def test_processes_that_start_at_once_agree_on_one_secret(tmp_path):
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(read_or_create(tmp_path / "key")))
        for _ in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 16
    assert len(set(found)) == 1


def test_a_secret_that_others_can_read_is_refused(tmp_path):
    path = tmp_path / "key"
    path.write_text("known to everybody")
    path.chmod(0o644)
    with pytest.raises(LocalServiceError) as caught:
        read_or_create(path)
    assert str(caught.value) == (
        f"The secret {path} is open to other accounts: "
        "it must be owned by this account with mode 0600."
    )


def test_an_empty_secret_is_refused(tmp_path):
    write_private(tmp_path / "key", "\n")
    with pytest.raises(LocalServiceError, match="is empty: delete it"):
        read_or_create(tmp_path / "key")
