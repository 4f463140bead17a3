"""Agreement coefficients of a study's votes or of a votes file."""

import argparse
import json
import math
from typing import TYPE_CHECKING

from django.core.management.base import CommandError, CommandParser

from annotation.agreement.command_options import VotesCommand, aligned_table, shown
from annotation.agreement.report import RESAMPLES, agreement_report
from annotation.agreement.statistics.kappas import LEVELS
from annotation.votes.table import Votes, number

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
        f"categories: {', '.join(str(name) for name in report['categories'])}\n"
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


def _row(name: str, coefficient: dict) -> tuple:
    numbers = [shown(coefficient.get(key)) for key in ("value", "se", "low", "high")]
    return (name, *numbers, coefficient.get("reason") or "")
