"""Releases that come as a zip through the page or the API: a worker unpacks and imports them.

The row is the job; the file is deleted when it has ended.
"""

import os
import shutil
import zipfile
from pathlib import Path, PurePosixPath

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction

from annotation import policies
from annotation.accounts.models import User
from annotation.core import audit, jobs, sharing
from annotation.core.errors import Conflict, DomainError
from annotation.core.scratch import scratch_folder
from annotation.datasets.models import ReleaseImport
from annotation.datasets.release_import import import_release
from annotation.judging.imports.bundles import check_slug
from annotation.studies.access import may_create, member_of
from annotation.studies.models import Membership, Role, Study

FILE_LIMIT = 1 << 30
CONTENT_LIMIT = 4 << 30
ENTRIES_LIMIT = 20_000
PIECE = 1 << 20


def request_import(file: UploadedFile, slug: str, by: User) -> ReleaseImport:
    """Keep the uploaded ``file`` and ask for its import as the study ``slug``.

    Raises DomainError for a slug that cannot be, a file that is too large, and who may not make
    studies; Conflict where the study is somebody else's.
    """
    check_slug(slug)
    if not may_create(by):
        raise DomainError("Only who runs a study may make one.", code="refused", status=403)
    study = Study.objects.with_membership(by).filter(slug=slug).first()
    if study and not policies.release.may_import_into(member_of(by, study)):
        raise Conflict(f"There is a study “{slug}” already.", code="exists")
    if (file.size or 0) > FILE_LIMIT:
        raise DomainError(f"The file is larger than {FILE_LIMIT >> 30} GB.", code="size")
    with transaction.atomic():
        job = ReleaseImport.objects.create(slug=slug, by=by)
        path = path_of(job)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            _write(path, file)
        except OSError:
            path.unlink(missing_ok=True)
            raise
        if sharing.put(path):
            path.unlink()
        audit.record(by, "release.upload", job, slug=slug)
    return job


def _write(path: Path, file: UploadedFile) -> None:
    with path.open("wb") as target:
        for piece in file.chunks(PIECE):
            target.write(piece)
        os.fsync(target.fileno())


def path_of(job: ReleaseImport) -> Path:
    """Where the uploaded file lies."""
    return settings.DATA / "release-imports" / f"{job.public_id}.zip"


def run(pk: int) -> bool:
    """Import one upload, if nobody else does: whether it ended. A refusal is in its row."""
    if not jobs.take(ReleaseImport.objects.all(), pk):
        return False
    job = ReleaseImport.objects.select_related("by").get(pk=pk)
    with jobs.renewed(job) as lease:
        try:
            study, report = _import(job)
        except DomainError as refusal:
            ended = jobs.end(job, "failed", error=refusal.sentence, error_code=refusal.code)
        except OSError as error:
            words = f"The file could not be read: {(error.strerror or 'input error').lower()}."
            ended = jobs.end(job, "failed", error=words)
        else:
            lease.check()
            ended = jobs.end(job, "done", study=study, report=report)
    if ended:
        _delete(job)
    return ended


def _delete(job: ReleaseImport) -> None:
    """Delete the uploaded file."""
    path_of(job).unlink(missing_ok=True)
    sharing.remove(path_of(job))


def due() -> list:
    """Uploads that nobody imports; those that had every attempt are closed in words."""
    words = "The import was not finished in any attempt; see the worker's log."
    for job in jobs.exhausted(ReleaseImport.objects.all()):
        ReleaseImport.objects.filter(pk=job.pk).update(status="failed", error=words)
        _delete(job)
    return list(
        jobs.startable(ReleaseImport.objects.all()).order_by("pk").values_list("pk", flat=True)
    )


def _import(job: ReleaseImport) -> tuple[Study, dict]:
    path = sharing.fetch(path_of(job))
    with scratch_folder() as folder, transaction.atomic():
        new = not Study.objects.filter(slug=job.slug).exists()
        report = import_release(unpack(path, folder), job.slug, by=job.by)
        study = Study.objects.get(slug=job.slug)
        if new and job.by:
            Membership.objects.create(study=study, user=job.by, role=Role.ADMINISTRATOR)
        return study, report


def unpack(path: Path, folder: Path) -> Path:
    """Unpack the zip ``path`` into ``folder``; the folder of the release, which may lie deeper.

    DomainError for what is no zip, leads outside, or is larger than CONTENT_LIMIT unpacked.
    """
    try:
        with zipfile.ZipFile(path) as packed:
            entries = [entry for entry in packed.infolist() if not entry.is_dir()]
            if len(entries) > ENTRIES_LIMIT:
                raise DomainError(f"The zip holds more than {ENTRIES_LIMIT:,} files.")
            left = min(CONTENT_LIMIT, shutil.disk_usage(folder).free // 2)
            for entry in entries:
                left -= _unpack_entry(packed, entry, folder, left)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError) as error:
        raise DomainError("The file is no zip that can be read.", code="zip") from error
    while len(inside := [member for member in folder.iterdir() if member.name != "__MACOSX"]) == 1:
        if not inside[0].is_dir() or inside[0].name in ("data", "specific", "spedific", "general"):
            break
        folder = inside[0]
    return folder


def _unpack_entry(packed: zipfile.ZipFile, entry: zipfile.ZipInfo, folder: Path, left: int) -> int:
    """Write one entry of at most ``left`` bytes; how many it has."""
    name = PurePosixPath(entry.filename)
    if name.is_absolute() or ".." in name.parts or "\\" in entry.filename or "\0" in entry.filename:
        raise DomainError("The zip holds a path that leads outside of it.", code="zip")
    target = folder.joinpath(*name.parts)
    target.parent.mkdir(parents=True, exist_ok=True)
    size = 0
    with packed.open(entry) as source, target.open("wb") as sink:
        while piece := source.read(PIECE):
            size += len(piece)
            if size > left:
                raise DomainError("The zip is too large when it is unpacked.", code="zip")
            sink.write(piece)
    return size
