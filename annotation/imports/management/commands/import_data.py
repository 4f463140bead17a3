"""`manage.py import_data FILE`"""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from annotation.core.commands import RefusingCommand
from annotation.core.records import bar
from annotation.core.schema import add_arguments, taken
from annotation.core.uploads import scratch_folder
from annotation.imports import bring, recipes, tables
from annotation.imports.mapping import OWN, TARGETS, suggestion
from annotation.imports.store import Result
from annotation.imports.tables import HubTable, Text
from annotation.imports.votes import Faults, FaultsError
from annotation.studies.models import Provenance, Study

# Faulty lines that are listed.
LISTED = 1_000


class Command(RefusingCommand):
    help = (
        "Import a table (CSV, TSV, JSON, JSON lines, Parquet, .xlsx, or a zip of one) or a zipped "
        "study bundle. Without --recipe and --map the columns are recognised by name. Faulty lines "
        "are listed (the first 1,000), and then nothing is stored, unless --skip-faulty."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", nargs="?", default="")
        add_arguments(parser, HubTable)
        add_arguments(parser, Text)
        parser.add_argument("--study", metavar="SLUG", default="", help="made where missing")
        chosen = parser.add_mutually_exclusive_group()
        names = ", ".join(recipes.by_name())
        chosen.add_argument("--recipe", metavar="NAME", default="", help=names)
        chosen.add_argument(
            "--map",
            metavar="TARGET=COLUMN",
            action="extend",
            nargs="+",
            default=[],
            help="one or more; a column may be a place in it: answers[1].text. Targets: "
            + ", ".join([*TARGETS, f"{OWN}QUESTION"]),
        )
        parser.add_argument(
            "--constant",
            metavar="TARGET=TEXT",
            action="append",
            default=[],
            help="what is the same for all rows: prompt='Which is better?'",
        )
        parser.add_argument(
            "--join",
            metavar="FILE:COLUMN=KEY",
            action="append",
            default=[],
            help="add the row of FILE whose KEY the COLUMN names; its fields are COLUMN.FIELD",
        )
        add_arguments(parser, bring.Classes)
        add_arguments(parser, bring.Options)
        words = "What is left out is not known. --source also takes a JSON document of all of it."
        known = parser.add_argument_group("where it comes from", words)
        add_arguments(known, bring.Known)
        parser.add_argument("--dry-run", action="store_true", help="store nothing")
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *args: Any, file: str, **options: Any) -> None:
        """Store the file; print the counts and what was rejected."""
        known = recipes.by_name()
        if options["recipe"] and options["recipe"] not in known:
            words = f"There is no recipe “{options['recipe']}”. Known: {', '.join(known)}."
            raise CommandError(words, returncode=2)
        if bool(file) == bool(options["hub"]):
            raise CommandError("Name a FILE, or a data set with --hub.", returncode=2)
        try:
            if options["source"].endswith(".json") and Path(options["source"]).is_file():
                document = bring.known_of(Path(options["source"]))
                options["source"] = ""
                options |= {name: options[name] or value for name, value in document.items()}
            with scratch_folder() as scratch, transaction.atomic():
                if options["hub"]:
                    path, source = tables.fetch(HubTable(**taken(HubTable, options)), scratch)
                    options["study"] = options["study"] or options["hub"].rpartition("/")[2]
                    options["source"] = options["source"] or source
                    file = path.name
                slug, result = self.store(path if options["hub"] else Path(file), options)
                if options["dry_run"]:
                    transaction.set_rollback(True)
        except OSError as error:
            raise CommandError(f"The file cannot be read: {error.strerror}.") from error
        except FaultsError as refusal:
            if options["json"]:
                self.print(options["study"], Result({}, refusal.faults), LISTED)
            else:
                self.list(file, refusal.faults)
            raise
        if options["json"]:
            self.print(slug, result)
        else:
            self.say(slug, result, options)
            self.list(file, result.faults)

    def store(self, path: Path, options: dict[str, Any]) -> tuple[str, Result]:
        """Import the file or folder at ``path``; the slug of its study, and what came in."""
        if path.is_dir() and (path / "study.json").is_file():
            return bring.bring_bundle(None, tables.Table("bundle", folder=path))
        if path.is_dir():
            raise CommandError(f"{path} is a folder: import_release makes a study of a release.")
        if not path.is_file():
            raise CommandError(f"{path}: there is no such file.")
        return self.table(path, options)

    def table(self, path: Path, options: dict[str, Any]) -> tuple[str, Result]:
        """Import a file, in a study that is made for it where there is none."""
        with tables.opened(path, options["encoding"]) as table:
            wanted = Study.objects.filter(slug=options["study"]).first()
            if table.format == "bundle":
                return bring.bring_bundle(wanted, table)
            table.joins += [_join(text) for text in options["join"]]
            columns, same = _columns(options["map"]), _columns(options["constant"])
            constants = {target: [f"={text}" for text in texts] for target, texts in same.items()}
            wish = {"recipe": options["recipe"], "columns": columns and columns | constants}
            wish |= {"texts": options["classes"]} | {n: options[n] for n in ("level", "depth")}
            mapping = bring.mapping_for(table, wish)
            name = recipes.proposed(table.sample)[1]
            if name and not (options["recipe"] or columns):
                told = " With it as --recipe the import says where such files come from."
                known = recipes.provenance_of(name)
                self.stderr.write(
                    f"The recipe “{name}” reads these columns.{told if known else ''}"
                )
            if same and not columns:
                mapping = mapping.with_constants(same)
            known = recipes.provenance_of(options["recipe"])
            known |= {name: options[name] for name in Provenance.ASKED if options[name]}
            study = bring.study_of_file(path, options["study"])
            result = bring.bring(
                study,
                table,
                mapping,
                provenance=bring.provenance(path.name, known),
                dry_run=options["dry_run"],
                rows=iter(bar(table.rows(), "rows", None)),
                **taken(bring.Options, options),
            )
            for note in table.notes:
                self.stderr.write(note)
            if described := result.counts.get("described"):
                words = "had no language or scenario: what the file says of them is theirs now."
                self.stderr.write(f"{_counted(described, 'queries')} of the study {words}")
            for name in result.unordered:
                self.stderr.write(
                    f"The numbers of “{name}” are classes without an order now. If they have one, "
                    "import them anew with --level ordinal and their --classes in order, or as "
                    "scores; --level nominal says that they have none."
                )
        return study.slug, result

    def print(self, slug: str, result: Result, limit: int | None = None) -> None:
        """Print the report as JSON, with the first ``limit`` faulty lines."""
        report = {"study": slug, **{name: result.counts.get(name, 0) for name in bring.COUNTS}}
        report |= {"rejected": result.faults.as_json(limit), "unknown_columns": result.unknown}
        self.stdout.write(json.dumps(report, ensure_ascii=False))

    def say(self, slug: str, result: Result, options: dict) -> None:
        there = [(result.counts.get(name), name) for name in bring.COUNTS]
        counts = ", ".join(_counted(count, name) for count, name in there if count)
        verb = "would have" if options["dry_run"] else "has"
        self.stdout.write(f"The study “{slug}” {verb} {counts} of this file.")
        known = recipes.provenance_of(options["recipe"])
        unsaid = [name for name in Provenance.ASKED if not (options[name] or known.get(name))]
        if unsaid and result.counts.get("votes"):
            self.stderr.write(f"Not known of where it comes from: {', '.join(unsaid)}.")
        for name in result.unknown:
            near = suggestion(name)
            words = f": did you mean “{near}”?" if near else ""
            self.stderr.write(f"The column “{name}” is not read{words}")

    def list(self, file: str, faults: Faults) -> None:
        for line, reason in faults.rows[:LISTED]:
            self.stderr.write(f"{file}, line {line}: {reason}")
        if faults.count > LISTED:
            self.stderr.write(f"… and {faults.count - LISTED:,} more")


def _counted(count: int, name: str) -> str:
    one = "query" if name == "queries" else name.removesuffix("s")
    return f"{count:,} {one if count == 1 else name}"


def _join(text: str) -> tables.Join:
    """The join of ``FILE:COLUMN=KEY``."""
    file, _colon, pair = text.rpartition(":")
    column, sign, key = pair.rpartition("=")
    if not (file and column and sign and key):
        raise CommandError(f"--join takes FILE:COLUMN=KEY, not “{text}”.", returncode=2)
    if not Path(file).is_file():
        raise CommandError(f"{file}: there is no such file.")
    with tables.opened(Path(file)) as table:
        return tables.Join.read(table, Path(file).name, column, key)


def _columns(pairs: list[str]) -> dict[str, list[str]]:
    """{target: [columns]} of ``TARGET=COLUMN`` arguments."""
    columns: dict[str, list[str]] = {}
    for pair in pairs:
        target, sign, column = pair.partition("=")
        if not sign:
            raise CommandError(f"--map takes TARGET=COLUMN, not “{pair}”.", returncode=2)
        columns.setdefault(target.strip(), []).append(column.strip())
    return columns
