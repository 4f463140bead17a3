import argparse
import json
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser

from annotation.agreement.forms import FractionField
from annotation.core.errors import DomainError
from annotation.datasets import folders, freeze, layouts, withdrawals
from annotation.datasets.check import read_manifest
from annotation.datasets.choices import PAIR_RULES
from annotation.datasets.models import Release
from annotation.studies.commands import StudyCommand
from annotation.studies.models import Study

CHOICES = ("hard_fill", "easy_share", "rule", "min_votes", "min_margin", "shots", "shard_rows")


def share(text: str) -> Fraction:
    """An exact number, written 1/5 or 0.2."""
    try:
        return FractionField().clean(text)
    except ValidationError as error:
        raise argparse.ArgumentTypeError("write a number such as 1/5 or 0.2") from error


class Command(StudyCommand):
    help = "Freeze a study as its next release and write it to a folder."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--layout", choices=list(layouts.by_name()))
        parser.add_argument("--format", choices=["jsonl", "csv", "parquet"], default="")
        parser.add_argument("--out", metavar="DIR", required=True, type=Path)
        parser.add_argument(
            "--again", metavar="N", type=int, help="write release N once more instead"
        )
        parser.add_argument(
            "--safe-csv",
            action="store_true",
            help="an apostrophe before CSV cells that begin like a formula; default: exact cells",
        )
        parser.add_argument(
            "--hard-fill",
            type=share,
            metavar="SHARE",
            help="largest share of borderline items in the hard tier, at most 2/5 (default: 0)",
        )
        parser.add_argument(
            "--easy-share",
            type=share,
            metavar="SHARE",
            help="least share of an item's votes that its ground truth needs for an easy pair",
        )
        parser.add_argument(
            "--rule",
            choices=PAIR_RULES,
            help="pairs by tiers (default), by the majority of few votes, or by more than "
            "half of them",
        )
        parser.add_argument(
            "--min-votes", type=int, metavar="N", help="by majority: votes an item must have"
        )
        parser.add_argument(
            "--min-margin", type=int, metavar="M", help="by majority: votes the winner is ahead"
        )
        parser.add_argument(
            "--shots",
            type=int,
            metavar="N",
            help="judged answers of a query that are shots",
        )
        parser.add_argument(
            "--shard-rows",
            type=int,
            metavar="N",
            help="rows after which a table goes on in another file (default: one file)",
        )
        parser.add_argument("--licence", default="", help="stands on the dataset card")

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
    release = freeze.request(
        study,
        options["layout"],
        options["format"],
        None,
        safe_csv=options["safe_csv"],
        licence=options["licence"],
        start=True,
        **{name: options[name] for name in CHOICES},
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
    pairs = ", ".join(f"{n} {tier}" for tier, n in manifest["counts"]["pairs"].items())
    counts = manifest["counts"]
    return (
        f"{manifest['study']} release {manifest['version']} ({manifest['layout']}, "
        f"{manifest['format']}): {counts['items']} items, {counts['judgments']} judgments by "
        f"{counts['workers']} workers; pairs: {pairs}; {len(manifest['files'])} files"
    )
