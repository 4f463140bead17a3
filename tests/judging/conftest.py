"""The annotator Ann at her desk, and what she does there."""

import json

import pytest

from annotation.judging.annotator import overview
from annotation.judging.models import Slot
from annotation.judging.work import queue, submit
from annotation.studies.models import Study
from tests.bundle_folder import Folder
from tests.papers.bespoke.conftest import bespoke, fake, judged  # noqa: F401 - fixtures

PAST, LEAVE = "/studies/tea/mine/", "/studies/tea/leave/"
DOWNLOAD, CONSENT = "/studies/tea/mine/download/", "/studies/tea/consent/"


def choose(slot_id, number=1) -> dict:
    slot = Slot.objects.get(pk=slot_id)
    return {"choice": str(slot.item.options.get(number=number).candidate_id)}


def judge(study, user, number=1, **more):
    """Claim and judge one item; the slot's id, or None where nothing is left."""
    slot = queue.claim(study, user)
    if slot:
        data = choose(slot, number) | more.pop("data", {})
        submit.submit(study, slot, user, data, key=f"k{slot}", **more)
    return slot


def place(study, user):
    found = Study.objects.filter(pk=study.pk).with_membership(user).get()
    return overview.places(user, [found])[study.pk]


def downloaded(client) -> dict:
    answer = client.get(DOWNLOAD)
    assert answer.status_code == 200
    return json.loads(answer.getvalue())


@pytest.fixture
def ann(cast, tea):
    return cast.person("Ann")


@pytest.fixture
def page(login, ann):
    return login(ann)


def as_role(study, role):
    study.role = role
    return study


def join_by_a_link(study, user, quota=None):
    """Let ``user`` have come to the study by a crowd's link; the source of that."""
    source = study.sources.create(name="Round 1", completion_code="CODE-7", quota=quota)
    source.entries.create(study=study, user=user, participant="p", session="s")
    type(user).objects.filter(pk=user.pk).update(worker="tea:crowd-1")
    user.refresh_from_db()
    return source


@pytest.fixture
def rush(transactional_db, cast):
    """A study whose people act at once, each in a transaction of their own."""
    return cast.study("rush")


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path / "bundle")
