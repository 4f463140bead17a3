"""The Python client against a running server, and its README as written."""

import re
import sys
from pathlib import Path

import pandas
import pytest

from annotation.accounts.models import ApiToken
from annotation.datasets import freeze
from annotation.datasets.models import Release
from annotation.judging.work import queue, submit
from annotation.studies.models import Membership, Study

CLIENT = Path(__file__).parents[2] / "client"
sys.path.insert(0, str(CLIENT / "src"))

from attune_client import Attune, AttuneError, Progress  # noqa: E402

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def attune(cast, live_server, monkeypatch):
    study = cast.study("tea")
    carol = cast.member("Carol", study, "curator")
    _token, key = ApiToken.issue(carol, 1)
    monkeypatch.setenv("ATTUNE_URL", live_server.url)
    monkeypatch.setenv("ATTUNE_TOKEN", key)
    return Attune(retries=0)


@pytest.fixture
def _written_at_once(monkeypatch):
    """No worker runs here: a release is written when it is asked for."""
    monkeypatch.setattr("annotation.datasets.tasks.notify", freeze.build)


FRAME = pandas.DataFrame(
    {"prompt": ["Tea?", "Walk?"], "answer_a": ["Mint.", "North."], "answer_b": ["Oat.", "South."]}
)


def judge_all(slug, *people):
    study = Study.objects.get(slug=slug)
    for person in people:
        Membership.objects.create(study=study, user=person, role="annotator")
        while slot_id := queue.claim(study, person):
            slot = study.slots.get(pk=slot_id)
            choice = str(slot.item.options.get(number=1).candidate_id)
            submit.submit(study, slot_id, person, {"choice": choice}, key=f"k{slot_id}")


@pytest.mark.usefixtures("_written_at_once")
def test_a_frame_becomes_a_study_judgments_and_a_release(cast, attune, tmp_path, capsys):
    study = attune.study_from_frame(FRAME, slug="two", title="Two", overlap=2)
    assert study.progress() == Progress(0, 4)
    judge_all("two", cast.person("Ann"), cast.person("Bo"))
    assert study.watch(every=0) == Progress(4, 4)
    assert "4/4" in capsys.readouterr().err
    frame = study.judgments_frame()
    assert (len(frame), set(frame["label"]), set(frame["item"])) == (
        4,
        {"q0-answer_a", "q1-answer_a"},
        {"q0", "q1"},
    )
    newer = list(study.judgments(since=int(frame["judgment"].iloc[1])))
    assert [row["judgment"] for row in newer] == list(frame["judgment"].iloc[2:])
    folder = study.release("long", tmp_path)
    assert (folder / "manifest.json").exists() or list(folder.rglob("manifest.json"))


def test_the_same_frame_again_changes_nothing(attune):
    for _time in range(2):
        study = attune.study_from_frame(FRAME, slug="two", title="Two", overlap=2)
    assert len(list(study.rows("items"))) == 2
    assert Study.objects.get(slug="two").slots.count() == 4


def test_a_refusal_names_its_rows(attune):
    study = attune.study("tea")
    with pytest.raises(AttuneError) as refusal:
        study.add("candidates", [{"id": "c1", "query": "nowhere", "text": "Hello."}])
    assert (refusal.value.status, refusal.value.code) == (400, "rows")
    assert refusal.value.faults == [{"row": 0, "detail": "there is no query “nowhere”"}]


def test_a_study_that_is_not_there_is_said_to_be_so(attune):
    with pytest.raises(AttuneError) as refusal:
        attune.study("nowhere")
    assert refusal.value.status == 404


def test_a_client_without_a_server_says_what_to_set(monkeypatch):
    monkeypatch.delenv("ATTUNE_URL", raising=False)
    with pytest.raises(ValueError, match="ATTUNE_URL"):
        Attune(token="att_x")


@pytest.mark.usefixtures("_written_at_once", "attune")
def test_the_readme_runs_as_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = re.search(r"```python\n(.*?)```", (CLIENT / "README.md").read_text(), re.DOTALL).group(1)
    names: dict = {}
    exec(compile(code, "README.md", "exec"), names)  # noqa: S102 - our own page
    assert len(names["votes"]) == 0
    assert Release.objects.get().status == "done"
    assert list(names["folder"].rglob("manifest.json")) != []
