import re
from importlib import metadata
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

NAME = re.compile(r"^([A-Za-z0-9._-]+)==([^ \\;]+)", re.MULTILINE)


class Command(BaseCommand):
    help = "Print a table of every package that Attune needs with its version and licence."
    requires_system_checks = []

    def handle(self, **options: Any) -> None:
        """One row a package; what is for another platform is not installed here."""
        lock = Path(settings.BASE_DIR / "locks/base.lock").read_text(encoding="utf-8")
        self.stdout.write("| package | version | licence |\n|---|---|---|")
        for name, version in NAME.findall(lock):
            self.stdout.write(f"| {name} | {version} | {licence(name)} |")


def licence(name: str) -> str:
    """The licence a package declares: its expression, else its classifiers, else its first line."""
    try:
        fields: Any = metadata.metadata(name)  # a Message; its protocol has no get before 3.12
    except metadata.PackageNotFoundError:
        return "not installed on this platform"
    if expression := fields.get("License-Expression"):
        return expression
    classifiers = [
        entry.rpartition(" :: ")[2]
        for entry in fields.get_all("Classifier") or []
        if entry.startswith("License ::")
    ]
    words = (fields.get("License") or "not declared").strip().splitlines()[0]
    return ", ".join(classifiers) or words[:60]
