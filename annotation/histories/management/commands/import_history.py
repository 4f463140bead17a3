import json
from pathlib import Path
from typing import Any, NoReturn

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.accounts.models import User
from annotation.core.errors import DomainError
from annotation.histories import ingest
from annotation.histories.models import Upload


class Command(BaseCommand):
    help = (
        "Import an export of chats or searches as the history of the account EMAIL, who has agreed "
        "to it. Prints one JSON document. The owner then decides what is kept and what is hidden."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", metavar="EMAIL", help="address of the owner's account")
        parser.add_argument("file", metavar="FILE", type=Path, help="the export")
        parser.add_argument(
            "--dry-run", action="store_true", help="read and count; nothing is stored"
        )
        parser.add_argument(
            "--again", action="store_true", help="import it although its owner erased it before"
        )
        parser.add_argument("--json", action="store_true", help="as always: one JSON document")

    def handle(self, *args: Any, email: str, file: Path, **options: Any) -> None:
        act = self._preview if options["dry_run"] else self._import
        try:
            summary = act(_owner(email), file, **options)
        except OSError as error:
            self._refuse("file", f"{file}: {(error.strerror or 'unreadable').lower()}.", error)
        except DomainError as refusal:
            self._refuse(refusal.code, refusal.sentence, refusal)
        else:
            self.stdout.write(json.dumps(summary, ensure_ascii=False))

    def _refuse(self, code: str, sentence: str, error: Exception) -> NoReturn:
        problem = {"code": code, "message": sentence}
        self.stdout.write(json.dumps({"error": problem}, ensure_ascii=False))
        raise CommandError(sentence) from error

    def _preview(self, owner: User, file: Path, **options: Any) -> dict:
        source, counts = ingest.preview_upload(owner, file)
        return self._document(source, counts.as_json(), counts.omissions())

    def _import(self, owner: User, file: Path, again: bool, **options: Any) -> dict:
        upload = ingest.of_path(owner, file)
        Upload.objects.filter(pk=upload.pk).update(again=again)
        done = ingest.run(upload.pk)
        if done is None:
            raise DomainError("Another process reads this file; it goes on there.", code="busy")
        if done.status == Upload.Status.FAILED:
            raise DomainError(done.error, code=done.error_code)
        if done.status == Upload.Status.ERASED_BEFORE:
            ingest.cancel_upload(owner, done.pk)
            sentence = "Its owner erased this file before: import it with --again if they agree."
            raise DomainError(sentence, code="erased_before")
        if done.status == Upload.Status.DUPLICATE:
            self.stderr.write("The same file is already here: nothing was stored.")
        return self._document(done.source, done.counts, done.skipped)

    def _document(self, source: str, counts: dict, skipped: list) -> dict:
        if visits := counts.get("visits"):
            # The document's keys are fixed; a file of visits alone would seem to hold nothing.
            self.stderr.write(f"The file holds {visits} visits.")
        names = ("sessions", "messages", "searches", "first", "last", "duplicates")
        return {"source": source, **{name: counts.get(name) for name in names}, "skipped": skipped}


def _owner(email: str) -> User:
    owner = User.objects.filter(email__iexact=email).first()
    if owner is None:
        raise DomainError(f"There is no account {email}.", code="account")
    return owner
