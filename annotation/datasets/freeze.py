"""Releases: freeze what a study holds, write it down, publish it whole.

``request_release`` fixes by id what is in a release; ``write`` turns that into files, the same
bytes each time; ``build`` is the job around it, with the row as its state.
"""

import hashlib
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from django.conf import settings
from django.db import OperationalError, connection, transaction
from django.db.models import Count, F, Max, Q, Window
from django.db.models.functions import Lag, Now
from django.urls import reverse

from annotation.accounts.models import User
from annotation.agreement.models import TopUp
from annotation.agreement.tiers import collection
from annotation.candidates.strategies import QUESTION_ALONE
from annotation.core import audit, jobs
from annotation.core.errors import Conflict, DomainError
from annotation.core.jobs import TakenOver
from annotation.datasets import check, described, folders, layouts, records
from annotation.datasets.card import CROISSANT, as_known, card, croissant
from annotation.datasets.choices import HALF, LICENCE_LIMIT, MAJORITY, Choices
from annotation.datasets.frozen import Reading, frozen_of_owners, last
from annotation.datasets.layouts.soft import PEOPLE, Posteriors, people_table
from annotation.datasets.models import Release
from annotation.datasets.records import Pair, Verdict
from annotation.datasets.truth import (
    GROUPS,
    RULE,
    Tally,
    filled,
    imported_pair,
    majority,
    majority_pair,
    outside_bands,
    pair,
    verdict,
)
from annotation.datasets.writers import JOURNAL, ChangedRowsError, Tables, json_text, write_text
from annotation.judging.imports.judgments import writers
from annotation.judging.models import Adjudication, Batch, Item, Judgment, Slot
from annotation.personas.models import Memory, PersonaVersion
from annotation.studies import survey
from annotation.studies.models import Study
from annotation.votes.counting import closed_batches, judgments_as_of, proposes, withdrawn_from

# Who waits for a study's lock makes others wait: seldom long, but again.
FREEZE_PATIENCE_MS = 300
FREEZE_TRIES, FREEZE_PAUSE_SECONDS = 5, 0.2
# Pauses until the votes that are being stored must be there.
WAITS = 12
BUSY = "Something is being imported just now. Ask again in a moment."


def request_release(
    study: Study,
    layout: str,
    format: str,
    by: User | None,
    *,
    safe_csv: bool = False,
    licence: str = "",
    start: bool = False,
    **wanted: Any,
) -> Release:
    """Freeze ``study`` as its next release; the row is the job of writing it.

    ``format`` "" is the layout's own; ``wanted`` are fields of ``choices.Choices``, None for the
    default; ``start`` leases the row to the caller, who then calls ``build`` with it. Raises
    DomainError for a layout, format, choice or licence that cannot be, and for a study without what
    the layout is made of, Conflict where an import keeps the votes or the study.
    """
    format = layouts.format_of(layout, format)
    layouts.check_kinds(layout, kinds_of(study))
    choices = Choices.of(layout, **wanted)
    licence = licence.strip()
    if len(licence) > LICENCE_LIMIT or not licence.isprintable():
        raise DomainError(f"The licence is a name of at most {LICENCE_LIMIT} characters.")
    # Before the study is locked: the wait for votes must keep nobody from the study.
    judgment = _last_judgment(study)
    fields = {"layout": layout, "format": format, "safe_csv": safe_csv, "licence": licence}
    if start:
        fields |= jobs.lease(attempts=1)
    release = _patiently(partial(_create, study, judgment, by, fields, choices))
    release.refresh_from_db()
    return release


