import argparse
import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.core import learned
from annotation.evaluation import pairs, runs, tables, training
from annotation.evaluation.commands import RunCommand


def share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 0.9:
        raise argparse.ArgumentTypeError("write a share from 0 to 0.9")
    return value


class Command(RunCommand):
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
        defaults = training.Settings()
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
        if options["test"] or options["pairs"]:
            self._table(kind, release, out, options)
            return
        if options["base"] and kind != "reward":
            raise CommandError("Only reward models are fine-tuned: leave --base out.", returncode=2)
        if options["base"]:
            result = _fine_tuned(runs.opened(release), out, hold_out, options)
            self.stderr.write(f"Written to {out}, with its card {training.CARD}")
        else:
            if kind == "reward":
                model, card = training.reward(runs.opened(release), hold_out)
            else:
                model, card = training.train(kind, release, hold_out)
            learned.save_model(out, model, card)
            result = card["result"]
            self.stderr.write(f"Written to {out}, with its card {out.name}.md")
        self.stdout.write(json.dumps(result) if options["json"] else _words(result))

    def _table(self, kind: str, release: Path, out: Path, options: dict) -> None:
        """Table 6: the base model, one trained on other pairs, one on these and personalised ones.

        Persons of the test are left out.
        """
        if kind != "reward" or not (options["test"] and options["pairs"]):
            raise CommandError("--test and --pairs go together, with reward.", returncode=2)
        other = pairs.read_corpus(options["pairs"], options["min_gap"])
        joined, test = pairs.joined(other, runs.opened(release)), options["test"]
        out.mkdir(parents=True, exist_ok=True)
        measured = []
        if options["endpoint"]:
            wanted = runs.measured(test, options["endpoint"], "persona")
            base = self.carry_out(wanted)
            measured.append(tables.Measured("base", base.result, ""))
        for name, benchmark in {"pairs": other, "pairs-personalised": joined}.items():
            self.stderr.write(f"Training on {len(benchmark.pairs):,} pairs")
            path = out / name
            if options["base"]:
                batch = {"batch": options["batch"] * (1 if benchmark is other else 2)}
                _fine_tuned(benchmark, path, 0.0, options | batch)
            else:
                path = out / f"{name}.npz"
                learned.save_model(path, *training.reward(benchmark))
            tested = runs.opened(test)
            plan = training.rated(tested, path, "persona", None)
            run = runs.of_scores(test, plan, tested, model=name, setting="persona")
            left_out = run.result["left_out"]
            shown = f"without {left_out} pairs of persons of the training" if left_out else ""
            measured.append(tables.Measured(name, run.result, shown))
        table, results = tables.accuracies(measured), [row.result for row in measured]
        self.stdout.write(json.dumps(results) if options["json"] else tables.as_csv(table))


def _fine_tuned(benchmark: pairs.Benchmark, out: Path, hold_out: float, options: dict) -> dict:
    names = ("learning_rate", "batch", "epochs", "length")
    if not all(options[name] > 0 for name in names):
        raise CommandError("Learning rate, batch, epochs and length are above 0.", returncode=2)
    settings = training.Settings(**{name: options[name] for name in names})
    return training.fine_tune(benchmark, options["base"], out, hold_out, settings)["result"]


def _words(result: dict) -> str:
    if result["value"] is None:
        return "Nobody was held out: evaluate the model on other persons, or use --hold-out."
    lines = [
        f"{result['metric']} {result['value']:.3f} ({result['low']:.3f}–{result['high']:.3f}) on "
        f"{result['n']:,} rows in {result['folds']} folds by {result['by']}"
    ]
    lines += [f"{name}: {value:.3f}" for name, value in result["baselines"].items()]
    return "\n".join(lines)
