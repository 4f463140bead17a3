"""Files in an S3-compatible store: machines with folders of their own, one installation."""

import io
import zipfile

import boto3
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from moto.server import ThreadedMotoServer

from annotation.core import sharing
from annotation.core.errors import DomainError
from annotation.core.models import Installation
from annotation.datasets import folders, freeze
from annotation.histories import ingest
from annotation.operations import backup

KEYS = {"region_name": "us-east-1", "access_key": "key", "secret_key": "secret"}


@pytest.fixture(scope="module")
def endpoint():
    server = ThreadedMotoServer("127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(endpoint, settings):
    """An empty bucket that the settings name."""
    keys = {"aws_access_key_id": "key", "aws_secret_access_key": "secret"}
    client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", **keys)
    client.create_bucket(Bucket="files")
    options = {"bucket_name": "files", "endpoint_url": endpoint, "file_overwrite": True, **KEYS}
    shared = {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}
    settings.STORAGES = settings.STORAGES | {"shared": shared}
    settings.S3_BUCKET = "files"

    def names():
        stored = client.list_objects_v2(Bucket="files").get("Contents", [])
        return [entry["Key"] for entry in stored]

    yield names
    for name in names():
        client.delete_object(Bucket="files", Key=name)


@pytest.fixture
def machine(settings, tmp_path):
    """A function that goes to a machine, by name, whose data folder is its own."""

    def go(name):
        settings.DATA = tmp_path / name
        settings.DATA.mkdir(exist_ok=True)
        return settings.DATA

    go("one")
    return go


@pytest.fixture
def _data(machine):
    """What the fixture of releases asks for."""


def local(folder) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_release_that_a_worker_wrote_is_fetched_from_another_machine_and_withdrawn_there(
    bucket, machine, cast, tea, panel, built, login
):
    (item,) = panel("1" * 9)
    item.__class__.objects.filter(pk=item.pk).update(counts={"1": 9})
    release = built("long")
    assert (bucket(), local(machine("one"))) == (["releases/tea/v1.zip"], [])
    machine("two")
    client = login(cast.member("Rui", tea, "researcher"))
    answer = client.get("/studies/tea/releases/1/download/")
    with zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content))) as packed:
        assert "tea-v1/votes.csv" in packed.namelist()
    assert (folders.present(release) / "votes.csv").exists()
    again = freeze.write(release, machine("three"))
    assert again == release.manifest
    folders.withdraw(release, 0)
    assert bucket() == []
    assert client.get("/studies/tea/releases/1/download/").status_code == 404


def test_pieces_of_a_history_may_reach_different_machines(bucket, machine, ann):
    upload = ingest.begin(ann, 6)
    ingest.append(ann, upload.pk, 0, b"abc")
    machine("two")
    upload = ingest.append(ann, upload.pk, 3, b"def")
    worker = machine("worker")
    path = ingest.FILES.path_of(upload.stored)
    with sharing.gathered(path):
        assert path.read_bytes() == b"abcdef"
    assert local(worker) == []
    ingest.FILES.delete(upload.stored)
    assert bucket() == []
    with pytest.raises(FileNotFoundError):
        sharing.gather(path)


def test_a_history_that_came_in_one_form_is_kept_in_the_store_alone(bucket, machine, cast, login):
    web = machine("web")
    file = SimpleUploadedFile("history.json", b"[]")
    assert login(cast.person("Ann")).post("/history/uploads/", {"file": file}).status_code == 302
    assert len(bucket()) == 1
    assert local(web) == []


def test_lists_of_withdrawals_outlive_a_machine(bucket, machine, cast, tea):
    path = machine("one") / backup.WITHDRAWALS
    sharing.append(path, "first")
    path = machine("two") / backup.WITHDRAWALS
    sharing.append(path, "second")
    assert sharing.lines(path) == ["first", "second"]


@pytest.mark.django_db(transaction=True)
def test_a_backup_holds_what_the_store_holds_and_a_restore_puts_it_back(bucket, machine, ann):
    data = machine("one")
    (data / "secrets").mkdir()
    release = data / "releases" / "tea" / "v1.zip"
    release.parent.mkdir(parents=True)
    release.write_bytes(b"PK release")
    assert sharing.put(release)
    release.unlink()
    upload = ingest.begin(ann, 6)
    ingest.append(ann, upload.pk, 0, b"abc")
    sharing.append(data / backup.WITHDRAWALS, '{"study": 0, "user": 0}')
    held = sorted(bucket())
    made = backup.backup(data.parent / "one.backup")
    inside = {name for name in made["files"] if name.startswith(("releases/", "histories/"))}
    assert inside == {name for name in held if not name.startswith(backup.WITHDRAWALS)}
    assert len(inside) == 2

    # Another machine; meanwhile a release went and another came.
    for path in sharing.files(data / "releases"):
        sharing.remove(path)
    assert sharing.put_piece(data / "releases" / "tea" / "v2.zip", 0, b"later")
    two = machine("two")
    restored = backup.restore(data.parent / "one.backup")
    assert restored["files"] == made["files"]
    assert sorted(set(bucket()) - {"installation"}) == held
    with sharing.opened(two / "releases" / "tea" / "v1.zip") as file:
        assert file.read() == b"PK release"
    ingest.append(ann, upload.pk, 3, b"def")
    with sharing.gathered(ingest.FILES.path_of(upload.stored)) as path:
        assert path.read_bytes() == b"abcdef"


@pytest.mark.django_db
@pytest.mark.parametrize("stored", [False, True])
def test_web_and_worker_start_only_with_the_same_files(machine, request, stored):
    if stored:
        request.getfixturevalue("bucket")
    Installation.compare()  # nothing was prepared yet
    Installation.establish()
    Installation.establish()
    Installation.compare()
    machine("two")
    if stored:
        Installation.compare()
        return
    with pytest.raises(SystemExit, match="another installation than ATTUNE_DATA"):
        Installation.compare()
    with pytest.raises(DomainError, match="--new-files"):
        Installation.establish()
    Installation.establish(anew=True)
    Installation.compare()
