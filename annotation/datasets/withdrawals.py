"""Releases that are deleted, and what a withdrawal does to them.

Unfetched ones are written again without the person. A release that somebody has fetched cannot be
called back: it stays as it is, and its page has the times of the first fetch and of withdrawals
since.
"""

from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.dispatch import receiver
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.core import audit, jobs
from annotation.core.errors import Conflict
from annotation.datasets import folders
from annotation.datasets.models import Release
from annotation.judging.annotator.leaving import withdrawn
from annotation.judging.models import Batch, Judgment
from annotation.studies.models import Study

WRITTEN_OR_DUE = (Release.Status.REQUESTED, Release.Status.RUNNING, Release.Status.DONE)


def note_fetch(release: Release) -> bool:
    """Record that the files leave the server; False where the release is not written any more."""
    rows = Release.objects.filter(pk=release.pk, status=Release.Status.DONE)
    return rows.filter(fetched_at=None).update(fetched_at=timezone.now()) > 0 or rows.exists()


@receiver(withdrawn)
@transaction.atomic
def take_out(sender: object, study: Study, annotator: User, **kwargs: Any) -> None:
    """Take ``annotator`` out of the study's unfetched releases; note the day in fetched ones."""
    for release in _holding(study, annotator).select_for_update().order_by("pk"):
        if release.fetched_at:
            release.withdrawals = [*release.withdrawals, timezone.now().date().isoformat()]
            release.save(update_fields=["withdrawals"])
            continue
        people = {*release.frozen["withdrawn"], annotator.pk}
        release.frozen["withdrawn"] = sorted(people)
        release.save(update_fields=["frozen"])
        jobs.again(Release.objects.filter(pk=release.pk))
        audit.record(None, "release.rewrite", release, version=release.version)
        transaction.on_commit(partial(_write_anew, release))


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


def _write_anew(release: Release) -> None:
    # Only here: every process imports this module, and the writers bring pyarrow and scipy.
    from annotation.datasets import tasks

    folders.withdraw(release)
    tasks.notify(release.pk)


@transaction.atomic
def delete(release: Release, *, by: User) -> None:
    """Delete ``release`` with its files; one row in the audit log.

    Conflict where somebody has fetched it, and so may cite it, or where it is being written.
    """
    # A download notes itself in this row before it begins.
    release = Release.objects.select_for_update().select_related("study").get(pk=release.pk)
    if release.fetched_at:
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
