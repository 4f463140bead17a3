"""Private folders and secrets: made closed, and refused where another account could look in."""

import os
import pwd
import stat
import subprocess
from pathlib import Path

import pytest

from annotation.local import folders
from annotation.local.folders import (
    LocalServiceError,
    data_folder,
    private_folder,
    read_or_create,
    socket_folder,
    write_private,
)
from tests.at_once import race
from tests.local.conftest import needs_root


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_an_open_folder_with_other_files_is_refused_and_left_as_it_is(tmp_path):
    tmp_path.chmod(0o755)
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(LocalServiceError) as caught:
        data_folder(tmp_path)
    assert str(caught.value) == (
        f"The folder {tmp_path} is open to other accounts: run `chmod 700 {tmp_path}` first."
    )
    assert mode(tmp_path) == 0o755


def test_an_open_folder_with_nothing_but_our_files_is_closed(tmp_path):
    tmp_path.chmod(0o755)
    (tmp_path / "bench.json").write_text("{}")
    assert data_folder(tmp_path) == tmp_path
    assert mode(tmp_path) == 0o700


def test_a_file_in_the_folders_place_is_named(tmp_path):
    (tmp_path / "var").write_text("")
    with pytest.raises(LocalServiceError, match=r"/var is not a folder"):
        data_folder(tmp_path / "var")


@needs_root
def test_a_folder_of_another_account_is_refused(tmp_path):
    os.chown(tmp_path, pwd.getpwnam("nobody").pw_uid, -1)
    with pytest.raises(LocalServiceError) as caught:
        data_folder(tmp_path)
    assert str(caught.value) == (
        f"The folder {tmp_path} belongs to nobody, not to root: "
        "set ATTUNE_DATA to a folder of your own."
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(LocalServiceError, match="cannot be written: Permission denied"):
        data_folder(tmp_path)


def test_a_disk_without_room_is_named(tmp_path):
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m,mode=0700", "tmpfs", tmp_path], capture_output=True
    )
    if done.returncode:
        pytest.skip("this account may not mount a small disk")
    try:
        with pytest.raises(LocalServiceError) as caught:
            data_folder(tmp_path)
        assert str(caught.value) == (
            f"The disk that holds {tmp_path} is full: 1 MB are free and 300 MB are needed."
        )
        with pytest.raises(OSError, match="No space left"):
            (tmp_path / "log").write_bytes(b"x" * 2**21)
        for act in (lambda: data_folder(tmp_path), lambda: read_or_create(tmp_path / "key")):
            with pytest.raises(LocalServiceError, match="cannot be written: No space left on devi"):
                act()
    finally:
        subprocess.run(["umount", tmp_path], check=True)


def test_sockets_of_a_short_path_lie_in_the_data_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "SOCKET_PATH_BYTES", len(os.fsencode(tmp_path)) + 30)
    assert socket_folder(tmp_path) == tmp_path / "run"


def test_sockets_of_a_long_path_lie_in_a_private_folder_with_a_stable_name(tmp_path):
    data = private_folder(tmp_path / ("long " * 25))
    folder = socket_folder(data)
    try:
        assert len(os.fsencode(folder / ".s.PGSQL.5432")) < 100
        assert mode(folder) == 0o700
        assert socket_folder(data) == folder
        assert socket_folder(private_folder(data / "other")) != folder
    finally:
        folder.rmdir()
        socket_folder(data / "other").rmdir()


@needs_root
def test_a_socket_folder_that_somebody_else_made_is_refused(tmp_path):
    data = private_folder(tmp_path / ("long " * 25))
    folder = socket_folder(data)
    os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
    try:
        with pytest.raises(LocalServiceError, match="belongs to nobody, not to root"):
            socket_folder(data)
    finally:
        folder.rmdir()


def test_a_secret_is_made_once_and_only_its_owner_can_read_it(tmp_path):
    path = tmp_path / "new" / "secrets" / "key"
    secret = read_or_create(path, 50)
    assert len(secret) >= 50
    assert read_or_create(path, 50) == secret
    assert mode(path) == 0o600
    assert mode(path.parent) == mode(path.parent.parent) == 0o700
    assert [entry.name for entry in path.parent.iterdir()] == ["key"]


def test_processes_that_start_at_once_agree_on_one_secret(tmp_path):
    found = race(read_or_create, [tmp_path / "key"] * 16)
    assert (len(found), len(set(found))) == (16, 1)


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
