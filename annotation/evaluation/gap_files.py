"""The gap report as files and lists: measures of a stage, its chart, and the units behind it."""

import csv
import io

from django.utils.translation import gettext as _

from annotation.agreement.statistics.coefficient import Coefficient
from annotation.core import charts
from annotation.core.cells import disarmed
from annotation.evaluation import report
from annotation.judging.models import Item

PEOPLE = "people"


def agreements(stage: dict) -> list[tuple[str, object]]:
    """(who with whom, coefficient): two people, two models, each model with one person."""
    single = "kappa" if "spearman" in stage else "single"
    return [
        (_("Two people"), stage["pairs"]),
        (_("Two models"), stage["between_models"]),
        *((_("%(model)s and a person") % model, model[single]) for model in stage["models"]),
    ]


def chart(stage: dict):
    """Kappas with their intervals; "" where none is defined."""
    rows = [
        charts.Dot(who, kappa.value, kappa.low, kappa.high)
        for who, kappa in agreements(stage)
        if kappa.value is not None
    ]
    if not rows:
        return ""
    title = _("Agreement of people and models")
    desc = _("Mean Cohen's kappa with 95 % intervals over items; the line is chance.")
    axes = (_("Cohen's kappa"), _("Who"))
    key = f"gap-{stage['task'].name}"
    return charts.dots(key, title, desc, rows, reference=0, axes=axes)


def measures(stage: dict) -> list[tuple]:
    """(measure, who, value, low, high, note) of all numbers of a stage."""
    rows = [("kappa", who, *_parts(kappa)) for who, kappa in agreements(stage)]
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
        ("cause", str(words), share, None, None, n) for words, n, share in stage.get("causes", ())
    ]
    for row in stage.get("mentions", ()):
        for name in ("with", "without", "effect"):
            rows.append((f"mention {name}", str(row["who"]), row[name], None, None, ""))
    return rows


def _parts(result) -> tuple:
    if isinstance(result, Coefficient):
        return result.value, result.low, result.high, ""
    return None, None, None, result.reason


def as_csv(stage: dict) -> str:
    """``measures`` as CSV, a line each."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(("task", "measure", "who", "value", "low", "high", "note"))
    for row in measures(stage):
        cells = (stage["task"].name, *row)
        writer.writerow([disarmed(cell) if isinstance(cell, str) else cell for cell in cells])
    return text.getvalue()


def units(study, task, who: str, label: str) -> list[dict]:
    """The items that ``who`` (PEOPLE or a model) gave ``label``; "" is any, both of all items.

    ``{"item", "people": [(label, votes)], "models": [(model, label)]}``, in the order of the items.
    Ratings count towards the personalised answer, as in the report.
    """
    people, verdicts, labels = report.material(study, task)
    votes: dict[str, dict[str, int]] = {name: {} for name in people.names}
    for item, code in zip(people.votes.item, people.votes.code, strict=True):
        counted = votes[people.names[item]]
        counted[labels[code]] = counted.get(labels[code], 0) + 1
    rows = Item.objects.filter(study=study, batch__task__name=task.name).order_by("position")
    units = []
    for pk, name in rows.values_list("pk", "external_id"):
        models = {model: label_of[name] for model, label_of in verdicts.items() if name in label_of}
        chosen = votes.get(name, {}) if who in ("", PEOPLE) else dict.fromkeys([models.get(who)])
        if name in votes and (label in chosen if label else who in ("", PEOPLE) or who in models):
            counts = sorted(votes[name].items(), key=lambda pair: labels.index(pair[0]))
            rows_of_unit = {"people": counts, "models": sorted(models.items())}
            units.append({"pk": pk, "name": name} | rows_of_unit)
    return units
