"""Agreement coefficients of a study's votes or of a votes file."""

import argparse
import json
import math
import os
import sys
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.agreement.report import RESAMPLES, agreement_report
from annotation.agreement.statistics.kappas import LEVELS
from annotation.core.commands import add_without_proposals, aligned_table, shown
from annotation.votes.table import Votes, VotesError, number, read_votes

# More categories are told by their ends.
SHOWN = 50

if TYPE_CHECKING:
    from annotation.votes.stored import StudyVotes


def label_list(text: str) -> list[str]:
    """The labels of a comma-separated list; empty or double ones are refused."""
    labels = [label.strip() for label in text.split(",")]
    if "" in labels:
        raise argparse.ArgumentTypeError("a label is empty")
    if len(set(labels)) < len(labels):
        raise argparse.ArgumentTypeError("a label is named twice")
    return labels


def draws(text: str) -> int:
    """A number of bootstrap draws, 0 for none."""
    if not text.isdecimal() or int(text) > 1_000_000:
        raise argparse.ArgumentTypeError("must be a whole number from 0 to 1,000,000")
    return int(text)


class VotesCommand(BaseCommand, ABC):
    """A command over a study's votes or a votes file; the file needs no database."""

    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("study", nargs="?", metavar="STUDY", help="slug of a study")
        source.add_argument(
            "--votes", metavar="FILE", help="CSV or JSON lines with task, worker, label"
        )
        parser.add_argument(
            "--task",
            default="",
            help="a study's task (default: its pairs, or else its triples); scores: NAME:CRITERION",
        )
        add_without_proposals(parser)
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *args: Any, **options: Any) -> None:
        """Read, compute, print; votes that are wrong end in exit status 1 with their sentence."""
        try:
            votes, study = self.votes(options)
            self.stdout.write(self.answer(votes, study, options))
        except BrokenPipeError:
            # Who reads has seen enough (`| head`); nor may Python's own flush at the exit complain.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        except VotesError as error:
            raise CommandError(str(error)) from error

    timed = False
    # Whether other kinds than selections have what the command computes.
    every_kind = False

    def votes(self, options: dict) -> tuple[Votes, "StudyVotes | None"]:
        """The votes the arguments name, and the study's reading they are of (None: a file's)."""
        if options["votes"]:
            return read_votes(options["votes"], timed=self.timed), None
        # Not above: a file's votes need no models.
        from annotation.votes import counting
        from annotation.votes.stored import study_votes

        without = options["without_proposals"]
        tiered = not self.every_kind
        study = study_votes(options["study"], options["task"], tiered=tiered, proposed=not without)
        self.stderr.write(f"The votes of task {study.task}; --task names another.")
        name = study.task.partition(":")[0]
        if said := counting.said_of_proposals(study.study, name, left_out=without):
            self.stderr.write(said)
        return study.votes, study

    @abstractmethod
    def answer(self, votes: Votes, study: "StudyVotes | None", options: dict) -> str:
        """The text to print."""


class Command(VotesCommand):
    help = "Agreement between annotators: of a study, or of a file of votes."
    every_kind = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--level",
            choices=LEVELS,
            help="the labels' scale (default: nominal; a study's preferences and scores: ordinal)",
        )
        parser.add_argument(
            "--labels", type=label_list, help="all possible labels: a,b,c (default: those seen)"
        )
        parser.add_argument(
            "--bootstrap",
            type=draws,
            default=RESAMPLES,
            metavar="N",
            help="resamples of items for the intervals (default: %(default)s)",
        )

    def answer(self, votes: Votes, study: "StudyVotes | None", options: dict) -> str:
        """The report of these votes as JSON or as a table."""
        labels = options["labels"] or (study.declared if study else None)
        level = options["level"] or getattr(study, "level", "nominal")
        if level != "nominal":
            for label in options["labels"] or ():
                if math.isnan(number(label)):
                    sentence = f"--labels: {label!r} is not a number ({level} level)"
                    raise CommandError(sentence, returncode=2)
        report = agreement_report(votes, level, labels, options["bootstrap"])
        if options["json"]:
            return json.dumps(report, ensure_ascii=False, allow_nan=False)
        return readable(report)


def readable(report: dict) -> str:
    """The report as a table for people, Cohen's pairs in one line."""
    per_item = report["votes_per_item"]
    head = (
        f"{report['votes']:,} votes of {report['workers']:,} annotators on {report['items']:,} "
        f"items ({per_item['min']} / {per_item['median']:g} / {per_item['max']} an item)\n"
        f"categories: {_names(report['categories'])}\n"
    )
    names = ("percent_agreement", "fleiss_kappa", "symmetric_kappa", "brennan_prediger")
    rows = [_row(name, report[name]) for name in (*names, "gwet_ac1", "gwet_ac2")]
    rows += [_row(f"alpha {level}", a) for level, a in report["krippendorff_alpha"].items()]
    rows += [_row(name, coefficient) for name, coefficient in report["icc"].items()]
    cohen = report["cohen_kappa"]
    pairs = f"Cohen's kappa, mean of {len(cohen['pairs']):,} pairs: {shown(cohen['mean'])}"
    if cohen["mean"] is None:
        pairs += f" ({cohen['reason']})"
    header = ("", "value", "se", "low", "high", "")
    notes = "\n".join(f"{row[0]}: {row[5]}" for row in rows if row[5])
    body = aligned_table(header[:5], [row[:5] for row in rows])
    return "\n".join(part for part in (head, body, "", pairs, notes) if part or part == "")


def _names(categories: list) -> str:
    if len(categories) > SHOWN:
        return f"{categories[0]} to {categories[-1]} ({len(categories):,})"
    return ", ".join(map(str, categories))


def _row(name: str, coefficient: dict) -> tuple:
    numbers = [shown(coefficient.get(key)) for key in ("value", "se", "low", "high")]
    return (name, *numbers, coefficient.get("reason") or "")
