import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.core.errors import DomainError
from annotation.datasets.check import MANIFEST, check_release, replaced


class Command(BaseCommand):
    help = (
        "Check that a release's folder holds exactly what its manifest lists, that its signature "
        "is of that, and that no judge is tested on a text that is a shot of the same query."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", metavar="DIR", type=Path)
        parser.add_argument(
            "--key", default="", help="the public key that it must be signed by, of whoever made it"
        )
        parser.add_argument(
            "--online",
            action="store_true",
            help="also ask the installation that made it whether somebody in it has left since",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            faults = check_release(options["folder"], options["key"])
            if options["online"] and (reason := replaced(options["folder"])):
                faults.append({"path": MANIFEST, "reason": f"has a successor: {reason}"})
        except DomainError as refusal:
            if options["json"]:
                self.stdout.write(json.dumps({"ok": False, "files": [], "error": refusal.sentence}))
            raise CommandError(refusal.sentence) from refusal
        if options["json"]:
            answer = {"ok": False, "files": faults} if faults else {"ok": True}
            self.stdout.write(json.dumps(answer, ensure_ascii=False))
        elif not faults:
            self.stdout.write("ok")
        if faults:
            words = "; ".join(f"{fault['path']} {fault['reason']}" for fault in faults[:20])
            number = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
            raise CommandError(f"{number}: {words}")
