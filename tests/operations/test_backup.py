"""The drill: back up, lose everything, put it back, and find the same; without who left since."""

import json
import os
import stat
import tarfile
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotation.accounts import consent
from annotation.core.models import Heartbeat
from annotation.judging.annotator import leaving
from annotation.operations import backup
from annotation.operations.tasks import back_up
from annotation.studies.models import Study
from tests.conftest import Cast
from tests.processes import die, killed

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def data(tmp_path, settings):
    settings.DATA = tmp_path / "data"
    (settings.DATA / "secrets").mkdir(parents=True)
    (settings.DATA / "secrets" / "secret_key").write_text("the key")
    (settings.DATA / "secrets" / "redis").write_text("this machine's own")
    (settings.DATA / "releases" / "tea").mkdir(parents=True)
    (settings.DATA / "releases" / "tea" / "v1.zip").write_bytes(b"PK release")
    return settings.DATA


@pytest.fixture
def study(transactional_db):
    cast = Cast()
    tea = cast.study("tea")
    for name in ("Ann", "Bo"):
        cast.member(name, tea, "annotator")
    cast.open(tea, items=2)
    return tea


def test_the_drill(data, study, tmp_path, capsys):
    file = tmp_path / "one.backup"
    call_command("backup", str(file), "--json")
    made = json.loads(capsys.readouterr().out)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert (made["counts"]["studies_study"], made["counts"]["judging_slot"]) == (1, 18)
    assert set(made["files"]) == {"database.dump", "secrets/secret_key", "releases/tea/v1.zip"}

    # Bo withdraws after the backup; then everything is lost except that list.
    leaving.withdraw(study, Cast().person("Bo"))
    Study.objects.filter(slug="tea").update(title="Broken")
    Cast().study("later")
    (data / "releases" / "tea" / "v1.zip").unlink()
    (data / "secrets" / "secret_key").unlink()

    call_command("restore", str(file), "--json")
    restored = json.loads(capsys.readouterr().out)
    assert (restored["counts"], restored["files"]) == (made["counts"], made["files"])
    assert restored["replayed"] == {"erasures": 0, "withdrawals": 1}
    assert list(Study.objects.values_list("slug", "title")) == [("tea", "Tea")]
    assert (data / "releases" / "tea" / "v1.zip").read_bytes() == b"PK release"
    assert (data / "secrets" / "secret_key").read_text() == "the key"
    stands = {
        name: consent.stands(Cast().person(name), study.consent_text) for name in ("Ann", "Bo")
    }
    assert stands == {"Ann": True, "Bo": False}
    assert Heartbeat.objects.filter(name="backup").exists() is False, "as it was before"


def test_a_backup_of_a_newer_version_is_refused_and_changes_nothing(
    data, study, tmp_path, monkeypatch
):
    file = tmp_path / "one.backup"
    dump = backup._dump

    def newer(work):
        manifest = dump(work)
        manifest["migrations"].append(["core", "9999_later"])
        return manifest

    monkeypatch.setattr(backup, "_dump", newer)
    call_command("backup", str(file))
    Study.objects.update(title="Here")
    with pytest.raises(CommandError, match=r"another version.*core 9999_later"):
        call_command("restore", str(file))
    assert Study.objects.get().title == "Here"


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[: len(content) // 2],
        lambda content: content.replace(b"PK release", b"PK RELEASE"),
        lambda content: b"",
        ("a", "releases/tea/v2.zip"),
        ("a", "../outside"),
        ("w", "x"),
    ],
    ids=["cut", "changed", "nothing", "more", "outside", "another"],
)
def test_a_damaged_backup_is_refused_and_changes_nothing(data, study, tmp_path, damage):
    file = tmp_path / "one.backup"
    call_command("backup", str(file))
    if callable(damage):
        file.write_bytes(damage(file.read_bytes()))
    else:
        mode, name = damage
        with tarfile.open(file, mode) as tar:
            tar.add(data / "secrets" / "redis", name)
    Study.objects.update(title="Here")
    with pytest.raises(CommandError, match="damaged"):
        call_command("restore", str(file))
    assert Study.objects.get().title == "Here"
    assert list((data / "scratch").iterdir()) == []


def test_the_dump_of_a_killed_backup_is_deleted_ten_minutes_later(data, study, settings):
    settings.BACKUP_FOLDER = data / "backups"

    def die_after_the_dump():
        dump = backup._dump

        def dump_and_die(work):
            dump(work)
            os.utime(work, (0, 0))
            die()

        backup._dump = dump_and_die
        backup.backup(settings.BACKUP_FOLDER / "attune-1.backup")

    killed(die_after_the_dump)
    assert [path.name for path in settings.BACKUP_FOLDER.glob("*/*")] == [backup.DUMP]
    back_up()
    assert list(settings.BACKUP_FOLDER.iterdir()) == []


def test_a_restore_that_was_killed_between_rows_and_files_is_done_again_whole(
    data, study, tmp_path
):
    file, release = tmp_path / "one.backup", data / "releases" / "tea" / "v1.zip"
    call_command("backup", str(file))
    leaving.withdraw(study, Cast().person("Bo"))
    release.write_bytes(b"PK later")

    def die_before_the_files():
        backup._place = die
        backup.restore(file)

    killed(die_before_the_files)
    assert release.read_bytes() == b"PK later"
    assert backup.restore(file)["replayed"] == {"erasures": 0, "withdrawals": 1}
    assert not consent.stands(Cast().person("Bo"), study.consent_text)
    assert release.read_bytes() == b"PK release"


def test_an_encrypted_backup_opens_with_its_key_alone(data, study, tmp_path):
    pyrage = pytest.importorskip("pyrage")
    key, other = pyrage.x25519.Identity.generate(), pyrage.x25519.Identity.generate()
    file, right, wrong = tmp_path / "b", tmp_path / "right", tmp_path / "wrong"
    right.write_text(f"# made today\n{key}\n")
    wrong.write_text(f"{other}\n")
    call_command("backup", str(file), "--recipient", str(key.to_public()))
    assert b"PK release" not in file.read_bytes()
    for options in ([], ["--identity", str(wrong)]):
        with pytest.raises(CommandError, match=r"encrypted|does not open"):
            call_command("restore", str(file), *options)
    call_command("restore", str(file), "--identity", str(right))
    assert Study.objects.get().slug == "tea"


def test_a_schedule_backs_up_when_the_hours_have_passed_and_keeps_the_newest(
    data, study, tmp_path, settings
):
    settings.BACKUP_FOLDER, settings.BACKUP_HOURS = tmp_path / "kept", 24
    settings.BACKUP_KEEP = 2
    assert backup.scheduled() is not None
    assert backup.scheduled() is None
    for _ in range(2):
        Heartbeat.objects.update(at=timezone.now() - timedelta(hours=25))
        assert backup.scheduled() is not None
    assert 1 <= len(list(settings.BACKUP_FOLDER.glob("*.backup"))) <= 2
    settings.BACKUP_HOURS = 0
    assert backup.scheduled() is None
