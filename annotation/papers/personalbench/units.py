"""The items behind each number of the gap report."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from annotation.evaluation.stages import MODELS, PEOPLE
from annotation.judging.kinds.presets import CAUSES
from annotation.judging.models import Item
from annotation.papers.personalbench import report
from annotation.studies.models import Study, TaskDefinition

DIFFER, NO_BETTER = "differ", "no-better"


@dataclass(frozen=True)
class Wanted:
    """Which items: those to which ``who`` (PEOPLE or a model; "" both) gave ``label`` ("" any).

    ``show`` DIFFER are those on which PEOPLE, MODELS, or a model and a person say something else,
    as the report's kappas count it; NO_BETTER those with a rating of ``who`` by which the
    personalised answer is no better than the generic one. ``cause`` was named of an attribute, and
    ``mention`` ("yes", "no") says whether the personalised answer mentions the attribute outright.
    """

    who: str = ""
    label: str = ""
    show: str = ""
    cause: str = ""
    mention: str = ""

    def words(self) -> str:
        """What the items have in common; "" of all items."""
        texts = {
            (DIFFER, PEOPLE): _("people do not agree"),
            (DIFFER, MODELS): _("models do not agree"),
        }
        if words := texts.get((self.show, self.who)):
            return words
        if self.show == DIFFER:
            return _("%(model)s and a person do not agree") % {"model": self.who}
        if self.label and self.who == PEOPLE:
            return _("people said “%(label)s”") % {"label": _(self.label)}
        if self.label and self.who:
            return _("%(who)s said “%(label)s”") % {"who": self.who, "label": _(self.label)}
        who = "" if self.who == PEOPLE else self.who
        return ": ".join(part for part in (who, self.label, self._property()) if part)

    def _property(self) -> str:
        if self.show == NO_BETTER:
            return _("the personalised answer is no better")
        if self.cause:
            return str(CAUSES.get(self.cause, self.cause))
        if self.mention == "yes":
            return _("the answer mentions the attribute outright")
        return _("the answer does not mention the attribute outright") if self.mention else ""


def units(study: Study, task: TaskDefinition, wanted: Wanted) -> list[dict]:
    """The items of ``wanted``: ``{"pk", "name", "people": [(label, votes)], "models": [(model,
    label)]}`` in their order. Ratings count towards the personalised answer, as in the report.
    """
    people, verdicts, labels = report.material(study, task)
    named, every = _named(study, task, wanted), _all(study, task, people, verdicts, labels)
    shown = [
        unit
        for unit in every
        if (named is None or unit["name"] in named) and _fits(unit, wanted, labels, task.kind)
    ]
    for unit in shown:
        unit["people"] = sorted(unit["people"].items(), key=lambda pair: labels.index(pair[0]))
        unit["models"] = sorted(unit["models"].items())
    return shown


def _all(
    study: Study,
    task: TaskDefinition,
    people: "report._People",
    verdicts: dict,
    labels: Sequence[str],
) -> list[dict]:
    """Every item that people judged: votes {label: number}, and models' {model: label}."""
    votes: dict[str, dict[str, int]] = {name: {} for name in people.names}
    for item, code in zip(people.votes.item, people.votes.code, strict=True):
        counted = votes[people.names[item]]
        counted[labels[code]] = counted.get(labels[code], 0) + 1
    rows = Item.objects.filter(study=study, batch__task__name=task.name).order_by("position")
    return [
        {
            "pk": pk,
            "name": name,
            "people": votes[name],
            "models": {model: of[name] for model, of in verdicts.items() if name in of},
        }
        for pk, name in rows.values_list("pk", "external_id")
        if name in votes
    ]


def _named(study: Study, task: TaskDefinition, wanted: Wanted) -> set[str] | None:
    """The items of a cause or with a mention; None where neither is asked for."""
    if wanted.cause:
        rows = report.with_causes(study, task).filter(cause=wanted.cause)
        return set(rows.values_list("slot__item__external_id", flat=True))
    if wanted.mention:
        mentions = report.mentions_of(study, task).items()
        return {name for name, outright in mentions if outright == (wanted.mention == "yes")}
    return None


def _fits(unit: dict, wanted: Wanted, labels: Sequence[str], kind: str) -> bool:
    ratings = kind == "preference"
    if wanted.show == DIFFER:
        classes = report.sides_of(len(labels)) if ratings else report.classes(labels)
        return _differ(unit, wanted.who, dict(zip(labels, classes.tolist(), strict=True)))
    if wanted.show == NO_BETTER:
        return ratings and _no_better(unit, wanted.who, labels)
    if wanted.who in ("", PEOPLE):
        return wanted.label in unit["people"] or not wanted.label
    return unit["models"].get(wanted.who) in ((wanted.label,) if wanted.label else labels)


def _differ(unit: dict, who: str, class_of: dict[str, int]) -> bool:
    people = {class_of[label] for label in unit["people"]}
    models = {model: class_of[label] for model, label in unit["models"].items()}
    if who in (PEOPLE, MODELS):
        return len(people if who == PEOPLE else set(models.values())) > 1
    return who in models and people != {models[who]}


def _no_better(unit: dict, who: str, labels: Sequence[str]) -> bool:
    """Whether a rating is in the middle of the scale or towards the generic answer."""
    ratings = set(unit["people"])
    if who not in ("", PEOPLE):
        ratings = {label for model, label in unit["models"].items() if model == who}
    return any(2 * labels.index(label) <= len(labels) - 1 for label in ratings)
