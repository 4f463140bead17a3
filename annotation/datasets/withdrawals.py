"""Releases that are deleted, and what a withdrawal does to them.

They are written again without the person, and the old files are deleted. One that somebody has
fetched gets a number of its own for that: v2 becomes v2.1, which says what it takes the place of,
as does a feed at the release's id.
"""

from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.dispatch import receiver
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.accounts.models import User
from annotation.core import audit, jobs
from annotation.core.errors import Conflict
from annotation.datasets import folders
from annotation.datasets.models import Release
from annotation.histories.consent import taken_back
from annotation.histories.models import Session
from annotation.judging.annotator.leaving import withdrawn
from annotation.judging.models import Batch, Judgment
from annotation.studies import survey
from annotation.studies.models import Study

WITHDREW = gettext_noop("A person in it withdrew from the study.")
TOOK_BACK = gettext_noop("A person took back sessions of their history.")
TOOK_BACK_ANSWERS = gettext_noop("A person took back what they said of themselves.")
WRITTEN_OR_DUE = (Release.Status.REQUESTED, Release.Status.RUNNING, Release.Status.DONE)


def note_fetch(release: Release) -> bool:
    """Record that the files leave the server; False where the release is not written any more."""
    rows = Release.objects.filter(pk=release.pk, status=Release.Status.DONE)
    return rows.filter(fetched_at=None).update(fetched_at=timezone.now()) > 0 or rows.exists()


@receiver(withdrawn)
@transaction.atomic
def take_out(sender: object, study: Study, annotator: User, **kwargs: Any) -> None:
    """Write the study's releases that hold something of ``annotator`` again without it."""
    for release in _holding(study, annotator).select_for_update().order_by("pk"):
        release.frozen["withdrawn"] = sorted({*release.frozen["withdrawn"], annotator.pk})
        _revise(release, WITHDREW)


@receiver(taken_back)
@transaction.atomic
def take_out_sessions(
    sender: object,
    owner: User,
    sessions: QuerySet[Session],
    study: Study | None = None,
    **kwargs: Any,
) -> None:
    """Write releases (of ``study``) that publish any of ``sessions`` again without these."""
    rows = Release.objects.filter(frozen__owners__contains=owner.pk, status__in=WRITTEN_OR_DUE)
    rows = rows.filter(study=study) if study else rows
    for release in rows.select_for_update().order_by("pk"):
        held = release.frozen["sessions"]
        gone = set(map(str, sessions.filter(pk__in=held).values_list("pk", flat=True)))
        if gone:
            release.frozen["sessions"] = [pk for pk in held if pk not in gone]
            _revise(release, TOOK_BACK)


@receiver(survey.taken_back)
@transaction.atomic
def take_out_answers(sender: object, study: Study, user: User, **kwargs: Any) -> None:
    """Write the study's releases that tell what ``user`` said of themselves again without it."""
    rows = study.releases.filter(status__in=WRITTEN_OR_DUE)
    rows = rows.filter(frozen__survey__answers__has_key=str(user.pk))
    for release in rows.select_for_update().order_by("pk"):
        del release.frozen["survey"]["answers"][str(user.pk)]
        _revise(release, TOOK_BACK_ANSWERS)


def _revise(release: Release, reason: str) -> None:
    """Have the files written as ``frozen`` is now, under a new number where somebody has some."""
    before = release.revision
    if release.fetched_at:
        release.revision += 1
        release.revisions = [
            *release.revisions,
            {
                "version": folders.number_of(release.version, before),
                "digest": release.digest,
                "fetched_at": release.fetched_at.isoformat(),
                "revised_at": timezone.now().isoformat(),
                "reason": reason,
            },
        ]
        release.fetched_at = None
    release.save(update_fields=["frozen", "revision", "revisions", "fetched_at"])
    jobs.retry_jobs(Release.objects.filter(pk=release.pk))
    audit.record(None, "release.rewrite", release, version=release.number)
    transaction.on_commit(partial(_write_anew, release, before))


def _holding(study: Study, annotator: User) -> QuerySet[Release]:
    """Releases of ``study``, written or to be, that hold something of ``annotator``."""
    judgments = Judgment.objects.filter(annotator=annotator, slot__study=study)
    first = judgments.filter(slot__item__batch__purpose=Batch.Purpose.WORK).order_by("pk")
    number = first.values_list("pk", flat=True).first()
    holds = Q(frozen__owners__contains=annotator.pk)
    if number is not None:
        holds |= Q(frozen__judgment__gte=number)
    releases = Release.objects.filter(holds, study=study, status__in=WRITTEN_OR_DUE)
    return releases.exclude(frozen__withdrawn__contains=annotator.pk)


def _write_anew(release: Release, before: int) -> None:
    # Only here: every process imports this module, and the writers bring pyarrow and scipy.
    from annotation.datasets import tasks

    folders.withdraw(release, before)
    tasks.notify(release.pk)


@transaction.atomic
def delete(release: Release, *, by: User) -> None:
    """Delete ``release`` with its files; one row in the audit log.

    Conflict where somebody has fetched it, and so may cite it, or where it is being written.
    """
    # A download notes itself in this row before it begins.
    release = Release.objects.select_for_update().select_related("study").get(pk=release.pk)
    if release.fetched_at or release.revision:
        raise Conflict(
            _("Release %d was fetched and stays: whoever has it must be able to look it up.")
            % release.version,
            code="fetched",
        )
    if release.status == Release.Status.RUNNING:
        raise Conflict(
            _("Release %d is being written: delete it when that has ended.") % release.version,
            code="under_way",
        )
    counts = (release.manifest or {}).get("counts", {})
    audit.record(by, "release.delete", release, version=release.version, counts=counts)
    paths = (folders.zip_of(release), folders.folder_of(release))
    release.delete()
    for path in paths:
        transaction.on_commit(partial(folders.delete, path))


def feed(release: Release, address: str) -> dict:
    """A JSON Feed with an item for each revision: which files it stands for, when and why."""
    title = f"{release.study.title}, release {release.version}"
    items = [
        {
            "id": entry["digest"],
            "title": f"Release {entry['version']} is written again: do not use it any more.",
            "content_text": entry["reason"],
            "date_published": entry["revised_at"],
        }
        for entry in reversed(release.revisions)
    ]
    version = "https://jsonfeed.org/version/1.1"
    return {"version": version, "title": title, "feed_url": address, "items": items}
