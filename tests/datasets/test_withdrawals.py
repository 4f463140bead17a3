"""What a withdrawal leaves: no words anywhere, and no release that could still be made anew."""

import hashlib
import io
import json
import zipfile
from collections import Counter

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models.functions import Now
from django.test import Client

from annotation import policies
from annotation.core.errors import Conflict, DomainError
from annotation.datasets import check, described, folders, freeze, withdrawals
from annotation.datasets.models import Release
from annotation.histories import consent, erase
from annotation.histories.models import HistoryConsent, Session, Upload
from annotation.judging.annotator import leaving
from annotation.judging.models import Handback, Slot
from annotation.studies import messages, survey
from annotation.studies.access import study_for
from annotation.studies.models import Message
from annotation.webhooks import deliver
from tests.datasets.conftest import card, files_of, lines

CANARY = "CANARY-OF-RATER8"
DOWNLOAD = "/studies/tea/releases/1/download/"


@pytest.fixture
def raters(cast, tea):
    return [cast.member(f"Rater{n}", tea, "annotator") for n in range(9)]


@pytest.fixture
def voted(items, vote, raters):
    (item,) = items(1)
    vote(item, "1" * 8, people=raters[:8])
    vote(item, "2", people=raters[8:], reason=CANARY)
    type(item).objects.filter(pk=item.pk).update(counts={"1": 8, "2": 1})
    return item


def everything() -> str:
    """All rows of the project's own tables as text."""
    tables = connection.introspection.django_table_names(only_existing=True)
    with connection.cursor() as cursor:
        texts = []
        for name in tables:
            cursor.execute(f'SELECT t::text FROM "{name}" t')  # noqa: S608
            texts += [row[0] for row in cursor.fetchall()]
    return "\n".join(texts)


def fetched(client):
    """{name: bytes} of what the zip of release 1 holds."""
    response = client.get(DOWNLOAD)
    assert response.status_code == 200
    with zipfile.ZipFile(io.BytesIO(b"".join(response.streaming_content))) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def test_no_word_of_who_withdraws_stays_in_any_row(cast, tea, raters, voted):
    last = raters[8]
    slot = Slot.objects.get(annotator=last)
    about = {"cause": "skipped", "reason": CANARY}
    Handback.objects.create(slot=slot, item=slot.item, annotator=last, **about)
    messages.send_message(study_for(last, "tea", policies.message.may_read), last, CANARY)
    slot.judgments.update(marks=[{"comment": CANARY}])
    assert everything().count(CANARY) == 4
    leaving.withdraw(tea, last)
    assert CANARY not in everything()
    assert not Message.objects.filter(sender=last).exists()


def test_all_judgments_of_the_api_leave_out_who_withdrew(cast, tea, raters, voted, login):
    client = login(cast.member("Rui", tea, "researcher"))
    route = "/api/v1/studies/tea/judgments/?all=1"
    assert len(client.get(route).json()["results"]) == 9
    leaving.withdraw(tea, raters[8])
    answer = client.get(route)
    assert len(answer.json()["results"]) == 8
    assert CANARY not in answer.content.decode()


def test_an_unfetched_release_is_written_anew_without_who_withdrew(
    cast, tea, raters, voted, built, login, django_capture_on_commit_callbacks
):
    release = built("long")
    client = login(cast.member("Rui", tea, "researcher"))
    with django_capture_on_commit_callbacks(execute=True):
        leaving.withdraw(tea, raters[8])
    assert client.get(DOWNLOAD).status_code == 404
    assert not folders.zip_of(release).exists()
    assert not folders.folder_of(release).exists()
    freeze.build(release.pk)
    content = fetched(client)
    assert len(content["tea-v1/votes.csv"].splitlines()) == 1 + 8
    assert CANARY.encode() not in b"".join(content.values())
    release.refresh_from_db()
    assert (release.version, release.manifest["counts"]["withdrawn"]) == (1, 1)


