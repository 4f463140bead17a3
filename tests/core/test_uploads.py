"""Temporary folders: private, gone after their block, and gone some time after a kill."""

import os
import stat
import time

import pytest

from annotation.core import uploads
from tests.processes import die, killed

HOUR_AGO = time.time() - 3600


@pytest.fixture
def place(tmp_path, settings):
    settings.DATA = tmp_path
    return tmp_path / "scratch"


def fill_and_die():
    with uploads.scratch_folder() as folder:
        (folder / "database.dump").write_text("private")
        os.utime(folder, (HOUR_AGO, HOUR_AGO))
        die()


def test_a_folder_is_private_and_goes_with_its_block_whatever_happens_in_it(place):
    with pytest.raises(KeyError), uploads.scratch_folder() as folder:
        (folder / "table").write_text("private")
        assert [stat.S_IMODE(path.stat().st_mode) for path in (place, folder)] == [0o700, 0o700]
        raise KeyError
    assert list(place.iterdir()) == []


def test_what_a_killed_process_left_goes_with_the_next_folder(place):
    killed(fill_and_die)
    assert [path.name for path in place.glob("*/*")] == ["database.dump"]
    with uploads.scratch_folder() as folder:
        assert list(place.iterdir()) == [folder]


def test_a_folder_that_is_in_use_stays_however_old_it_is(place):
    with uploads.scratch_folder() as folder:
        os.utime(folder, (HOUR_AGO, HOUR_AGO))
        uploads.sweep(place)
        assert list(place.iterdir()) == [folder]


def test_a_folder_that_was_just_made_stays_although_it_is_not_locked_yet(place):
    new, old = place / ".scratch-new", place / ".scratch-old"
    for folder in (new, old):
        folder.mkdir(parents=True)
    os.utime(old, (HOUR_AGO, HOUR_AGO))
    uploads.sweep(place)
    assert list(place.iterdir()) == [new]
