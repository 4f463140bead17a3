"""Makes a study of a release's folder, ours or a published one, whatever its layout.

One that comes as a zip through the page or the API is a job: a process of its own unpacks it and
reads its tables through, a worker imports what it let pass, and the file is deleted.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

from django.core.files.uploadedfile import UploadedFile
from django.db import transaction

from annotation import policies
from annotation.accounts.models import User
from annotation.core import audit, foreign, jobs, sharing
from annotation.core.errors import Conflict, DomainError
from annotation.core.records import chunks, silent
from annotation.core.uploads import PIECE, Uploads, scratch_folder
from annotation.datasets import layouts, papers, release_files
from annotation.datasets.check import MANIFEST, read_manifest
from annotation.datasets.exports import Argilla, Export, LabelStudio
from annotation.datasets.models import ImportedPair, ReleaseImport
from annotation.datasets.release_files import Faults
from annotation.datasets.released import PARTS, Dpo, Layout, Long, Place
from annotation.datasets.writers import describe
from annotation.judging.batches.open import add_items
from annotation.judging.imports import bundles, judgments
from annotation.judging.imports.bundles import check_slug
from annotation.judging.imports.judgments import Imported, Storing, Target
from annotation.judging.kinds import kind_of
from annotation.judging.kinds.files import ReleasedAnswer
from annotation.judging.models import Item, ItemOption
from annotation.judging.work.submit import read_seconds
from annotation.personas import curate
from annotation.queries import author
from annotation.studies.access import may_create, member_of
from annotation.studies.bundle_rows import DEFAULT_OVERLAP
from annotation.studies.models import Membership, Role, Study

CHUNK = 2_000
# Of the layouts that are no paper's. Exports of other tools are known by their files.
EXPORTS: tuple[type[Export], ...] = (Argilla, LabelStudio)
READERS: dict[str, type[Layout]] = {
    layout.name: layout for layout in (Dpo, Long, Argilla, LabelStudio)
}
# Tables by which a folder without a manifest is recognised; the long form has those of papers, too.
SIGNS = {"long": ("judgments", "items"), "dpo": ("pairs",)}
REPORTED = ("queries", "candidates", "items", "votes", "scores", "workers")


def layout_of(folder: Path) -> str:
    """The layout of the release in ``folder``; DomainError where it has no supported one."""
    if not folder.is_dir():
        raise DomainError(f"{folder} is not a folder.")
    signs = SIGNS | {paper.name: paper.tables for paper in papers.registered().values()}
    if (folder / MANIFEST).is_file():
        manifest = read_manifest(folder)
        named, version = manifest.get("layout"), manifest.get("layout_version", 1)
        if isinstance(named, str) and named in signs:
            if version not in range(1, layouts.version_of(named) + 1):
                raise DomainError(
                    f"{folder} is version {str(version)[:20]} of the layout {named}: another "
                    f"version of Attune reads it. This one knows {layouts.version_of(named)}."
                )
            return named
    for export in EXPORTS:
        if export.there(folder):
            return export.name
    for layout, tables in signs.items():
        if any(release_files.parts(folder, table) for table in tables):
            return layout
    raise DomainError(
        f"{folder} holds no release of a known layout: no table of "
        f"{', '.join(signs)} is there, as Parquet, JSON lines or CSV."
    )


def import_release(
    folder: Path, slug: str, *, by: User | None = None, progress: Callable = silent
) -> dict:
    """Make the study ``slug`` of a release's folder, or add to it what it lacks.

    Pairs keep the tier they came with, marked as imported; judgments of every kind come in where
    the release has them, and none is invented. Returns ``study``, ``layout``, counts, ``pairs`` by
    half and tier, ``unknown_columns``, ``left_out``: {what a study cannot take over: how many},
    ``not_in_layout``: what no release of the layout has, and ``rejected``: file, line (row from 1)
    and reason of each row that is left out. The same folder again changes nothing. Raises
    DomainError, with nothing stored, for a folder without a release, and where none of its rows can
    be imported.
    """
    bundles.check_slug(slug)
    layout, digest = layout_of(folder), _digest(folder)
    earlier = ReleaseImport.objects.filter(
        slug=slug, digest=digest, status=ReleaseImport.Status.DONE, study__isnull=False
    ).first()
    if earlier:
        return cast(dict, earlier.report)
    paper = papers.named(layout)
    with transaction.atomic():
        if paper and paper.store:
            made = paper.store(folder, slug, by)
        else:
            reader = paper.reader if paper else READERS[layout]
            made = _Import(cast(type[Layout], reader), folder, by).store(slug, progress)
        study = Study.objects.get(slug=slug)
        ReleaseImport.objects.create(
            study=study, slug=slug, digest=digest, report=made, status="done", by=by
        )
        audit.record(by, "study.import_release", study, layout=layout, items=made["items"])
    return made


def _digest(folder: Path) -> str:
    """SHA-256 over the names and bytes of all files."""
    whole = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        digest = describe(folder, name, 0)["sha256"]
        whole.update(f"{name}\0{digest}\n".encode("utf-8", "replace"))
    return whole.hexdigest()


def report(layout: str, study: Study, rejected: list, lacks: Sequence[str]) -> dict:
    """What every import tells of the study that it made; ``lacks`` are parts of the layout."""
    return {
        "study": study.slug,
        "layout": layout,
        **dict.fromkeys(REPORTED, 0),
        "queries": study.queries.filter(replaced_at=None).count(),
        "candidates": study.candidates.count(),
        "items": study.items.count(),
        "pairs": {},
        "left_out": {},
        "not_in_layout": [PARTS[part] for part in lacks],
        "rejected": list(rejected),
        "unknown_columns": [],
    }


class _Import:
    """One import: rows of the layout become rows of a bundle, and those the study's."""

    def __init__(self, reader: type[Layout], folder: Path, by: User | None) -> None:
        self.faults, self.by = Faults(), by
        self.layout = reader(folder, self.faults)

    def store(self, slug: str, progress: Callable) -> dict:
        """Store all that is whole; the report."""
        study, _made = Study.objects.get_or_create(
            slug=slug, defaults={"title": slug.replace("-", " ").capitalize(), "languages": []}
        )
        for name, (kind, wanted) in self.layout.tasks().items():
            config = kind_of(kind).check_config(wanted)
            if not study.tasks.filter(name=name).exists():
                study.tasks.create(name=name, kind=kind, overlap=DEFAULT_OVERLAP, config=config)
        for name in bundles.NAMES:
            for chunk in chunks(progress(self.layout.rows(name), name, None), CHUNK):
                self._add(study, name, chunk)
        self._store_gold_items(study)
        items = dict(study.items.values_list("external_id", "pk").iterator(chunk_size=20_000))
        if not items:
            reasons = "; ".join(fault["reason"] for fault in self.faults[:3]) or "it has no rows"
            raise DomainError(f"Nothing of the release can be imported: {reasons}.")
        self._store_pairs(items)
        stored = self._store_judgments(study, items)
        return report(self.layout.name, study, self.faults, self.layout.LACKS) | {
            **{name: stored[name] for name in ("votes", "scores", "workers")},
            "left_out": dict(self.layout.lost),
            "pairs": self.layout.counts(set(items)),
            "unknown_columns": list(self.layout.unknown),
        }

    def _add(self, study: Study, name: str, chunk: list) -> None:
        if name == "personas":
            # Of people taken from conversations nothing is known; a bundle's personas have more.
            bare = [row for _place, row in chunk if row["profile"] == {}]
            curate.save_all(study, bare, by=self.by)
            chunk = [(place, row) for place, row in chunk if row["profile"] != {}]
        values = [row for _place, row in chunk]
        for fault in bundles.add_rows(study, name, values, skip_faulty=True, by=self.by):
            self.layout.fault(chunk[fault["row"]][0], fault["detail"])

    def _store_pairs(self, items: dict) -> None:
        """The tier and winner that each item came with; votes are not made of them."""
        for chunk in chunks(self.layout.pairs.items(), CHUNK):
            there = {name: items[name] for name, _pair in chunk if name in items}
            rows = ItemOption.objects.filter(item__in=there.values())
            fields = "item", "candidate__external_id", "pk"
            options = {(item, chosen): pk for item, chosen, pk in rows.values_list(*fields)}
            pairs = [
                ImportedPair(item_id=there[name], option_id=option, tier=pair.tier)
                for name, pair in chunk
                if (option := options.get((there.get(name), pair.chosen)))
            ]
            ImportedPair.objects.bulk_create(pairs, ignore_conflicts=True)

    def _store_gold_items(self, study: Study) -> None:
        """Items about gold responses, with the response and its claims."""
        tasks = {task.name: task for task in study.tasks.order_by("version")}
        queries = study.queries.filter(replaced_at=None, owner=None)
        for item in self.layout.gold_items():
            query = queries.filter(external_id=item.query).first()
            if Item.objects.filter(study=study, external_id=item.id).exists():
                continue
            try:
                if query is None:
                    raise DomainError(f"there is no query “{item.query[:80]}”")
                response = author.save_response(query, None, item.gold)
                author.set_claims(response, [text for _n, text in sorted(item.claims.items())])
                row = {"external_id": item.id, "query": query, "gold": response}
                add_items(study, tasks[item.task], [row | {"overlap": item.overlap}], by=self.by)
            except DomainError as refusal:
                self.layout.fault(item.place, refusal.sentence)

    def _store_judgments(self, study: Study, items: dict) -> dict:
        elsewhere: Counter[str] = Counter()
        storing = Storing(study, self._fault, beyond=True)
        for chunk in chunks(self.layout.judgments(), CHUNK):
            rows = []
            for place, row in chunk:
                pair = self.layout.pairs.get(str(row["item_id"]))
                # An easy pair stands for an item of three answers; the votes were on those.
                if str(row["item_id"]) not in items or (pair and pair.tier == "easy"):
                    elsewhere[place.file] += 1
                    continue
                try:
                    rows.append(_imported(place, row))
                except DomainError as refusal:
                    self._fault(place, refusal.sentence)
            storing.store(rows)
        for name, number in elsewhere.items():
            words = f"{number:,} judgments are on items that the study does not have"
            self.faults.add(name, None, words)
        transaction.on_commit(judgments.analyze, robust=True)
        return storing.counts() | {"scores": storing.scores}

    def _fault(self, place: Place, reason: str) -> None:
        # A row may hold several judgments.
        self.faults.add(place.file, place.line, reason)