def suited(study: Study) -> dict[str, Any]:
    """The layout for what people have judged, and a rule that panels of this study's size can fill.

    A talk with models is about no person, though its question is somebody's own.
    """
    work = Item.objects.work().filter(study=study)
    nobody = Q(persona_version=None) & Q(query__owner=None) & Q(attribute=None)
    rows = work.values_list("batch__task__kind").annotate(Max("overlap"), Max("done"))
    kinds = list(rows.order_by())
    judged = {kind for kind, _overlap, done in kinds if done} or {kind for kind, *_rest in kinds}
    persons = not study.live and work.exclude(nobody).exists()
    layout = layouts.suited(judged, persons=persons)
    panel = max((overlap for _kind, overlap, _done in kinds), default=0)
    if not layouts.layout_of(layout).TIERED or panel >= RULE.panel:
        return {"layout": layout}
    # A majority of fewer votes than planned is one, too: items may be closed early.
    return {"layout": layout, "rule": MAJORITY, "min_votes": panel // 2 + 1, "min_margin": 1}


def kinds_of(study: Study) -> set[str]:
    """The kinds of judgment that people work on."""
    work = study.batches.filter(purpose=Batch.Purpose.WORK)
    return set(work.values_list("task__kind", flat=True))


def _create(
    study: Study, judgment: int, by: User | None, fields: dict, choices: Choices
) -> Release:
    # Numbers are given one at a time; votes go on meanwhile.
    locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    release = Release.objects.create(
        study=locked,
        version=last(locked.releases, "version") + 1,
        created_by=by,
        salt=secrets.token_hex(32),
        as_of=Now(),
        frozen=_frozen(locked, judgment, choices) | choices.as_json(),
        **fields,
    )
    audit.record(by, "release.request", release, version=release.version, layout=fields["layout"])
    return release


def _patiently(act: Callable) -> Any:
    """``act()`` in a transaction that waits little for a lock, some times; Conflict after that."""
    for attempt in range(FREEZE_TRIES):
        if attempt:
            time.sleep(FREEZE_PAUSE_SECONDS)
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(f"SET LOCAL lock_timeout = {FREEZE_PATIENCE_MS}")
                return act()
        except OperationalError as error:
            if getattr(error.__cause__, "sqlstate", "") != "55P03":  # lock_not_available
                raise
    raise Conflict(BUSY)


def _frozen(study: Study, judgment: int, choices: Choices) -> dict:
    """Everything a release holds, by id, and the study's words as they are now."""
    consent = study.consent_text
    voided = Judgment.objects.filter(slot__study=study, slot__status=Slot.Status.VOID)
    void, more = set(voided.values_list("pk", flat=True)), {}
    if proposes(study):
        proposed = judgments_as_of(study.pk, judgment, void).exclude(proposal__isnull=True)
        began = set(proposed.values_list("pk", flat=True))
        more["proposals"] = {"judgments": len(began), "left_out": choices.without_proposals}
        void |= began if choices.without_proposals else set()
    topped = TopUp.objects.filter(item__study=study).values_list("item", flat=True)
    withdrawn = withdrawn_from(study)
    return frozen_of_owners(study, withdrawn) | {
        "about": {
            "slug": study.slug,
            "title": study.title,
            "description": study.description,
            "languages": study.languages,
            "consent": str(consent) if consent else "",
            "pay": described.pay(study),
        },
        "position": last(Item.objects.filter(study=study), "position"),
        "overlaps": _overlaps(study),
        "personas": _persona_versions(study),
        "memory": last(Memory.objects.filter(persona__study=study)),
        "closed": closed_batches(study),
        "withdrawn": withdrawn,
        "judgment": judgment,
        # Judgments that were taken out: later somebody else's may be.
        "void": sorted(void),
        "audit": collection.audit_of(study).as_json(),
        "topped": sorted(map(str, topped)),
        "survey": survey.frozen(study),
        "origin": settings.BASE_URL,
        "stop_below": {task: rule.stop_below for task, rule in collection.rules_of(study).items()},
        "adjudication": last(Adjudication.objects.filter(item__study=study)),
        **more,
        **_drawn(study),
    }


def _drawn(study: Study) -> dict:
    """The probability of each item that is drawn for votes, by its position, and the rounds so far;
    nothing where none is drawn.
    """
    rows = Item.objects.filter(study=study).work().exclude(chance=None)
    if not (chances := dict(rows.values_list("position", "chance"))):
        return {}
    names = ("task", "rule", "version", "panel", "votes", "half_width", "question", "items")
    return {"chances": chances, "draws": list(study.draws.order_by("pk").values(*names))}


def _overlaps(study: Study) -> list[tuple[int | None, int]]:
    """(the item's position, its overlap) of each item that has another than the one before it."""
    before = Window(Lag("overlap"), order_by="position")
    rows = Item.objects.work().filter(study=study).annotate(before=before)
    changes = rows.filter(Q(before=None) | ~Q(before=F("overlap"))).order_by("position")
    return list(changes.values_list("position", "overlap"))


def _persona_versions(study: Study) -> list[int]:
    """One version a persona: the newest that an item shows, else the newest."""
    of_study = PersonaVersion.objects.filter(persona__study=study)
    versions = of_study.filter(Q(persona__dropped_at=None) | Q(items__isnull=False))
    rows = (
        versions.annotate(shown=Max("items__position"))
        .order_by("persona_id", F("shown").asc(nulls_first=True), "version")
        .values_list("persona_id", "pk")
    )
    # The last row of a persona counts.
    return sorted(dict(rows).values())


def _last_judgment(study: Study) -> int:
    """The last judgment's id, once every one of ``study`` up to it is stored or given up.

    Who stores a judgment has the table locked before it gets its id: after those who have it locked
    now, none of a lower id can appear. New judgments, and imports into other studies, go on.
    """
    newest = last(Judgment.objects.all())
    awaited = writers(study)
    for _attempt in range(WAITS):
        if not awaited:
            return newest
        time.sleep(FREEZE_PAUSE_SECONDS)
        awaited &= writers(study)
    raise Conflict(BUSY)


def build(release_id: int, *, started: bool = False) -> dict | None:
    """Write and publish a requested release; its manifest, or None where there is nothing to do.

    ``started``: the caller holds the lease already. A refusal is stored in the row and raised as
    DomainError. A killed process leaves the row leased: after the lease another may take it.
    """
    if not started and not jobs.take(Release.objects.all(), release_id):
        return None
    release = Release.objects.select_related("study").get(pk=release_id)
    try:
        with jobs.renewed(release) as lease:
            manifest = folders.publish(
                release, lambda folder: _taken_up(release, folder, lease.check), lease.confirm
            )
    except TakenOver:
        folders.delete(folders.work_of(release))
        return None
    except DomainError as refusal:
        jobs.end(release, Release.Status.FAILED, error=refusal.sentence)
        raise
    except OSError as error:
        reason = error.strerror or "input/output error"
        sentence = f"The files of the release could not be written: {reason}."
        jobs.end(release, Release.Status.FAILED, error=sentence)
        raise DomainError(sentence) from error
    for revision in range(release.revision):  # who ended the last one may have been killed
        folders.withdraw(release, revision)
    digest = hashlib.sha256(_manifest_text(manifest)).hexdigest()
    jobs.end(release, Release.Status.DONE, manifest=manifest, digest=digest)
    return manifest


def _taken_up(release: Release, folder: Path, alive: Callable[[], None]) -> dict:
    """``write``, going on where a killed attempt stopped as long as its rows have not changed."""
    try:
        return write(release, folder, alive)
    except ChangedRowsError:
        # A text was erased since, for one: what was written before must not be published.
        (folder / JOURNAL).unlink()
        return write(release, folder, alive)


def due() -> list[int]:
    """Releases that nobody is building; those that failed every attempt are given up, in words."""
    exhausted = jobs.exhausted(Release.objects.all())
    for release in exhausted:
        folders.delete_unfinished(release)
    exhausted.update(
        status=Release.Status.FAILED,
        error=f"The release was not finished in {jobs.TRIES} attempts; the worker's log says why.",
    )
    return list(jobs.startable(Release.objects.all()).order_by("pk").values_list("pk", flat=True))


def write(release: Release, folder: Path, alive: Callable[[], None] = lambda: None) -> dict:
    """Write the release's files into ``folder``; the manifest.

    Rows are streamed: memory does not grow with them. The same release gives the same bytes. Whole
    shards that a killed attempt left are taken over; ChangedRowsError where their rows are others
    now. ``alive`` is called once a chunk of rows. Raises DomainError for tiers outside their bands.
    """
    layout = layouts.layout_of(release.layout)
    choices = Choices.from_json(release.frozen)
    tiered = layout.TIERED and choices.by_tiers
    # None: no audit has decided yet; the release states it.
    if tiered and release.frozen["audit"].get("accepted") is False:
        raise DomainError(
            "The audit of the easy tier failed: its pairs are not as clear as easy ones must be.",
            code="audit",
        )
    reading, tally = Reading(release, alive), Tally()
    rows = _Rows(layout, reading, tally, choices)
    people, surveyed = described.people(reading)
    named = layout.tables(release.format, MAJORITY if choices.by_majority else choices.rule)
    tables = Tables(
        folder,
        named | ({PEOPLE: people_table(release.format)} if people else {}),
        safe_csv=release.safe_csv,
        shard_rows=choices.shard_rows,
    )
    with tables:
        for table, row in rows:
            tables.write(table, row)
        for row in people:
            tables.write(PEOPLE, row)
    _refuse_empty(layout, tables, tally)
    paired = layout.TIERED or bool(tally.pairs)
    manifest = _manifest(reading, tally, paired)
    optional = {"remarks": rows.remarks, "survey": surveyed}
    optional["proposals"] = release.frozen.get("proposals")
    manifest |= {name: value for name, value in optional.items() if value}
    if choices.shard_rows:
        manifest["rules"]["shard_rows"] = choices.shard_rows
    if paired:
        tiers = choices.tier_rule.as_json() | {"filled": len(rows.filled)}
        manifest["rules"] |= {"pairs": choices.rules(), "tiers": tiers}
    if tiered and (refusal := outside_bands(manifest["agreement"])):
        raise DomainError(refusal, code="bands")
    manifest["annotators"] = described.annotators(reading)
    manifest["material"] = described.material(reading, rows.sessions)
    manifest["provenance"] = _provenance(reading)
    about = release.frozen["about"] | {"licence": release.licence, "judged": _judged(reading)}
    about = as_known(manifest, about)
    written = tables.written()
    filled_tables = [table.path for table, number in written.values() if number]
    texts = layout.texts(filled_tables) if hasattr(layout, "texts") else {}
    texts = {"README.md": card(manifest, about, written)} | dict(sorted(texts.items()))
    files = tables.files() + [write_text(folder, path, text) for path, text in texts.items()]
    files.append(write_text(folder, CROISSANT, croissant(manifest, about, written, files)))
    manifest["files"] = sorted(files, key=lambda entry: entry["path"])
    tables.journal.remove()
    (folder / "manifest.json").write_bytes(_manifest_text(manifest))
    check.sign(folder, f"release {release.number} of {manifest['study']}")
    return manifest


def _manifest_text(manifest: dict) -> bytes:
    return f"{json_text(manifest)}\n".encode()


def _judged(reading: Reading) -> dict[str, int]:
    """How many of the judgments people gave here, and how many were imported."""
    numbers = dict(reading.counted.values_list("imported").annotate(n=Count("pk")))
    return {"imported": numbers.get(True, 0), "here": numbers.get(False, 0)}


def _provenance(reading: Reading) -> list[dict]:
    """What is known of each import into the study, with the number of its judgments."""
    numbers = dict(reading.counted.values_list("provenance").annotate(n=Count("pk")))
    provenances = reading.release.study.provenances
    rows = provenances.filter(created_at__lte=reading.release.as_of).order_by("pk")
    return [row.as_json() | {"judgments": numbers.get(row.pk, 0)} for row in rows]


def _refuse_empty(layout: ModuleType, tables: Tables, tally: Tally) -> None:
    """DomainError with the reasons by count where no main table has a row."""
    if any(rows for name, (_, rows) in tables.written().items() if name.startswith(layout.MAIN)):
        return
    counts = tally.counts()
    reasons = [
        f"{reason.replace('_', ' ')}: {number:,}"
        for group in counts["left_out"].values()
        for reason, number in group.items()
    ]
    sentence = (
        f"The release would hold no {layout.ROWS_ARE}. The study has {counts['items']:,} items "
        f"with {counts['judgments']:,} judgments"
    )
    listed = f"; items left out, by reason: {', '.join(reasons)}" if reasons else ""
    raise DomainError(f"{sentence}{listed}.", code="empty")


class _Rows:
    """The rows of a release as (table, row), in an order that never changes.

    After them ``remarks`` has what the layout remarks, and ``filled`` the borderline items that
    joined the hard tier, ``sessions`` the kinds of each owner's.
    """

    def __init__(
        self, layout: ModuleType, reading: Reading, tally: Tally, choices: Choices
    ) -> None:
        self.layout, self.reading, self.tally, self.choices = layout, reading, tally, choices
        self.dropped = frozenset(reading.frozen["audit"].get("drop", ()))
        self.tier_rule = choices.tier_rule
        self.remarks, self.filled = {}, frozenset()
        self.sessions: list[Counter] = []

    def __iter__(self) -> Iterator[tuple[str, dict]]:
        makers = self.layout.ROWS
        remarks = getattr(self.layout, "remarks", lambda record: ())
        for name in ("personas", "attributes", "owners"):
            for record in getattr(self.reading, name)() if name in makers else ():
                yield from makers[name](record)
                for remark, entry in remarks(record):
                    self.remarks.setdefault(remark, []).append(entry)
                if isinstance(record, records.Owner):
                    self.sessions.append(Counter(each.kind for each in record.sessions))
        if self.layout.TIERED:
            self.filled = filled(self.reading.items(), self.tier_rule)
        posteriors = Posteriors(self.reading.label_votes())
        for item in self.reading.items():
            decided, made, reason = self._decide(item)
            self.tally.add(item, decided, made, reason)
            if "items" in makers:
                yield from makers["items"](item, decided, made, posteriors.of(item))
        for candidate in self.reading.candidates() if "candidates" in makers else ():
            yield from makers["candidates"](candidate)

    def _decide(self, item: records.Item) -> tuple[Verdict, Pair | None, str]:
        """The item's verdict, its pair or None, and why there is none."""
        wanted = self.choices
        if wanted.by_majority:
            half = wanted.rule == HALF
            decided = majority(item, wanted.min_votes, wanted.min_margin, half=half)
            return decided, *majority_pair(item, decided)
        if not wanted.by_tiers:
            return majority(item, 1, 1), *imported_pair(item)
        decided = verdict(item, self.tier_rule)
        if item.id in self.filled:
            decided = replace(decided, tier="hard")
        return decided, *pair(item, decided, self.dropped, wanted.easy_share)


def _easy_rule(frozen: dict, tally: Tally) -> dict:
    """How easy pairs were made, and what an audit of them found."""
    share = Choices.from_json(frozen).easy_share
    rule = "ground truth of three answers against the answer to the question alone, "
    return {
        "rule": f"{rule}or where there is none against the one written for another persona",
        "strategy": QUESTION_ALONE,
        "note": tally.easy_note(),
        "audit": frozen["audit"],
        # Not named where there is none, as before it could be.
        **({"least_share": str(share)} if share else {}),
    }


def _manifest(reading: Reading, tally: Tally, paired: bool) -> dict:
    """The manifest without its files; of pairs and tiers nothing where none are ``paired``."""
    release, frozen, counts, revised = reading.release, reading.frozen, tally.counts(), {}
    if release.revision:  # names the files that it stands for
        shown = ("version", "digest", "revised_at", "reason")
        replaced = [{name: entry[name] for name in shown} for entry in release.revisions]
        revised = {"revision": release.revision, "replaces": replaced}
    if not paired:
        del counts["pairs"]
        scales = {name: n for name, n in counts.pop("left_out").items() if name not in GROUPS}
        counts |= {"left_out": scales} if scales else {}
    return {
        "release": str(release.public_id),
        "feed": f"{frozen['origin']}{reverse('release-feed', args=[release.public_id])}",
        "study": frozen["about"]["slug"],
        "version": release.version,
        **revised,
        "created_at": release.as_of.isoformat(timespec="seconds"),
        "layout": release.layout,
        "layout_version": layouts.version_of(release.layout),
        "format": release.format,
        "rules": {
            **({"easy": _easy_rule(frozen, tally)} if paired else {}),
            "tasks": [task.as_json() for task in reading.tasks],
            "submitted_at": "day",
            "csv": "safe" if release.safe_csv else "exact",
            **({"draws": draws} if (draws := frozen.get("draws")) else {}),
            **getattr(layouts.layout_of(release.layout), "RULES", {}),
        },
        "counts": {
            "personas": len(frozen["personas"]),
            "workers": len(reading.workers),
            "withdrawn": reading.left,
            **counts,
        },
        "agreement": tally.agreement(),
    }
