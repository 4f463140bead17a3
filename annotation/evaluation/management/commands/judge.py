from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.core.schema import built, taken
from annotation.evaluation import judges, runs, systems
from annotation.evaluation.commands import RunCommand
from annotation.evaluation.systems import Measurement


class Command(RunCommand):
    help = (
        "Ask a model to judge a release's answers as its people did, or those of a system that "
        "are brought (--responses) or written from the release alone (--generate); print the "
        "figures beside people's."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--release", metavar="DIR", type=Path, required=True)
        parser.add_argument("--endpoint", metavar="NAME", required=True, help="the judge")
        parser.add_argument(
            "--shots",
            metavar="NAME",
            help="what the judge sees: of own queries feedback, scores, rubric or none; of "
            "attributes attribute or none (default: the first)",
        )
        answers = parser.add_mutually_exclusive_group()
        answers.add_argument(
            "--responses",
            metavar="FILE",
            type=Path,
            help="score a system: its answers in JSON lines or CSV with the columns user, query "
            "(the query's id or text) and text, in place of those of the release",
        )
        answers.add_argument(
            "--generate",
            metavar="ARM",
            help="score a system whose answers an endpoint writes: from none, history, search, "
            "profile, aware or oracle (-nearest: of the sessions nearest to the question); of "
            "attributes, from attribute or none",
        )
        parser.add_argument("--writer", metavar="NAME", help="the endpoint; else the judge's")
        parser.add_argument("--system", metavar="NAME", help="its name; else the file's or model's")
        parser.add_argument(
            "--context", metavar="WORDS", default="", help="what the system knew of the person"
        )
        parser.add_argument("--limit", metavar="N", type=int, help="the first N responses")
        parser.add_argument("--resume", metavar="ID", help="go on with a run that was stopped")
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["responses"] and (options["context"] or (options["system"]
                                         and not options["generate"])):  # fmt: skip
            raise CommandError("--system and --context need --responses.", returncode=2)
        if options["writer"] and not options["generate"]:
            raise CommandError("--writer needs --generate.", returncode=2)
        judge, file = judges.in_folder(options["release"]), options["responses"]
        setting = options["shots"] or next(iter(judge.ARMS))
        named = {"setting": setting, "system": options["system"] or (file.stem if file else "")}
        asked = built(Measurement, taken(Measurement, options) | named)
        system = systems.of_measurement(asked, systems.of_file(file) if file else [])
        single = (asked.endpoint, asked.setting, asked.limit)
        wanted = runs.measured(options["release"], *single, judge=judge, system=system,
                               resume=options["resume"])  # fmt: skip
        run = self.carry_out(wanted)
        self.report(run, judge.words(run.result), options["json"])
