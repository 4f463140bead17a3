"""What a withdrawal leaves: no words anywhere, and no release that could still be made anew."""

import io
import zipfile

import pytest
from django.db import connection

from annotation import policies
from annotation.datasets import folders, freeze
from annotation.datasets.models import Release
from annotation.judging.annotator import leaving
from annotation.judging.models import Handback, Slot
from annotation.studies import messages
from annotation.studies.access import study_for
from annotation.studies.models import Message

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


def csv_rows(content: bytes) -> list[str]:
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        (name,) = [name for name in packed.namelist() if name.endswith("votes.csv")]
        return packed.read(name).decode().splitlines()[1:]


def fetched(client) -> bytes:
    response = client.get(DOWNLOAD)
    assert response.status_code == 200
    return b"".join(response.streaming_content)


def test_no_word_of_who_withdraws_stays_in_any_row(cast, tea, raters, voted):
    last = raters[8]
    slot = Slot.objects.get(annotator=last)
    Handback.objects.create(
        slot=slot, item=slot.item, annotator=last, cause="skipped", reason=CANARY
    )
    messages.write(study_for(last, "tea", policies.message.may_read), last, CANARY)
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
    assert len(csv_rows(content)) == 8
    assert CANARY.encode() not in content
    release.refresh_from_db()
    assert (release.version, release.manifest["counts"]["withdrawn"]) == (1, 1)


def test_a_fetched_release_stays_and_says_when_somebody_withdrew(
    cast, tea, raters, voted, built, login, django_capture_on_commit_callbacks
):
    release = built("long")
    client = login(cast.member("Rui", tea, "researcher"))
    before = fetched(client)
    with django_capture_on_commit_callbacks(execute=True):
        leaving.withdraw(tea, raters[8])
    assert fetched(client) == before
    release.refresh_from_db()
    assert release.withdrawals == [release.fetched_at.date().isoformat()]
    status = client.get(f"/api/v1/releases/{release.public_id}/").json()
    assert status["withdrawals"] == release.withdrawals
    assert f"People in it withdrew on {release.withdrawals[0]}" in (
        client.get("/studies/tea/releases/").content.decode()
    )


def test_a_release_that_holds_nothing_of_the_person_stays(
    cast, tea, raters, voted, built, django_capture_on_commit_callbacks
):
    release = built("long")
    late = cast.member("Late", tea, "annotator")
    with django_capture_on_commit_callbacks(execute=True):
        leaving.withdraw(tea, late)
    release.refresh_from_db()
    assert (release.status, folders.zip_of(release).exists()) == (Release.Status.DONE, True)
