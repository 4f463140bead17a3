"""Who stands where on a benchmark: models x settings, with intervals, paired differences, ranks."""

from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np
from django.core.cache import cache
from django.db.models import Count, Max, QuerySet
from django.utils.translation import gettext as _

from annotation.candidates.models import AspectScore
from annotation.core import charts
from annotation.datasets import folders
from annotation.datasets.models import Release
from annotation.evaluation import judges, metrics, pairs, tables
from annotation.evaluation.models import Benchmark, Run

CACHED_SECONDS = 24 * 3600
CHANCE = 50.0
KEYS = ("value", "low", "high")
DONE = Run.Status.DONE
# Runs that score answers, not pairs.
JUDGED = (Run.Kind.JUDGE, Run.Kind.SYSTEM)


@dataclass(frozen=True)
class Standing:
    """One model in one setting: its rank (ties share one), its run and how far the first is.

    A run on other pairs than the first has no rank; how far it is behind is of common pairs.
    """

    rank: int | None
    run: Run
    behind: metrics.Accuracy
    measured_on: str

    @property
    def name(self) -> str:
        return f"{self.run.model} ({self.run.setting})"

    @property
    def sees(self) -> str:
        """What the model was shown of the person, in words."""
        return str(pairs.SETTINGS[self.run.setting])


def standings(benchmark: Benchmark) -> list[Standing]:
    """The newest finished run of each model and setting on all it was asked, best first, those on
    other pairs than most last.

    Ranks and differences come from paired resamples of items; they are kept until there is a
    newer run.
    """
    runs = newest(benchmark)
    if not runs:
        return []
    key = f"standings/3:{benchmark.pk}:{':'.join(str(run.pk) for run in runs)}"
    names = measured_on(benchmark, runs)
    computed = cache.get(key)
    if computed is None:
        computed = _compare(benchmark, runs, names.count(names[0]))
        cache.set(key, computed, CACHED_SECONDS)
    rows = [Standing(rank, run, behind, name) for run, (rank, behind), name in
            zip(runs, computed, names, strict=True)]  # fmt: skip
    # Runs on other pairs come last as they are; a stable order keeps the better of a rank first.
    return sorted(rows, key=lambda row: row.rank or len(rows) + 1)


def newest(benchmark: Benchmark) -> list[Run]:
    """The newest finished run of each model and setting: those on the same pairs together, those
    on most pairs first, and by average, best first.
    """
    done = benchmark.runs.filter(status=DONE).exclude(kind__in=JUDGED)
    chosen = list(done.order_by("model", "setting", "-finished_at").distinct("model", "setting"))
    runs_of = Counter(_places(run) for run in chosen)

    def key(run: Run) -> tuple:
        places = _places(run)
        average = run.result["average"]["value"] or 0
        return -len(places), -runs_of[places], places, -average, run.pk

    return sorted(chosen, key=key)


def _places(run: Run) -> tuple[int, ...]:
    return tuple(run.outcomes["place"])


def measured_on(benchmark: Benchmark, runs: list[Run]) -> list[str]:
    """Of each run a name of the pairs it was measured on, such as "43 of 174"; others' differ."""
    whole = len(benchmark.facts["item"])
    return tables.names_of([(_places(run), f"{len(_places(run))} of {whole}") for run in runs])


def _compare(benchmark: Benchmark, runs: list[Run], like: int) -> list[tuple]:
    """(rank, difference to the first) of each run; those after the first ``like`` have no rank."""
    item = np.array(benchmark.facts["item"])
    scores = np.full((len(runs), len(item)), np.nan)
    for row, run in enumerate(runs):
        scores[row, run.outcomes["place"]] = run.outcomes["score"]
    differences = metrics.differences(scores, item)
    ranks = metrics.ranks([row[:like] for row in differences[:like]])
    padded = [*ranks, *[None] * (len(runs) - like)]
    return list(zip(padded, [row[0] for row in differences], strict=True))


def of_release(release: Release) -> Benchmark | None:
    """The benchmark that the release is, where a model was measured on it."""
    return release.benchmarks.order_by("-pk").first()


