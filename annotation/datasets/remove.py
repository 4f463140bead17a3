"""Deletes a release that has not left the server."""

from functools import partial

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.core import audit
from annotation.core.errors import Conflict
from annotation.datasets import folders
from annotation.datasets.models import Release


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
