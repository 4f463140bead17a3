"""The private folder of files that curators send, until the import has ended."""

from django.utils.translation import gettext as _

from annotation.core.errors import DomainError
from annotation.core.uploads import Uploads

UPLOADS = Uploads("imports", "IMPORT_MAX_BYTES")
folder, path_of, create = UPLOADS.folder, UPLOADS.path_of, UPLOADS.create
write, delete, sweep = UPLOADS.write, UPLOADS.delete, UPLOADS.sweep


def check_room(size: int) -> None:
    """DomainError where a file of ``size`` bytes is empty or too large, or the disk is full."""
    if size <= 0:
        raise DomainError(_("The file is empty."), code="empty_file")
    UPLOADS.check_room(size)