def _imported(place: Place, row: dict) -> Imported:
    """A judgment of a layout's rows; DomainError with a sentence."""
    worker = judgments.name(row.get("worker"), "worker")
    answer, detail, rows = row.get("answer"), str(row.get("detail") or ""), row.get("answers")
    lists = {name: row.get(name) or [] for name in ("flags", "chips", "marks", "shown")}
    if not all(isinstance(value, list) for value in lists.values()):
        raise DomainError("flags, chips, marks or shown is no list")
    shown = [str(name) for name in lists.pop("shown")]

    def body(target: Target) -> dict:
        about = target.candidates(), target.gold, target.config
        if rows is not None:
            return target.kind.body_of_rows(rows, *about)
        return target.kind.released_body(ReleasedAnswer(answer, detail, *about))

    def off(target: Target) -> list[str]:
        """How much better was not asked where no answer says it."""
        says = detail or any(each["value"] for each in rows or ())
        return ["strength"] if target.config.get("strength") and not says else []

    return Imported(
        place,
        str(row["item_id"]),
        worker,
        body,
        [answer, detail] if rows is None else rows,
        reason=judgments.reason(row.get("reason")),
        submitted_at=judgments.moment(row.get("submitted_at")),
        seconds=read_seconds(row.get("seconds")),
        shown=shown,
        marked=lists,
        off=off,
        revision=row.get("revision", 1),
    )


