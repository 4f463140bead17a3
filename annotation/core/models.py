import secrets
from pathlib import Path

from django.conf import settings
from django.db import Error, models

from annotation.core import sharing
from annotation.core.errors import DomainError


class AuditEvent(models.Model):
    """Who did what to which thing. Rows are never changed or deleted: a trigger refuses it."""

    at = models.DateTimeField(auto_now_add=True)
    # Plain ids: the record outlives the people and things it names.
    actor = models.BigIntegerField(null=True)
    action = models.CharField(max_length=60)
    target = models.CharField(max_length=60)
    target_id = models.CharField(max_length=60)
    details = models.JSONField(default=dict)

    class Meta:
        indexes = [models.Index(fields=["target", "target_id"])]


class Installation(models.Model):
    """The one row that names the files that belong to this database, by an id beside them.

    A worker with another folder would write releases that no web server finds.
    """

    name = models.CharField(max_length=40)

    @classmethod
    def establish(cls, *, anew: bool = False) -> None:
        """Give a new installation its id. Raises DomainError where the files are another one's.

        ``anew``: take the files that are here for this database's, as after a restore.
        """
        here = cls._of_files() or cls._write(secrets.token_hex(8))
        row, _ = cls.objects.get_or_create(pk=1, defaults={"name": here})
        if row.name == here:
            return
        if not anew:
            raise DomainError(cls._sentence())
        cls.objects.update(name=here)

    @classmethod
    def compare(cls) -> None:
        """End a web server or worker with a sentence where it sees other files than the database's.

        Without a database nothing can be compared: the server starts and says so on its pages.
        """
        try:
            name = cls.objects.values_list("name", flat=True).first()
        except Error:
            return
        if name and name != cls._of_files():
            raise SystemExit(cls._sentence())

    @staticmethod
    def _path() -> Path:
        return settings.DATA / "installation"

    @classmethod
    def _of_files(cls) -> str:
        try:
            with sharing.opened(cls._path()) as file:
                return file.read().decode().strip()
        except FileNotFoundError:
            return ""

    @classmethod
    def _write(cls, name: str) -> str:
        cls._path().touch(mode=0o600)
        cls._path().write_text(name)
        sharing.put(cls._path())
        return name

    @staticmethod
    def _sentence() -> str:
        where = f"ATTUNE_DATA {settings.DATA}"
        if sharing.object_store():
            where = f"the store {settings.S3_BUCKET}"
        return (
            f"The database belongs to another installation than {where}: releases and files would "
            "not be found. Web servers and workers need the same files. If the former ones are "
            "lost, run `./attune prepare --new-files`."
        )


class Heartbeat(models.Model):
    """When a background process was last seen, so that a page can say that none is running."""

    name = models.CharField(max_length=30, primary_key=True)
    at = models.DateTimeField()
