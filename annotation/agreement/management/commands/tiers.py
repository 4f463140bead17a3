"""Tiers of difficulty of a study's items or of a votes file."""

import argparse
import json
from typing import TYPE_CHECKING

from django.core.management.base import CommandParser

from annotation.agreement.management.commands.agreement import VotesCommand
from annotation.agreement.statistics.tiers import COEFFICIENTS
from annotation.agreement.tiers.rules import tiers_report
from annotation.core.commands import aligned_table, shown
from annotation.votes.table import Votes

if TYPE_CHECKING:
    from annotation.votes.stored import StudyVotes


def option_count(text: str) -> int:
    """A number of options, two or more."""
    if not text.isdecimal() or int(text) < 2:
        raise argparse.ArgumentTypeError("must be a whole number from 2 on")
    return int(text)


class Command(VotesCommand):
    help = "Tiers of difficulty from votes: of a study, or of a file of votes."
    timed = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--options",
            type=option_count,
            metavar="K",
            help="declared number of options (default: labels seen)",
        )

    def answer(self, votes: Votes, study: "StudyVotes | None", options: dict) -> str:
        """The report of these votes as JSON or as a table; a study's also has its easy tier."""
        most = options["options"] or (len(study.declared) if study else None)
        if most is None and len(votes.labels) > 20:
            self.stderr.write(
                f"{len(votes.labels):,} different labels were taken for the options of every task; "
                "--options K says how many each task has"
            )
        report = of_study(study, most) if study else tiers_report(votes, most)
        if options["json"]:
            return json.dumps(report, ensure_ascii=False, allow_nan=False)
        return readable(report)


def of_study(task_votes: "StudyVotes", options: int | None) -> dict:
    """The report of a study's task: items that still wait for votes are pending in it."""
    from annotation.agreement.tiers import collection

    task = task_votes.task.partition(":")[0]
    waiting = collection.collecting(task_votes.study, task)
    topped = collection.topped(task_votes.study, task)
    report = tiers_report(task_votes.votes, options, collecting=waiting, topped=topped)
    report["tiers"]["easy"] = collection.easy_tier(task_votes.study)
    return report


def readable(report: dict) -> str:
    """The tiers as a table for people; the items' own tiers are in the JSON."""
    rows: list[tuple] = [_row("all", report["all"])]
    for name, tier in report["tiers"].items():
        inside = {True: "yes", False: "no", None: "–"}[tier["in_band"]]
        band = "–" if tier["band"] is None else "{:g}–{:g}".format(*tier["band"])
        rows.append((*_row(name, tier), shown(tier.get("new_panel_kappa")), band, inside))
    rows[0] += ("", "", "")
    header = ("tier", "items", "votes", "agreement", "kappa", "raw Fleiss", "AC1", "alpha")
    more = ("new panel", "band", "in band")
    notes = [f"{n}: {tier['note']}" for n, tier in report["tiers"].items() if tier["note"]]
    rule = report["rule"]
    first = f"rule {rule['name']} {rule['version']}, {rule['options']} options"
    return "\n".join([first, "", aligned_table((*header, *more), rows), *notes])


def _row(name: str, group: dict) -> tuple:
    votes = group["votes_per_item"]
    several = "–" if votes["min"] is None else f"{votes['min']}/{votes['median']:g}/{votes['max']}"
    numbers = (shown(group[key]["value"]) for key in COEFFICIENTS)
    return (name, f"{group['items']:,}", several, *numbers)
