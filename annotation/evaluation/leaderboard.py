"""Who stands where on a benchmark: models x settings, with intervals, paired differences, ranks."""

from dataclasses import dataclass

import numpy as np
from django.core.cache import cache

from annotation.core import charts
from annotation.datasets.models import Release
from annotation.evaluation import bespoke, metrics, tables
from annotation.evaluation.models import Benchmark, Run
from annotation.evaluation.pairs import LAYOUT

CACHED_SECONDS = 24 * 3600
CHANCE = 50.0
DONE = Run.Status.DONE


@dataclass(frozen=True)
class Standing:
    """One model in one setting: its rank (ties share one), its run and how far the first is."""

    rank: int
    run: Run
    behind: metrics.Difference

    @property
    def name(self) -> str:
        return f"{self.run.model} ({self.run.setting})"


def standings(benchmark: Benchmark) -> list[Standing]:
    """The newest finished run of each model and setting on all it was asked, best first.

    Ranks and differences come from paired resamples of items; they are kept until there is a
    newer run.
    """
    runs = newest(benchmark)
    if not runs:
        return []
    key = f"standings:{benchmark.pk}:{':'.join(str(run.pk) for run in runs)}"
    computed = cache.get(key)
    if computed is None:
        computed = _compare(benchmark, runs)
        cache.set(key, computed, CACHED_SECONDS)
    rows = [Standing(rank, run, behind) for run, (rank, behind) in zip(runs, computed, strict=True)]
    return sorted(rows, key=lambda row: (row.rank, -(row.run.result["average"]["value"] or 0)))


def newest(benchmark: Benchmark) -> list[Run]:
    """The newest finished run of each model and setting, by average, best first."""
    done = benchmark.runs.filter(status=DONE).exclude(kind=Run.Kind.JUDGE)
    chosen = done.order_by("model", "setting", "-finished_at").distinct("model", "setting")
    return sorted(chosen, key=lambda run: (-(run.result["average"]["value"] or 0), run.pk))


def _compare(benchmark: Benchmark, runs: list[Run]) -> list[tuple]:
    item = np.array(benchmark.facts["item"])
    scores = np.full((len(runs), len(item)), np.nan)
    for row, run in enumerate(runs):
        scores[row, run.outcomes["place"]] = run.outcomes["score"]
    differences = metrics.differences(scores, item)
    return list(zip(metrics.ranks(differences), [row[0] for row in differences], strict=True))


def unfinished(benchmark: Benchmark) -> list[Run]:
    """Runs that are waiting, running or stopped, newest first."""
    return list(benchmark.runs.exclude(status=DONE).order_by("-created_at")[:20])


def of_release(release: Release) -> Benchmark | None:
    """The benchmark that the release is, where a model was measured on it."""
    return release.benchmarks.order_by("-pk").first()


def all_tables(benchmark: Benchmark) -> dict[str, tables.Table]:
    """{name of the export: table} of what there is."""
    if benchmark.layout != LAYOUT:
        results = [run.result for run in judge_runs(benchmark)]
        return {"judges": tables.judges(results, bespoke.CRITERIA)} if results else {}
    runs = newest(benchmark)
    if not runs:
        return {}
    results = [(run.group, run.result) for run in runs]
    shown = [(group, result) for group, result in results if result["setting"] == "persona"]
    return {
        **({"accuracy": tables.accuracies(shown)} if shown else {}),
        "settings": tables.settings(results),
    }


def judge_runs(benchmark: Benchmark) -> list[Run]:
    """The newest finished run of each judge and arm."""
    done = benchmark.runs.filter(status=DONE, kind=Run.Kind.JUDGE)
    return list(done.order_by("setting", "model", "-finished_at").distinct("setting", "model"))


def dots(rows: list[Standing]) -> list[charts.Dot]:
    cells = [(row.name, row.run.result["average"]) for row in rows]
    return [charts.Dot(name, cell["value"], cell["low"], cell["high"]) for name, cell in cells]


def standings_table(rows: list[Standing]) -> tables.Table:
    """The standings as numbers: rank, accuracy with interval, at equal length, distance, orders."""
    heads = [
        *("rank", "n", "accuracy", "low", "high", "equal length", "equal low", "equal high"),
        *("difference to the first", "difference low", "difference high"),
        *("position consistency", "unparsed"),
    ]
    lines = []
    for row in rows:
        result, behind = row.run.result, row.behind
        plain, equal = result["average"], result["length_controlled"]
        cells = [row.rank, result["n"], *(plain[k] for k in ("value", "low", "high"))]
        cells += [equal[k] for k in ("value", "low", "high")]
        cells += [behind.value, behind.low, behind.high]
        lines.append(
            tables.Row(
                row.run.group,
                row.name,
                [*cells, result["position_consistency"], result["unparsed"]],
            )
        )
    ranked = {"accuracy", "equal length", "position consistency"}
    return tables.Table("Standings", heads, lines, ranked=ranked)
