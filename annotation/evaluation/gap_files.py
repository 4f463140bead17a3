"""The gap report as files: measures of a stage, and its chart."""

from typing import Any

from django.utils.translation import gettext as _

from annotation.agreement.statistics.coefficient import Coefficient
from annotation.core import charts, downloads
from annotation.evaluation.stages import MODELS, PEOPLE


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
    for row in stage.get("mentions", ()):
        for name in ("with", "without", "effect"):
            rows.append((f"mention {name}", str(row["who"]), row[name], None, None, ""))
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
