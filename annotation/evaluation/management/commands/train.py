"""`manage.py train reward --release DIR --out FILE`"""

import argparse
import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.candidates import endpoints
from annotation.core import learned
from annotation.core.commands import RefusingCommand
from annotation.core.rows import bar
from annotation.evaluation import corpora, fine_tuning, measuring, pairs, runs, tables, training


def share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 0.9:
        raise argparse.ArgumentTypeError("write a share from 0 to 0.9")
    return value


class Command(RefusingCommand):
    help = (
        "Train a reward model on the pairs of a release, or a verifier of attributes or a matcher "
        "of attributes and prompts on a release with what people said of these; print how "
        "good it is, cross-validated by person, beside its baselines."
    )

    def add_arguments(self, parser: CommandParser) -> None:
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
        parser.add_argument(
            "--base",
            metavar="MODEL",
            help="of reward: fine-tune this model (a name on the Hub, or a folder) with "
            "transformers and trl (extra train); --out is a folder then",
        )
        defaults = fine_tuning.Settings()
        parser.add_argument("--learning-rate", type=float, default=defaults.learning_rate)
        parser.add_argument("--batch", type=int, default=defaults.batch, metavar="PAIRS")
        parser.add_argument("--epochs", type=float, default=defaults.epochs)
        parser.add_argument("--length", type=int, default=defaults.length, metavar="TOKENS")
        parser.add_argument(
            "--test",
            metavar="DIR",
            type=Path,
            help="of reward: print the accuracy on this release of a model trained on --pairs and "
            "of one trained on these and --release; --out is a folder then",
        )
        parser.add_argument(
            "--pairs", metavar="FILE", type=Path, help="pairs of another corpus, such as HelpSteer2"
        )
        parser.add_argument("--min-gap", type=float, default=2, metavar="N", help="of --pairs")
        parser.add_argument("--endpoint", metavar="NAME", help="with --test: the base model's")
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(
        self, *args: Any, kind: str, release: Path, out: Path, hold_out: float, **options: Any
    ) -> None:
        """Train, save with a card, print the result."""
        if options["test"] or options["pairs"]:
            self._table(kind, release, out, options)
            return
        source: Any = runs.opened(release) if kind == "reward" else release
        if options["base"]:
            result = _fine_tuned(kind, source, out, hold_out, options)
            self.stderr.write(f"Written to {out}, with its card {fine_tuning.CARD}")
        else:
            trained = getattr(training, kind)(source, hold_out)
            learned.save(out, trained.model, trained.card)
            result = trained.card["result"]
            self.stderr.write(f"Written to {out}, with its card {out.name}.md")
        self.stdout.write(json.dumps(result) if options["json"] else _words(result))

    def _table(self, kind: str, release: Path, out: Path, options: dict) -> None:
        if kind != "reward" or not (options["test"] and options["pairs"]):
            raise CommandError("--test and --pairs go together, with reward.", returncode=2)
        other = corpora.read(options["pairs"], options["min_gap"])
        personal, test = runs.opened(release), options["test"]
        base = None
        if options["endpoint"]:
            base = measuring.asked(test, endpoints.get(options["endpoint"]), "persona", bar)
            if base.status != base.Status.DONE:
                raise CommandError(runs.unfinished(base))

        def make(pairs: pairs.Benchmark, path: Path, is_joined: bool) -> None:
            self.stderr.write(f"Training on {len(pairs.pairs):,} pairs")
            if options["base"]:
                batch = {"batch": options["batch"] * (2 if is_joined else 1)}
                _fine_tuned(kind, pairs, path, 0.0, options | batch)
            else:
                trained = training.reward(pairs)
                learned.save(path.with_suffix(".npz"), trained.model, trained.card)

        table, results = measuring.reward_table(test, other, personal, out, make, base)
        self.stdout.write(json.dumps(results) if options["json"] else tables.as_csv(table))


def _fine_tuned(
    kind: str, benchmark: pairs.Benchmark, out: Path, hold_out: float, options: dict
) -> dict:
    if kind != "reward":
        raise CommandError("Only reward models are fine-tuned: leave --base out.", returncode=2)
    names = ("learning_rate", "batch", "epochs", "length")
    if not all(options[name] > 0 for name in names):
        raise CommandError("Learning rate, batch, epochs and length are above 0.", returncode=2)
    settings = fine_tuning.Settings(**{name: options[name] for name in names})
    return fine_tuning.fine_tune(benchmark, options["base"], out, hold_out, settings)["result"]


def _words(result: dict) -> str:
    if result["value"] is None:
        return "Nobody was held out: evaluate the model on other persons, or use --hold-out."
    lines = [
        f"{result['metric']} {result['value']:.3f} ({result['low']:.3f}–{result['high']:.3f}) on "
        f"{result['n']:,} rows in {result['folds']} folds by {result['by']}"
    ]
    lines += [f"{name}: {value:.3f}" for name, value in result["baselines"].items()]
    return "\n".join(lines)
