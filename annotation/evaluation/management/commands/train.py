"""`manage.py train reward --release DIR --out FILE`"""

import argparse
import json
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from annotation.core.errors import DomainError
from annotation.evaluation import learned, runs, training


def share(text: str) -> float:
    """A share of persons, 0 to 0.9."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 0.9:
        raise argparse.ArgumentTypeError("write a share from 0 to 0.9")
    return value


class Command(BaseCommand):
    """Train a judge on a release, without a GPU."""

    help = (
        "Train a reward model on the pairs of a personafeedback release, or a verifier of "
        "attributes or a matcher of attributes and prompts on a personalbench release; print how "
        "good it is, cross-validated by person, beside its baselines."
    )

    def add_arguments(self, parser):
        """What to train, --release, --out and the rest."""
        parser.add_argument("kind", choices=learned.KINDS)
        parser.add_argument("--release", metavar="DIR", type=Path, required=True)
        parser.add_argument("--out", metavar="FILE", type=Path, required=True)
        parser.add_argument(
            "--hold-out",
            type=share,
            default=0.0,
            metavar="SHARE",
            help="share of persons that the saved model does not see, to be evaluated on them",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *args, kind, release, out, hold_out, **options):
        """Train, save with a card, print the result."""
        try:
            source = runs.opened(release) if kind == "reward" else release
            trained = getattr(training, kind)(source, hold_out)
            learned.save(out, trained.model, trained.card)
        except DomainError as refusal:
            raise CommandError(refusal.sentence) from refusal
        result = trained.card["result"]
        self.stderr.write(f"Written to {out}, with its card {out.name}.md")
        self.stdout.write(json.dumps(result) if options["json"] else _words(result))


def _words(result: dict) -> str:
    lines = [
        f"{result['metric']} {result['value']:.3f} ({result['low']:.3f}–{result['high']:.3f}) on "
        f"{result['n']:,} rows in {result['folds']} folds by person"
    ]
    lines += [f"{name}: {value:.3f}" for name, value in result["baselines"].items()]
    return "\n".join(lines)
