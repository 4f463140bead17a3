"""One file that holds an installation: made while it runs, checked before it is put back.

It is a tar: ``manifest.json`` first, then the database, secrets, releases, files under way and the
lists of erasures and withdrawals. Passwords of the machine's own database and broker stay out.
"""

import hashlib
import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import IO, Any, cast

from django.conf import settings
from django.core.management import call_command
from django.db import connection, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.models.functions import Now
from django.dispatch import receiver

from annotation.accounts.models import Consent, User
from annotation.core import sharing
from annotation.core.errors import DomainError
from annotation.core.models import Heartbeat, Installation
from annotation.core.uploads import scratch_folder
from annotation.histories import erase
from annotation.judging.annotator import leaving
from annotation.local.folders import LocalServiceError
from annotation.local.postgres import wheel_binaries
from annotation.studies import survey
from annotation.studies.models import Study

FORMAT = 1
UNREADABLE = (tarfile.TarError, EOFError, FileNotFoundError, ValueError, KeyError, TypeError)
FOLDERS = ("releases", "histories", "documents", "imports")
SECRETS = ("secret_key",)
WITHDRAWALS = "withdrawn.jsonl"
LISTS = ("erased.jsonl", WITHDRAWALS)
MANIFEST, DUMP = "manifest.json", "database.dump"
BLOCK = 1 << 20


