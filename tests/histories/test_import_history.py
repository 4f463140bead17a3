"""`import_history EMAIL FILE`"""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from annotation.histories import erase
from annotation.histories.models import Session, Upload
from annotation.histories.records import Refused, Skipped
from tests.histories.conftest import chat, search, stored


@pytest.fixture
def file(tmp_path, contents, ann):
    path = tmp_path / "export.zip"
    path.write_bytes(b"made up")
    contents[b"made up"] = [chat(), chat("c-2"), search(), search(), Skipped("line 3", "junk: x")]
    return path


EXPECTED = {
    "source": "made-up",
    "sessions": 2,
    "messages": 4,
    "searches": 1,
    "first": "2026-03-14T12:00:00+00:00",
    "last": "2026-03-14T12:01:00+00:00",
    "duplicates": 1,
    "skipped": [{"where": "line 3", "reason": "junk: x"}],
}


def run(*words):
    out, err = io.StringIO(), io.StringIO()
    call_command("import_history", *map(str, words), stdout=out, stderr=err)
    return json.loads(out.getvalue())


def test_the_command_prints_what_it_imported_also_of_what_is_already_here(file, settings):
    assert run("ANN@example.org", file) == EXPECTED
    assert run("ann@example.org", file) == EXPECTED | {"duplicates": 4}
    assert Session.objects.count() == 3
    assert stored(settings) == []


def test_a_dry_run_prints_the_same_and_stores_nothing(file):
    assert run("ann@example.org", file, "--dry-run") == EXPECTED
    assert (Session.objects.count(), Upload.objects.count()) == (0, 0)
    run("ann@example.org", file)
    assert run("ann@example.org", file, "--dry-run") == EXPECTED | {"duplicates": 4}


def refused(*words) -> dict:
    """The error that the command prints, which is also the sentence that it ends with."""
    out = io.StringIO()
    with pytest.raises(CommandError) as caught:
        call_command("import_history", *map(str, words), stdout=out)
    error = json.loads(out.getvalue())["error"]
    assert (error["message"], caught.value.returncode) == (str(caught.value), 1)
    assert error["message"].endswith(".")
    return error


@pytest.mark.parametrize("words", [(), ("--dry-run",)])
def test_a_file_that_is_no_history_is_refused_by_its_code(file, contents, words):
    contents[b"made up"] = Refused("unsupported_format")
    error = refused("ann@example.org", file, *words)
    assert error["code"] == "unsupported_format"
    assert error["message"].startswith("This is not an export that can be read here.")


def test_an_empty_file_an_unknown_account_and_a_missing_file_are_sentences(
    file, tmp_path, contents
):
    (tmp_path / "empty").touch()
    assert refused("ann@example.org", tmp_path / "empty")["code"] == "empty_file"
    assert refused("zoe@example.org", file)["code"] == "account"
    assert refused("ann@example.org", "none")["code"] == "file"
    assert refused("ann@example.org", tmp_path)["code"] == "file"


def test_what_its_owner_erased_needs_a_second_word(file, ann):
    run("ann@example.org", file)
    erase.forget(ann)
    assert "--again" in refused("ann@example.org", file)["message"]
    assert run("ann@example.org", file, "--again") == EXPECTED
