"""Web servers and workers of one installation must see the same files: both know its id.

The id lies beside the files and in the database. A worker with another folder would write releases
that no web server finds.
"""

import secrets
from pathlib import Path

from django.conf import settings
from django.db import Error

from annotation.core import sharing
from annotation.core.errors import DomainError
from annotation.core.models import Installation


def establish(*, anew: bool = False) -> None:
    """Give a new installation its id. Raises DomainError where the files are another one's.

    ``anew``: take the files that are here for this database's, as after a restore.
    """
    here = _of_files() or _write(secrets.token_hex(8))
    row, _ = Installation.objects.get_or_create(pk=1, defaults={"name": here})
    if row.name == here:
        return
    if not anew:
        raise DomainError(_sentence())
    Installation.objects.update(name=here)


def check_installation() -> None:
    """End a web server or worker with a sentence where it sees other files than the database's.

    Without a database nothing can be compared: the server starts and says so on its pages.
    """
    try:
        name = Installation.objects.values_list("name", flat=True).first()
    except Error:
        return
    if name and name != _of_files():
        raise SystemExit(_sentence())


def _path() -> Path:
    return settings.DATA / "installation"


def _of_files() -> str:
    try:
        with sharing.opened(_path()) as file:
            return file.read().decode().strip()
    except FileNotFoundError:
        return ""


def _write(name: str) -> str:
    _path().touch(mode=0o600)
    _path().write_text(name)
    sharing.put(_path())
    return name


def _sentence() -> str:
    where = (
        f"the store {settings.S3_BUCKET}"
        if sharing.object_store()
        else f"ATTUNE_DATA {settings.DATA}"
    )
    return (
        f"The database belongs to another installation than {where}: releases and files would not "
        "be found. Web servers and workers need the same files. If the former ones are lost, run "
        "`./attune prepare --new-files`."
    )