def backup(target: Path, recipient: str = "") -> dict:
    """Write a backup to ``target``, mode 0600, whole or not at all; its manifest.

    ``recipient`` is an age public key: then the file can be read with its private key alone.
    Raises DomainError with a sentence where a part cannot be read or written.
    """
    with _reported(), scratch_folder(target.parent) as work:
        manifest = _dump(work)
        members = list(_members(work))
        manifest["files"] = {name: _digest(path) for name, path in members}
        (work / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
        packed = work / "packed"
        with tarfile.open(packed, "w") as tar:
            for name, path in [(MANIFEST, work / MANIFEST), *members]:
                tar.add(path, name, recursive=False)
        if recipient:
            packed = _encrypted(packed, recipient)
        packed.chmod(0o600)
        with packed.open("rb") as file:
            os.fsync(file.fileno())
        packed.replace(target)
    Heartbeat.objects.update_or_create(name="backup", defaults={"at": Now()})
    return _summary(manifest) | {"bytes": target.stat().st_size, "sha256": _digest(target)}


def restore(source: Path, identity: Path | None = None) -> dict:
    """Put a backup back in place of what is here; what was put back, compared with its manifest.

    Nothing is changed before the file was checked whole. Raises DomainError for a damaged file, one
    of a newer version, or an encrypted one without its key.
    """
    with _reported(), scratch_folder() as work:
        packed = _decrypted(source, work, identity)
        content = work / "content"
        manifest = _unpack(packed, content)
        _refuse_newer(manifest)
        _keep_newer_lists(content)
        load(content / DUMP)
        connection.close()
        restored = _counts()
        _place(content)
    if restored != manifest["counts"]:
        raise DomainError("The database does not hold the rows that the backup's manifest counts.")
    call_command("migrate", interactive=False, verbosity=0)
    Installation.establish(anew=True)
    replayed = {"erasures": erase.replay(), "withdrawals": replay_withdrawals()}
    return _summary(manifest) | {"replayed": replayed}


@contextmanager
def _reported() -> Iterator[None]:
    """A full or broken disk is a sentence."""
    try:
        yield
    except OSError as error:
        name = error.filename or "the file"
        raise DomainError(f"{name}: {(error.strerror or str(error)).lower()}") from error


def _dump(work: Path) -> dict:
    """Dump the database, and count its rows in the same snapshot."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        cursor.execute("SELECT pg_export_snapshot()")
        snapshot = cursor.fetchone()[0]
        manifest = {
            "format": FORMAT,
            "version": settings.VERSION,
            "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "migrations": sorted(map(list, MigrationRecorder(connection).applied_migrations())),
            "counts": _counts(),
        }
        dump(work / DUMP, snapshot)
    return manifest


def _counts() -> dict[str, int]:
    """Rows of each table."""
    with connection.cursor() as cursor:
        counts = {}
        for name in sorted(connection.introspection.table_names(cursor)):
            cursor.execute(f"SELECT count(*) FROM {connection.ops.quote_name(name)}")  # noqa: S608
            counts[name] = cursor.fetchone()[0]
    return counts


def _members(work: Path) -> Iterator[tuple[str, Path]]:
    yield DUMP, work / DUMP
    for name in SECRETS:
        if (path := settings.DATA / "secrets" / name).exists():
            yield f"secrets/{name}", path
    for name in LISTS:
        if lines := sharing.lines(settings.DATA / name):
            (work / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            yield name, work / name
    for folder in FOLDERS:
        for path in sharing.files(settings.DATA / folder):
            if not _unfinished(path) and (copy := _copied(path, work)):
                yield str(path.relative_to(settings.DATA)), copy


def _unfinished(path: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(settings.DATA).parts)


def _copied(path: Path, work: Path) -> Path | None:
    """A copy in ``work``, as the file may go or grow while others are packed; None if it went."""
    target = work / "files" / path.relative_to(settings.DATA)
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with sharing.opened(path) as source, target.open("wb") as sink:
            shutil.copyfileobj(source, sink, BLOCK)
    except FileNotFoundError:
        return None
    return target


def _unpack(packed: Path, content: Path) -> dict:
    """Unpack and compare every digest; the manifest."""
    damaged = DomainError("The file is no backup of Attune, or it is damaged.")
    try:
        with tarfile.open(packed, "r:") as tar:
            _extract(tar, content)
        manifest = json.loads((content / MANIFEST).read_text(encoding="utf-8"))
        files, counts, format = manifest["files"], manifest["counts"], manifest["format"]
    except UNREADABLE as error:
        raise damaged from error
    if format != FORMAT or not isinstance(counts, dict) or DUMP not in files:
        raise damaged
    for name, digest in files.items():
        path = content / name
        if not path.is_file() or _digest(path) != digest:
            raise DomainError(f"The backup is damaged: {name} is not as it was written.")
    there = {str(path.relative_to(content)) for path in content.rglob("*") if path.is_file()}
    if unlisted := there - {MANIFEST, *files}:
        raise DomainError(f"The backup is damaged: it does not list {min(unlisted)}.")
    return manifest


def _extract(tar: tarfile.TarFile, folder: Path) -> None:
    """Write the files of `tar` below `folder`; ValueError for any other member or place.

    Python 3.11.2, which Debian has, knows no filter of `extractall`.
    """
    for entry in tar:
        path = folder / entry.name
        if not entry.isfile() or not path.resolve().is_relative_to(folder.resolve()):
            raise ValueError(entry.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        with cast(IO[bytes], tar.extractfile(entry)) as packed, path.open("wb") as file:
            shutil.copyfileobj(packed, file)


def _refuse_newer(manifest: dict) -> None:
    """DomainError where the backup has migrations that this version does not know."""
    migrations = set(MigrationLoader(None).disk_migrations)
    apps = {app for app, _ in migrations}
    newer = [f"{app} {name}" for app, name in manifest["migrations"] if app in apps
             and (app, name) not in migrations]  # fmt: skip
    if newer:
        raise DomainError(
            f"The backup was made by another version ({manifest['version']}), and this one does "
            "not know its tables: restore it with that version, or update Attune to it. "
            f"Unknown here: {', '.join(sorted(newer)[:3])}."
        )


def _keep_newer_lists(content: Path) -> None:
    """Join the lists of erasures and withdrawals that are here with those of the backup."""
    for name in LISTS:
        lines = [*sharing.lines(content / name), *sharing.lines(settings.DATA / name)]
        if lines:
            text = "".join(f"{line}\n" for line in dict.fromkeys(lines))
            (content / name).write_text(text, encoding="utf-8")


# Drops all tables and functions here that are not an extension's.
DROP = """
    SET lock_timeout = '60s';
    DO $$ DECLARE thing record; BEGIN
    FOR thing IN SELECT c.oid::regclass AS name FROM pg_class c
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
          AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
    LOOP EXECUTE format('DROP TABLE IF EXISTS %s CASCADE', thing.name); END LOOP;
    FOR thing IN SELECT p.oid::regprocedure AS name FROM pg_proc p
        WHERE p.pronamespace = 'public'::regnamespace
          AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
    LOOP EXECUTE format('DROP FUNCTION IF EXISTS %s CASCADE', thing.name); END LOOP;
    END $$;
"""


def _place(content: Path) -> None:
    """Put files where they belong; folders that were here before are replaced."""
    (settings.DATA / "secrets").mkdir(mode=0o700, exist_ok=True)
    for name in [*(f"secrets/{name}" for name in SECRETS), *LISTS]:
        if (content / name).exists():
            (content / name).chmod(0o600)
            (content / name).replace(settings.DATA / name)
    for folder in FOLDERS:
        target = settings.DATA / folder
        if target.exists():
            target.rename(content / f"before-{folder}")
        sharing.replace(target, content / folder)
        if (content / folder).exists() and not sharing.object_store():
            for path in (content / folder, *(content / folder).rglob("*")):
                path.chmod(0o700 if path.is_dir() else 0o600)
            (content / folder).rename(target)


def _encrypted(packed: Path, recipient: str) -> Path:
    pyrage = _age()
    try:
        key = pyrage.x25519.Recipient.from_str(recipient)
    except pyrage.RecipientError as error:
        raise DomainError("That is no age public key: it begins with “age1”.") from error
    target = packed.with_name("encrypted")
    pyrage.encrypt_file(str(packed), str(target), [key])
    packed.unlink()
    return target


def _decrypted(source: Path, work: Path, identity: Path | None) -> Path:
    with source.open("rb") as file:
        encrypted = file.read(32).startswith(b"age-encryption.org/")
    if not encrypted:
        return source
    if identity is None:
        raise DomainError("The backup is encrypted: name the file of its key with --identity.")
    pyrage = _age()
    lines = identity.read_text(encoding="utf-8", errors="replace").splitlines()
    keys = [line.strip() for line in lines if line.startswith("AGE-SECRET-KEY-")]
    target = work / "decrypted"
    try:
        identities = [pyrage.x25519.Identity.from_str(key) for key in keys]
        pyrage.decrypt_file(str(source), str(target), identities)
    except (pyrage.IdentityError, pyrage.DecryptError) as error:
        raise DomainError("The backup does not open with that key.") from error
    return target


def _age() -> ModuleType:
    try:
        import pyrage
    except ImportError as error:
        words = "Encrypted backups need the extra: pip install 'attune-platform[server]'."
        raise DomainError(words) from error
    return pyrage


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _summary(manifest: dict) -> dict:
    return {name: manifest[name] for name in ("version", "created_at", "counts", "files")}


def scheduled() -> Path | None:
    """Back up where ATTUNE_BACKUP_HOURS have passed since the last; the file, or None."""
    hours, now = settings.BACKUP_HOURS, datetime.now(UTC)
    last = Heartbeat.objects.filter(name="backup").values_list("at", flat=True).first()
    if not hours or (last and (now - last).total_seconds() < hours * 3600):
        return None
    folder = settings.BACKUP_FOLDER
    target = folder / f"attune-{now:%Y%m%d-%H%M%S}.backup"
    backup(target, settings.BACKUP_RECIPIENT)
    for old in sorted(folder.glob("attune-*.backup"))[: -settings.BACKUP_KEEP]:
        old.unlink()
    return target


@receiver(leaving.withdrawn)
def note_withdrawal(
    sender: object, study: Study, annotator: User, what: str = "consent", **kwargs: Any
) -> None:
    """Add the withdrawal to the list once it is stored."""
    at = datetime.now(UTC).isoformat()
    entry = {"study": study.pk, "user": annotator.pk, "at": at, "what": what}
    transaction.on_commit(partial(sharing.append, _withdrawals(), json.dumps(entry)))


@receiver(survey.taken_back)
def note_survey(sender: object, study: Study, user: User, **kwargs: Any) -> None:
    """Add a survey's answers that were taken back to the list once that is stored."""
    note_withdrawal(sender, study, user, what="survey")


def replay_withdrawals() -> int:
    """Withdraw whoever withdrew after the database was backed up; how many."""
    return sum(_withdraw_again(json.loads(entry)) for entry in sharing.lines(_withdrawals()))


def _withdraw_again(entry: dict) -> bool:
    study = Study.objects.select_related("consent_text").filter(pk=entry["study"]).first()
    user = User.objects.filter(pk=entry["user"]).first()
    if study is None or user is None:
        return False
    at = datetime.fromisoformat(entry["at"])
    if entry["what"] == "survey":
        return survey.take_back(study, user, until=at)
    if study.consent_text is None:
        return False
    standing = Consent.objects.filter(
        user=user, text__name=study.consent_text.name, withdrawn_at=None
    )
    # Whoever agreed again later takes part.
    if not standing.filter(granted_at__lte=at).exists():
        return False
    leaving.withdraw(study, user)
    return True


def _withdrawals() -> Path:
    return settings.DATA / WITHDRAWALS


def dump(target: Path, snapshot: str) -> None:
    """Write the schema ``public``, as ``snapshot`` sees it, to ``target`` in the custom format."""
    options = ["--format=custom", "--schema=public", "--no-owner", "--no-privileges"]
    _run("pg_dump", *options, f"--snapshot={snapshot}", f"--file={target}")


def load(source: Path) -> None:
    """Put the dump ``source`` in place of what is there, in one transaction."""
    script, beginning = source.with_suffix(".sql"), source.with_suffix(".before.sql")
    options = ["--no-owner", "--no-privileges", f"--file={script}"]
    _run("pg_restore", *options, str(source), connect=False)
    beginning.write_text(DROP, encoding="utf-8")
    # The schema is there: the extension lives in it, and stays.
    text = script.read_text(encoding="utf-8")
    script.write_text(text.replace("CREATE SCHEMA public;", ""), encoding="utf-8")
    options = ["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--single-transaction"]
    _run("psql", *options, "--output=/dev/null", f"--file={beginning}", f"--file={script}")


def _run(name: str, *arguments: str, connect: bool = True) -> None:
    database = connection.settings_dict
    environment = {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "PGCONNECT_TIMEOUT": "10"}
    if connect:
        names = {"DATABASE": "NAME"} | {name: name for name in ("HOST", "PORT", "USER", "PASSWORD")}
        environment |= {
            f"PG{name}": str(database[key]) for name, key in names.items() if database[key]
        }
    done = subprocess.run(  # noqa: S603 - our own words
        [_program(name), *arguments], env=environment, capture_output=True, text=True
    )
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line.lower()]
        reason = (lines or [f"exit status {done.returncode}"])[0]
        raise DomainError(f"{name} failed: {reason[:300]}")


def _program(name: str) -> str:
    try:
        return str(wheel_binaries() / name)
    except LocalServiceError:
        path = shutil.which(name)
    if path is None:
        raise DomainError(f"{name} was not found: install PostgreSQL's client programs.")
    return path
