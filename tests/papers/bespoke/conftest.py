"""The study "tea" as BESPOKE runs it: Ann and Bo own histories, ask, and judge the answers.

Ann keeps a session about trains with a canary in it and one of Bo's tells of boats. Both asked a
question whose need holds a canary, too.
"""

import json

import pytest
from django.test import override_settings
from django.utils import timezone

from annotation.candidates import documents, generate, writing
from annotation.candidates.models import Retrieval
from annotation.datasets import folders, freeze
from annotation.histories import consent, search
from annotation.histories.models import HistoryConsent, Message, Session, Upload
from annotation.judging.batches.open import open_batch
from annotation.judging.models import Slot
from annotation.judging.work import queue, submit
from annotation.queries import owner_queries
from annotation.studies.models import TaskDefinition
from tests.candidates.conftest import Fake, Reply, fake  # noqa: F401 - a fixture
from tests.conftest import Cast
from tests.evaluation.conftest import server, write_manifest  # noqa: F401 - a fixture
from tests.papers.bespoke.test_judge import make, row_of

SEND = HistoryConsent.Purpose.SEND
NEED = "NEED-CANARY"


def keep(owner, title, *texts):
    """A kept session of ``owner`` with these messages, found by search."""
    upload = Upload.objects.create(owner=owner, size=1, status="done")
    session = Session.objects.create(
        owner=owner, upload=upload, kind="chat", provider="chatgpt", external_id=title,
        title=title, state="kept", marked_at=timezone.now(), length=len(texts),
    )  # fmt: skip
    rows = [(session.pk, None, title)]
    for position, text in enumerate(texts):
        role = ("user", "assistant")[position % 2]
        message = Message.objects.create(session=session, position=position, role=role, text=text)
        rows.append((session.pk, message.pk, text))
    search.index(owner, rows)
    return session


def ask(study, owner, text="Which train goes to the sea?", want=NEED):
    """A query of ``owner``, ready to be answered."""
    query = owner_queries.write_query(
        owner_queries.begin(study, owner), owner, text=text, guide={"want": want}
    )
    return owner_queries.finish(query, owner)


def begin(cast, tea):
    """The study with a task for owners, sources, and Ann's consent that "fake" sees her history."""
    for name, kind in (("score", "feedback"), ("claims", "claims")):
        config = {"owner_only": True, "tags": True}
        TaskDefinition.objects.create(
            study=tea, name=name, kind=kind, overlap=1, config=checked(kind, config)
        )
    Retrieval.objects.create(
        study=tea, sources=["history", "documents"], strategies=["search", "search-aware-selected"]
    )
    lines = b'{"id": "d1", "title": "Lines", "text": "The night train reaches the sea at six."}\n'
    documents.add_documents(tea, "lines.jsonl", lines)
    ann, bo = cast.person("Ann"), cast.person("Bo")
    keep(ann, "Trains", "I love night trains. ANN-CANARY", "They are slow, and calm.")
    keep(bo, "Boats", "I love the sea and boats. BO-CANARY", "Take a ferry.")
    consent.grant(ann, tea, SEND, "fake")
    return tea


@pytest.fixture
def bespoke(cast, tea, fake):  # noqa: F811
    return begin(cast, tea)


def checked(kind, config):
    from annotation.judging.kinds import kind_of

    return kind_of(kind).check_config(config)


def answered(study, fake, *texts, strategies=()):  # noqa: F811
    """Ask for answers and have them written; the candidates."""
    fake.replies = [Reply(text) for text in texts or ["Take the night train."]]
    rows = generate.request_answers(study, endpoint="fake", strategies=strategies)
    for row in rows:
        writing.write_one(row.pk)
        row.refresh_from_db()
    return rows


CRITERIA = ("Need Alignment", "Content Depth", "Tone", "Explanation Style")


def scores(slot, score, words="Because it fits."):
    ids = [str(option.candidate_id) for option in Slot.objects.get(pk=slot).item.options.all()]
    answers = {name: {"score": score, "text": f"{name}: {words}"} for name in CRITERIA}
    return {"answers": {name: dict.fromkeys(ids, answer) for name, answer in answers.items()}}


def judge(cast, bespoke, fake):  # noqa: F811
    """Ann's query with two answers, the second scored better than the first."""
    ann = cast.person("Ann")
    query = ask(bespoke, ann)
    answered(bespoke, fake, "A profile.", "The first.", "The second.")
    open_batch(bespoke, bespoke.tasks.get(name="score"))
    for score in (2, 5):
        slot = queue.claim(bespoke, ann)
        submit.submit(bespoke, slot, ann, scores(slot, score), key=f"s{score}")
    return query


@pytest.fixture
def judged(cast, bespoke, fake):  # noqa: F811
    return judge(cast, bespoke, fake)


def judged_once(folder):
    """Begin the study and judge in it, for all tests of a file: ``kept(judged_once)``."""
    cast = Cast()
    with Fake() as model, override_settings(ENDPOINTS=[model.config()]):
        judge(cast, begin(cast, cast.tea()), model)


@pytest.fixture
def release(tmp_path):
    return make(tmp_path / "bespoke")


@pytest.fixture
def published(tea, tmp_path, settings):
    """Release 1 of "tea", of judged answers."""
    settings.DATA = tmp_path / "data"
    row = row_of(tea)
    write_manifest(make(folders.folder_of(row)), row)
    return row


SHOTS = "evaluation_shot/evaluation_shot"


@pytest.fixture
def released(tmp_path, bespoke):
    """A function that freezes the study and writes the release; its folder."""

    def go(format="jsonl"):
        release = freeze.request_release(bespoke, "bespoke", format, None)
        folder = tmp_path / str(release.version)
        folder.mkdir()
        freeze.write(release, folder)
        return folder

    return go


def lines(folder, name):
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]


def text_of(folder):
    return "".join(path.read_text() for path in sorted(folder.rglob("*")) if path.is_file())