def test_a_fetched_release_is_written_anew_under_a_number_that_names_the_old_one(
    cast, tea, raters, voted, built, login, django_capture_on_commit_callbacks, settings,
    monkeypatch, tmp_path,
):  # fmt: skip
    release = built("long")
    client = login(cast.member("Rui", tea, "researcher"))
    old_text = fetched(client)["tea-v1/manifest.json"]
    old = hashlib.sha256(old_text).hexdigest()
    events = ["release.revised"]
    hook = deliver.add_webhook(tea, "https://example.org/hook", events, by=cast.person("Carol"))
    with django_capture_on_commit_callbacks(execute=True):
        leaving.withdraw(tea, raters[8])
    assert client.get(DOWNLOAD).status_code == 404
    assert not folders.zip_of(release).exists()
    assert not folders.folder_of(release).exists()
    freeze.build(release.pk)
    content = fetched(client)
    assert CANARY.encode() not in b"".join(content.values())
    manifest = json.loads(text := content["tea-v1.1/manifest.json"])
    assert b"release 1.1" in content["tea-v1.1/README.md"]
    assert len(content["tea-v1.1/votes.csv"].splitlines()) == 1 + 8
    (entry,) = manifest["replaces"]
    assert (manifest["version"], manifest["revision"]) == (1, 1)
    assert (entry["version"], entry["digest"]) == ("1", old)
    assert entry["reason"] == "A person in it withdrew from the study."
    status = client.get(f"/api/v1/releases/{release.public_id}/").json()
    assert status["digest"] == hashlib.sha256(text).hexdigest()
    assert status["revisions"][0]["digest"] == old
    page = client.get("/studies/tea/releases/").content.decode()
    assert old in page
    assert "Release 1 was taken back on" in " ".join(page.split())
    assert [deliver.collect(), deliver.collect()] == [1, 0]
    data = hook.deliveries.get().body["data"]
    assert (data["version"], data["digest"]) == ("1.1", status["digest"])
    assert data["replaces"]["digest"] == old
    # Whoever has the old files is told, without an account.
    asked = Client().get(manifest["feed"].removeprefix(settings.BASE_URL))
    assert asked["Content-Type"] == "application/feed+json"
    monkeypatch.setattr(check, "_fetched", lambda address: asked.json())
    for path, content, reason in (("v1", old_text, "Release 1 is written again"), ("v2", text, "")):
        (tmp_path / path).mkdir()
        (tmp_path / path / "manifest.json").write_bytes(content)
        assert check.replaced(tmp_path / path).startswith(reason)
    with pytest.raises(CommandError, match="has a successor: Release 1 is written again"):
        call_command("check_release", tmp_path / "v1", online=True)
    with pytest.raises(Conflict):
        withdrawals.delete(release, by=cast.person("Carol"))


def test_files_that_a_killed_process_left_of_an_older_revision_go_with_the_next(
    tea, raters, voted, built
):
    release = built("long")
    withdrawals.note_fetch(release)
    leaving.withdraw(tea, raters[8])  # its transaction is not committed: nothing is deleted yet
    assert folders.zip_of(release).exists()
    freeze.build(release.pk)
    assert not folders.zip_of(release).exists()
    assert not folders.folder_of(release).exists()


def test_a_release_that_holds_nothing_of_the_person_stays(
    cast, tea, raters, voted, built, django_capture_on_commit_callbacks
):
    release = built("long")
    late = cast.member("Late", tea, "annotator")
    with django_capture_on_commit_callbacks(execute=True):
        leaving.withdraw(tea, late)
    release.refresh_from_db()
    assert (release.status, folders.zip_of(release).exists()) == (Release.Status.DONE, True)


def test_sessions_that_are_erased_or_may_no_more_be_published_leave_releases_once(tea, ann):
    upload = Upload.objects.create(owner=ann, size=1)
    rows = [
        Session.objects.create(owner=ann, upload=upload, external_id=str(n), kind="chat")
        for n in range(3)
    ]
    held = [str(row.pk) for row in rows]
    release = Release.objects.create(
        study=tea, version=1, layout="own", salt="s", as_of=Now(), status="done", digest="d1",
        fetched_at=Now(),
        frozen={"about": {"slug": "tea"}, "owners": [ann.pk], "sessions": held, "withdrawn": []},
    )  # fmt: skip
    erase.sessions(ann, [rows[0].pk])
    release.refresh_from_db()
    assert (release.number, release.status) == ("1.1", "requested")
    assert release.frozen["sessions"] == held[1:]
    Release.objects.update(status="done", digest="d2", fetched_at=Now())
    consent.grant(ann, tea, HistoryConsent.Purpose.PUBLISH)
    for _twice in range(2):
        consent.withdraw(ann, tea, HistoryConsent.Purpose.PUBLISH)
    release.refresh_from_db()
    assert (release.number, release.frozen["sessions"]) == ("1.2", [])
    erase.forget(ann)
    release.refresh_from_db()
    assert [entry["digest"] for entry in release.revisions] == ["d1", "d2"]
    assert {entry["reason"] for entry in release.revisions} == {withdrawals.TOOK_BACK}


