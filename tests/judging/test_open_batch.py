"""`open_batch`, and what every command says of what is not there."""

import json
import re

import pytest
from django.core.management import CommandError, call_command

from annotation.judging.batches.open import close_batch
from annotation.judging.models import Slot
from tests.commands import run

pytestmark = pytest.mark.django_db


def test_open_batch_prints_items_and_slots_and_opens_nothing_twice(cast, tea, capsys):
    cast.task(tea, "best", overlap=4)
    cast.candidates(cast.query(tea))
    command = ["open_batch", "tea", "--task", "best", "--json"]
    assert json.loads(run(*command)) == {"items": 1, "slots": 4}
    command += ["--overlap", "2"]
    assert json.loads(run(*command)) == {"items": 0, "slots": 0}
    cast.candidates(cast.query(tea, "q2"))
    assert json.loads(run(*command)) == {"items": 1, "slots": 2}
    assert Slot.objects.count() == 6
    assert "Nothing is new" in capsys.readouterr().err


def test_reopen_batch_prints_how_many_slots_are_open_again(cast, tea):
    batch = cast.open(tea, items=2, overlap=3)
    close_batch(batch)
    assert json.loads(run("reopen_batch", "tea", str(batch.pk), "--json")) == {"slots": 6}
    assert Slot.objects.filter(status="open").count() == 6
    with pytest.raises(CommandError, match="no batch 0"):
        run("reopen_batch", "tea", "0")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("open_batch", "rain", "--task", "best"), "There is no study “rain”"),
        (("open_batch", "tea", "--task", "worst"), "no task “worst”. Its tasks: best."),
        (("add_member", "rain", "ann@example.org", "--role", "curator"), "There is no study"),
        (("add_member", "tea", "ann at home", "--role", "curator"), "no e-mail address"),
        (("make_token", "nobody@example.org"), "There is no account nobody@example.org."),
    ],
)
def test_what_does_not_exist_is_named(cast, tea, arguments, words):
    cast.task(tea)
    with pytest.raises(CommandError, match=re.escape(words)) as refusal:
        call_command(*arguments)
    assert refusal.value.returncode == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("open_batch", "tea", "--task", "best", "--overlap", "0"),
        ("open_batch", "tea", "--task", "best", "--overlap", "many"),
        ("add_member", "tea", "ann@example.org", "--role", "king"),
        ("make_token", "ann@example.org", "--days", "-1"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments):
    with pytest.raises(CommandError):
        call_command(*arguments)