def all_tables(benchmark: Benchmark) -> dict[str, tables.Table]:
    """{name of the export: table} of what there is."""
    if judge := judges.of_layout(benchmark.layout):
        results = _judged(benchmark, Run.Kind.JUDGE, "setting", "model")
        systems = _judged(benchmark, Run.Kind.SYSTEM, "setting", "model", "system", "context")
        made = {"systems": judge.systems(systems, results)} if systems else {}
        return made | ({"judges": judge.table(results)} if results else {})
    runs = newest(benchmark)
    if not runs:
        return {}
    measured = [tables.Measured(run.group, run.result, name) for run, name in
                zip(runs, measured_on(benchmark, runs), strict=True)]  # fmt: skip
    shown = [run for run in measured if run.result["setting"] == "persona"]
    return {
        **({"accuracy": tables.accuracies(shown)} if shown else {}),
        "settings": tables.settings(measured),
    }


def _judged(benchmark: Benchmark, kind: str, *names: str) -> list[dict]:
    """The results of the newest finished runs with the same fields ``one``."""
    done = benchmark.runs.filter(status=DONE, kind=kind)
    return [run.result for run in done.order_by(*names, "-finished_at").distinct(*names)]


def exported(benchmark: Benchmark | None, name: str, ending: str, more: dict) -> str | None:
    """A table as ``tables.export`` makes it, the standings as SVG, too; None where there is none.

    ``more`` are further tables by their names.
    """
    rows = standings(benchmark) if benchmark else []
    if ending == "svg":
        title, desc = f"{benchmark}: accuracy", "Per cent of pairs with 95 % intervals"
        shown = rows and name == "standings"
        return charts.svg(chart(rows, title, desc), f"{title}. {desc}.") if shown else None
    made = (all_tables(benchmark) if benchmark else {}) | more
    if rows:
        made["standings"] = standings_table(rows)
    return tables.export(made[name], ending) if name in made else None


def chart(rows: list[Standing], title: str, desc: str) -> str:
    """Each standing's accuracy; the name of one on other pairs than the first says on which."""
    dots = []
    for row in rows:
        name = row.name if row.rank else f"{row.name}, {row.measured_on}"
        dots.append(charts.Dot(name, *(row.run.result["average"][k] for k in KEYS)))
    head, axes = ("standings", title, desc), (_("Accuracy (%)"), _("Model"))
    return charts.dots(head, dots, reference=CHANCE, axes=axes)


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
        cells = [
            *(row.rank, result["n"], *(plain[k] for k in KEYS), *(equal[k] for k in KEYS)),
            *(behind.value, behind.low, behind.high),
            *(result["position_consistency"], result["unparsed"]),
        ]
        lines.append(tables.Row(row.run.group, row.name, cells, row.measured_on))
    ranked = {"accuracy", "equal length", "position consistency"}
    return tables.Table("Standings", heads, lines, ranked=ranked)


def aspect_tables(release: Release) -> dict[str, tables.Table]:
    """Table 4 ("aspects") and Figure 4 ("correlations") of a finished release of pairs.

    From the scores that were imported for the study's answers; {} where no answer of the release
    has any. They are kept until there are further scores.
    """
    if not pairs.settings(release.layout) or release.status != Release.Status.DONE:
        return {}
    rows = AspectScore.objects.filter(candidate__study=release.study_id)
    state = rows.aggregate(n=Count("pk"), last=Max("pk"))
    if not state["n"]:
        return {}
    key = f"aspects/2:{release.pk}:{state['n']}:{state['last']}"
    if (made := cache.get(key)) is None:
        made = _of_aspects(release, rows)
        cache.set(key, made, CACHED_SECONDS)
    return made


def _of_aspects(release: Release, rows: QuerySet) -> dict[str, tables.Table]:
    asked = pairs.read_pairs(folders.present(release)).pairs
    shown = {name for pair in asked for name in (pair.chosen_id, pair.reject_id)}
    scores: dict[str, dict[str, float]] = defaultdict(dict)
    several = rows.values("aspect").annotate(n=Count("source", distinct=True)).filter(n__gt=1)
    shared = set(several.values_list("aspect", flat=True))
    columns = ("candidate__external_id", "aspect", "source", "score")
    ordered = rows.order_by("aspect", "source").values_list(*columns)
    for answer, aspect, source, score in ordered.iterator(chunk_size=10_000):
        if answer in shown:
            # Two judges' scores of one aspect are two columns.
            scores[f"{aspect} ({source})" if aspect in shared else aspect][answer] = score
    if not scores:
        return {}
    return {
        "aspects": tables.aspects(asked, scores),
        "correlations": tables.correlations(asked, scores),
    }