def test_a_release_tells_of_people_in_fives_and_again_without_who_takes_back(
    tea, raters, voted, built, client
):
    text = "Age? | under 40 | over 40\nTongue? | English | Korean | Thai"
    asked = survey.publish(tea, survey.read_questions(text), "I agree.", by=None)
    for number, rater in enumerate(raters):
        tongue = {"Tongue?": "Korean"} if number < 8 else {"Tongue?": "Thai"}
        survey.answer(asked, rater, {"Age?": "under 40"} | tongue)
    release = built("long")

    def people():
        rows, judgments = lines(release, "people.jsonl"), lines(release, "judgments.jsonl")
        assert {row["worker"] for row in rows} <= {row["worker"] for row in judgments}
        told = Counter((row["question"], row["answer"]) for row in rows)
        return told, release.manifest["survey"]

    told, stated = people()
    # One alone would be told apart by what is not told: the question is left out.
    assert told == {("Age?", "under 40"): 9}
    assert (stated["people"], stated["released"], stated["questions"][1]["choices"]) == (9, 9, {})
    assert "Thai" not in json.dumps(stated)
    assert "| Age? | 9 | under 40 9 | – |" in card(release)
    survey.take_back(tea, raters[8])
    release.refresh_from_db()
    assert str(raters[8].pk) not in release.frozen["survey"]["answers"]
    freeze.build(release.pk)
    release.refresh_from_db()
    assert people()[0] == {("Age?", "under 40"): 8, ("Tongue?", "Korean"): 8}


def test_two_releases_do_not_tell_together_who_joined_between_them(
    cast, tea, raters, items, vote, built
):
    questions = survey.read_questions("Age? | under 40 | over 40")
    asked, made = survey.publish(tea, questions, "I agree.", by=None), iter(items(20))

    def told(number, people, age):
        for person in people:
            survey.answer(asked, person, {"Age?": age})
            vote(next(made), "1", people=[person])
        release = built("long")
        assert release.version == number
        rows = lines(release, "people.jsonl") if "people.jsonl" in files_of(release) else []
        stated = release.manifest["survey"]
        return Counter(row["answer"] for row in rows), stated.get("told_in"), card(release)

    assert told(1, raters, "under 40")[:2] == ({"under 40": 9}, None)
    more = [cast.member(f"More{n}", tea, "annotator") for n in range(5)]
    counts, told_in, text = told(2, more[:1], "under 40")
    assert (counts, told_in) == ({}, 1)
    assert "is told in release 1: since then fewer than 5" in text
    assert told(3, more[1:4], "under 40")[1] == 1
    # Five more than the first: nobody is told of by the difference.
    assert told(4, more[4:], "under 40")[:2] == ({"under 40": 14}, None)


@pytest.mark.parametrize(
    ("joined", "differ"),
    [
        ([], False),
        (["young"] * 5, False),
        (["young"] * 4, True),
        # Of each group of those who joined.
        (["young"] * 3 + ["old"] * 2, True),
        (["young"] * 5 + [""], True),
    ],
)
def test_the_difference_of_two_releases_is_of_fives_in_every_group(joined, differ):
    before = {n: {"Age?": ("young", "old")[n % 2]} for n in range(10)}
    more = {n: {"Age?": age} if age else {} for n, age in enumerate(joined, 10)}
    now = {n: row | {"Tongue?": "Korean"} for n, row in (before | more).items()}
    assert described.few_differ(before, now) is described.few_differ(now, before) is differ
    # Releases that tell of other questions say nothing together.
    assert not described.few_differ(before, {0: {"Tongue?": "Korean"}})


@pytest.mark.parametrize(
    ("manifest", "words"),
    [({}, "names no feed"), ({"feed": "file:///etc/passwd"}, "names no feed"),
     ({"feed": "http://127.0.0.1:9/feed/"}, "does not answer"),
     ({"feed": "http://[/"}, "does not answer")],
)  # fmt: skip
def test_a_feed_that_cannot_be_asked_is_said(tmp_path, manifest, words):
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(DomainError, match=words):
        check.replaced(tmp_path)
