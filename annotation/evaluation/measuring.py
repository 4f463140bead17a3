"""Models measured on a release's folder by who holds it: as commands do, in this process."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from annotation.candidates.endpoints import Endpoint
from annotation.core import learned
from annotation.core.rows import silent
from annotation.evaluation import corpora, fine_tuning, pairs, runs, scores_file, tables, training
from annotation.evaluation.models import Run

Trainer = Callable[[pairs.Benchmark, Path, bool], object]


def _request(benchmark: pairs.Benchmark, release: Path, kind: str, fields: dict) -> Run:
    folder: dict = {"folder": str(release.resolve())}
    return runs.request(runs.register(benchmark, release), kind, start=True, **(folder | fields))


def scored(release: Path, scores: Path, **fields: Any) -> Run:
    """A run of the answers' scores in a file; ``fields`` are those of Run. Raises DomainError."""
    benchmark, values = runs.opened(release), scores_file.read(scores)
    run = _request(benchmark, release, Run.Kind.SCORES, {"model": scores.stem[:200]} | fields)
    return runs.score_run(run, benchmark, values)


def trained(release: Path, model: Path, *, setting: str, limit: int | None, **fields: Any) -> Run:
    """A run of a model that `train reward` made, on the persons that it has not seen."""
    benchmark = runs.opened(release)
    if model.is_dir():
        rate, card = fine_tuning.load(model)
    else:
        fitted, card = learned.load(model, "reward")
        rate = partial(training.rewards, fitted)
    plan = runs.Learned(benchmark, rate, card, setting, limit)
    fields = {"model": model.stem[:200], "setting": setting, "limit": limit} | fields
    return runs.learned_run(_request(benchmark, release, Run.Kind.LEARNED, fields), plan)


def asked(release: Path, server: Endpoint, setting: str, progress: Callable = silent) -> Run:
    """A run of a server's model that chooses; it may stop (``runs.work``)."""
    benchmark = runs.opened(release)
    plan = runs.Choices(benchmark, setting, None)
    calls = runs.estimate(plan, server)["calls"]
    fields = runs.fields_of(server, setting, None, release.resolve(), calls)
    run = _request(benchmark, release, Run.Kind.CHOICE, fields)
    return runs.work(run, plan, progress=progress)


def reward_table(
    test: Path,
    other: pairs.Benchmark,
    personal: pairs.Benchmark,
    out: Path,
    train: Trainer,
    base: Run | None = None,
) -> tuple[tables.Table, list[dict]]:
    """Table 6: the ``base`` model, one trained on ``other`` pairs, one on these and ``personal``.

    ``train(pairs, path, is_joined)`` makes a model at a path in the folder ``out``. Persons of the
    test are left out as in ``trained``. The table, and the results of its rows.
    """
    out.mkdir(parents=True, exist_ok=True)
    measured = [tables.Measured("base", base.result, "")] if base else []
    sets = {"pairs": other, "pairs-personalised": corpora.joined(other, personal)}
    for name, benchmark in sets.items():
        train(benchmark, out / name, benchmark is not other)
        path = out / name if (out / name).is_dir() else out / f"{name}.npz"
        run = trained(test, path, setting="persona", limit=None)
        left_out = run.result["left_out"]
        shown = f"without {left_out} pairs of persons of the training" if left_out else ""
        measured.append(tables.Measured(name, run.result, shown))
    return tables.accuracies(measured), [row.result for row in measured]
