"""How people and models judge the same items of a study, by the stages of papers' reports."""

import json
from dataclasses import asdict, is_dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _

from annotation.agreement.statistics.coefficient import Coefficient
from annotation.core import charts, downloads
from annotation.datasets import papers
from annotation.studies.models import Study, TaskDefinition

PEOPLE, MODELS = "people", "models"


def of_study(study: Study) -> list[dict]:
    """A report for each task of a stage that has votes, paper by paper."""
    reports = (paper.report for paper in papers.registered().values() if paper.report)
    return [stage for report in reports for stage in report.stages(study)]


def units_of(kind: str) -> Any:
    """What tells the items behind the report on tasks of ``kind``; None where there is none.

    Its ``Wanted`` is a dataclass of texts, the parameters of the address, with ``words()``; its
    ``units(study, task, wanted)`` are the items, or VotesError where nobody voted.
    """
    found = (p.units for p in papers.registered().values() if p.units and kind in p.kinds)
    return next(found, None)


def as_json(study: Study) -> str:
    """The stages as one JSON document."""
    document = {"study": study.slug, "stages": of_study(study)}
    return json.dumps(document, default=_plain, ensure_ascii=False)


def _plain(value: object) -> object:
    if isinstance(value, TaskDefinition):
        return value.name
    if isinstance(value, Promise):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(f"{type(value).__name__} has no JSON")


# --- A stage as files -----------------------------------------------------------------------------


def agreements(stage: dict) -> list[tuple[str, str, Coefficient]]:
    """(who with whom, ``who`` of its units, coefficient): people, models, model and person."""
    single = "kappa" if "spearman" in stage else "single"
    return [
        (_("Two people"), PEOPLE, stage["pairs"]),
        (_("Two models"), MODELS, stage["between_models"]),
        *(
            (_("%(model)s and a person") % model, model["model"], model[single])
            for model in stage["models"]
        ),
    ]


def chart(stage: dict) -> str:
    """Kappas with their intervals; "" where none is defined."""
    rows = [
        charts.Dot(who, kappa.value, kappa.low, kappa.high)
        for who, _of, kappa in agreements(stage)
        if kappa.value is not None
    ]
    if not rows:
        return ""
    title = _("Agreement of people and models")
    desc = _("Mean Cohen's kappa with 95 % intervals over items; the line is chance.")
    axes = (_("Cohen's kappa"), _("Who"))
    key = f"gap-{stage['task'].name}"
    return charts.dots((key, title, desc), rows, reference=0, axes=axes)


def measures(stage: dict) -> list[tuple]:
    """(measure, who, value, low, high, note) of all numbers of a stage."""
    rows = [("kappa", who, *_parts(kappa)) for who, _of, kappa in agreements(stage)]
    shares = [(PEOPLE, stage["people"]), *((m["model"], m["shares"]) for m in stage["models"])]
    for who, values in shares:
        for label, share in zip(stage["labels"], values, strict=True):
            rows.append((f"per cent {label}", who, share, None, None, ""))
    rows += [("judgments", PEOPLE, stage["n"], None, None, "")]
    for name in ("over_selection", "no_better", "mean_rating"):
        if name in stage:
            rows.append((name, PEOPLE, stage[name], None, None, ""))
        models = (model for model in stage["models"] if name in model)
        rows += [(name, model["model"], model[name], None, None, "") for model in models]
    for name in ("majority", "difference", "mean"):
        models = (model for model in stage["models"] if name in model)
        rows += [(name, model["model"], *_parts(model[name])) for model in models]
    if "spearman" in stage:
        rows.append(("spearman", PEOPLE, *_parts(stage["spearman"])))
    rows += [
        ("cause", str(row["words"]), row["share"], None, None, row["n"])
        for row in stage.get("causes", ())
    ]
    for measure, split in (("mention", "mentions"), ("change", "changes")):
        for row in stage.get(split, ()):
            for name in ("with", "without", "effect"):
                rows.append((f"{measure} {name}", str(row["who"]), row[name], None, None, ""))
    return rows


def _parts(result: Any) -> tuple:
    if isinstance(result, Coefficient):
        return result.value, result.low, result.high, ""
    return None, None, None, result.reason


def as_csv(stage: dict) -> str:
    """``measures`` as CSV, a line each."""
    head = ("task", "measure", "who", "value", "low", "high", "note")
    rows = ((stage["task"].name, *row) for row in measures(stage))
    return "".join(downloads.csv_lines([head, *rows]))