# --- Uploads --------------------------------------------------------------------------------------


UPLOADS = Uploads("release-imports")
FILE_LIMIT = 1 << 30
READER = "annotation.datasets.release_files:messages"
# What unpacking and reading the smallest may take, of which Arrow alone takes some.
ROOM = 128 * foreign.MB


def request_import(file: UploadedFile, slug: str, by: User) -> ReleaseImport:
    """Keep the uploaded ``file`` and ask for its import as the study ``slug``.

    Raises DomainError for a slug that cannot be, a file that is too large, and who may not make
    studies; Conflict where the study is somebody else's.
    """
    check_slug(slug)
    if not may_create(by):
        raise DomainError("Only who runs a study may make one.", code="refused", status=403)
    _check_study(slug, by)
    if (file.size or 0) > FILE_LIMIT:
        raise DomainError(f"The file is larger than {FILE_LIMIT >> 30} GB.", code="size")
    with transaction.atomic():
        job = ReleaseImport.objects.create(slug=slug, by=by)
        UPLOADS.store(file.chunks(PIECE), job.public_id.hex)
        audit.record(by, "release.upload", job, slug=slug)
    return job


def _check_study(slug: str, by: User) -> None:
    study = Study.objects.with_membership(by).filter(slug=slug).first()
    if study and not policies.release.may_import_into(member_of(by, study)):
        raise Conflict(f"There is a study “{slug}” already.", code="exists")


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
        UPLOADS.delete(job.public_id.hex)
    return ended


def due() -> list:
    """Uploads that nobody imports; those that had every attempt are closed in words."""
    words = "The import was not finished in any attempt; see the worker's log."
    every = ReleaseImport.objects.order_by("pk")
    for job in jobs.exhausted(every):
        every.filter(pk=job.pk).update(status="failed", error=words)
        UPLOADS.delete(job.public_id.hex)
    return list(jobs.startable(every).values_list("pk", flat=True))


def _import(job: ReleaseImport) -> tuple[Study, dict]:
    sent = sharing.gathered(UPLOADS.path_of(job.public_id.hex))
    with sent as path, scratch_folder() as folder, transaction.atomic():
        new = not Study.objects.filter(slug=job.slug).exists()
        ((release,),) = foreign.read_foreign(READER, path, folder, ROOM)
        if job.by:  # since it was asked for, somebody may have made a study of this address
            _check_study(job.slug, job.by)
        report = import_release(Path(release), job.slug, by=job.by)
        study = Study.objects.get(slug=job.slug)
        if new and job.by:
            Membership.objects.create(study=study, user=job.by, role=Role.ADMINISTRATOR)
        return study, report
