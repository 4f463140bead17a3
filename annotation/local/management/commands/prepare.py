"""Everything a start needs from a running database, in one process because each costs a second."""

import hashlib
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.management import call_command
from django.core.management.base import CommandParser

from annotation.core.commands import RefusingCommand
from annotation.core.made import compile_catalogues
from annotation.core.models import Installation
from annotation.local import postgres
from annotation.local.folders import write_private


class Command(RefusingCommand):
    help = (
        "Compile the translations, migrate, collect the static files, make the first administrator "
        "and load the demo study. "
        "Prints the administrator's one-time link where there is one; a second run changes nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--no-demo", action="store_true", help="do not load the demo study")
        parser.add_argument(
            "--new-files",
            action="store_true",
            help="the former files are lost: take those of this ATTUNE_DATA for the database's",
        )

        parser.add_argument(
            "--embedded",
            action="store_true",
            help="the database is the one that `up` has started: make role and database, too",
        )

    def handle(self, *, no_demo: bool, new_files: bool, embedded: bool, **options: Any) -> None:
        """Run the steps; words go to stderr and the link alone to stdout."""
        compile_catalogues()
        if embedded:
            server = postgres.locate(settings.DATA)
            postgres.provision(server)
            postgres.protect_audit(server, protect=False)  # migrations may change it
        call_command("migrate", interactive=False, stdout=self.stderr)
        if embedded:
            postgres.protect_audit(server, protect=True)
        Installation.establish(anew=new_files)
        _collect_static()
        call_command("ensure_admin", stdout=self.stdout)
        if not no_demo:
            call_command("load_demo", stdout=self.stderr)


def _collect_static() -> None:
    """Collect the static files where one changed or their list is damaged: it takes seconds."""
    stamp = settings.STATIC_MANIFEST / "static.stamp"
    manifest: Any = staticfiles_storage  # the settings name one that keeps a manifest
    current = _fingerprint()
    if stamp.exists() and stamp.read_text(encoding="utf-8") == current and manifest.hashed_files:
        return
    # What packages bring and no page loads: a second viewer of the API, another htmx, DRF's pages.
    unused = ["redoc", "rest_framework", "django_htmx"]
    call_command("collectstatic", interactive=False, verbosity=0, ignore_patterns=unused)
    write_private(stamp, current)


def _fingerprint() -> str:
    """Return a digest of every static file: of an image's files all dates are the same."""
    digest = hashlib.sha256()
    for finder in get_finders():
        for path, storage in finder.list([]):
            content = hashlib.sha256(Path(storage.path(path)).read_bytes()).hexdigest()
            digest.update(f"{path}\0{content}\n".encode())
    return digest.hexdigest()
