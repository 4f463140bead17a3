import json
import shutil
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.core.errors import DomainError
from annotation.core.schema import add_arguments, taken
from annotation.datasets import folders, freeze, layouts, withdrawals
from annotation.datasets.check import read_manifest
from annotation.datasets.choices import ReleaseRequest
from annotation.datasets.models import Release
from annotation.studies.commands import StudyCommand
from annotation.studies.models import Study


class Command(StudyCommand):
    help = "Freeze a study as its next release and write it to a folder."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_arguments(parser, ReleaseRequest, optional=("layout",))
        parser.add_argument("--out", metavar="DIR", required=True, type=Path)
        parser.add_argument(
            "--again", metavar="N", type=int, help="write release N once more instead"
        )

    def handle(self, *args: Any, study: Study, **options: Any) -> None:
        if not options["layout"] and not options["again"]:
            raise CommandError("Say which --layout the release has.", returncode=2)
        if options["layout"]:
            _check_format(options["layout"], options["format"])
        try:
            out = options["out"].resolve()
            manifest = (
                _again(study, out, options) if options["again"] else _new(study, out, options)
            )
        except OSError as error:
            reason = error.strerror or "input/output error"
            raise CommandError(f"{options['out']}: {reason.lower()}") from error
        self.stdout.write(
            json.dumps(manifest, ensure_ascii=False) if options["json"] else _short(manifest)
        )


def _check_format(layout: str, wanted: str) -> None:
    """Usage, as an unknown format is: no study could be released so."""
    try:
        layouts.format_of(layout, wanted)
    except DomainError as error:
        raise CommandError(error.sentence, returncode=2) from error


def _new(study: Study, out: Path, options: dict) -> dict:
    """Freeze, build and publish, then copy to ``out``: the files are downloadable as well."""
    _refuse_other(out, None)
    release = freeze.request_release(
        study,
        by=None,
        start=True,
        **taken(ReleaseRequest, options),
    )
    manifest = freeze.build(release.pk, started=True)
    if manifest is None:
        raise DomainError(f"Another process writes release {release.version}; it goes on there.")
    if not withdrawals.note_fetch(release):
        raise DomainError("Somebody in the release withdrew just now. Ask for it again.")
    source = folders.present(release)
    folders.place(out, lambda folder: shutil.copytree(source, folder, dirs_exist_ok=True))
    return manifest


def _again(study: Study, out: Path, options: dict) -> dict:
    """Write a finished release once more, from the database; the bytes must be those published."""
    release = Release.objects.filter(study=study, version=options["again"], status="done").first()
    if release is None:
        raise DomainError(f"There is no finished release {options['again']} of {study.slug}.")
    if options["layout"] not in (None, release.layout):
        raise DomainError(f"Release {release.version} has the layout {release.layout}.")
    _refuse_other(out, release)

    def write(folder: Path) -> dict:
        manifest = freeze.write(release, folder)
        if manifest != release.manifest:
            raise DomainError(
                f"Release {release.version} would not come out as it was published: its rows or "
                "the software have changed. The published files are unchanged."
            )
        return manifest

    return folders.place(out, write)


def _refuse_other(out: Path, release: Release | None) -> None:
    """DomainError where ``out`` holds anything but this release."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if release and out.is_dir() and read_manifest(out).get("release") == str(release.public_id):
        return
    raise DomainError(f"{out} is not empty. Name a new folder; nothing was changed.")


def _short(manifest: dict) -> str:
    counts = manifest["counts"]
    pairs = ", ".join(f"{n} {tier}" for tier, n in counts.get("pairs", {}).items())
    paired = f"pairs: {pairs}; " if pairs else ""
    return (
        f"{manifest['study']} release {manifest['version']} ({manifest['layout']}, "
        f"{manifest['format']}): {counts['items']} items, {counts['judgments']} judgments by "
        f"{counts['workers']} workers; {paired}{len(manifest['files'])} files"
    )
