"""Votes of the kinds of judgment without tiers, for the same statistics.

Scores are read one criterion at a time: what is judged is an answer, an item's candidate by its
number.
"""

from dataclasses import dataclass, replace

from django.db.models import Case, Count, F, QuerySet, TextField, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, Coalesce, Concat, NullIf

from annotation.agreement import ranking_votes, reading
from annotation.agreement.report import CONTENTS, agreement_report
from annotation.agreement.votes.table import VotesError, votes_from_columns
from annotation.judging.kinds import codes, config_of_task, kind_of
from annotation.questions.base import Measure
from annotation.studies.models import Study, TaskDefinition

# What is computed for each kind, of which labels; a change is a new version.
RULE = {"name": "agreement-by-kind", "version": "1"}


@dataclass(frozen=True)
class KindVotes(reading.StudyVotes):
    """A study's votes with the scale of their labels, a level of ``stats.LEVELS``."""

    level: str = "nominal"


def study_votes(slug: str, task: str = "") -> reading.StudyVotes:
    """The votes of a study's task of any kind; see ``reading.study_votes``.

    ``task`` may be ``NAME:QUESTION`` (or a criterion); without one, a study whose votes are all of
    these kinds has its first task with votes. Raises VotesError as that does, and where the
    question of a task with several is missing or unknown.
    """
    name, _, criterion = task.partition(":")
    name = name or _default(slug)
    study = Study.objects.filter(slug=slug, tasks__name=name).first() if name else None
    definition = study.tasks.filter(name=name).order_by("-version").first() if study else None
    if study is None or definition is None:
        return reading.study_votes(slug, task)
    kind = kind_of(definition.kind)
    if kind.COUNTED or kind.LEVEL == "none":
        return reading.study_votes(slug, task)
    return read(study, definition, criterion)


def _default(slug: str) -> str:
    """The first task of these kinds with votes, where no counted task of the study has any."""
    study = Study.objects.filter(slug=slug).first()
    if study is None or reading.voted_tasks(study):
        return ""
    return next((definition.name for definition in newest(study)), "")


def newest(study: Study, task: str = "", withdrawn: list[int] | None = None) -> list:
    """The newest definition that has votes, of each task of these kinds (of ``task`` alone)."""
    judged = reading.items(study, task, codes(COUNTED=False), withdrawn).filter(judged__gt=0)
    tasks = study.tasks.filter(pk__in=judged.order_by().values("batch__task"))
    return list(tasks.order_by("name", "-version").distinct("name"))


def basis(definition: TaskDefinition) -> list:
    """The values that a task's report depends on, apart from its judgments."""
    measures = [[each.name, each.level, each.labels] for each in measures_of(definition)]
    return [RULE, CONTENTS, definition.kind, measures]


def measures_of(definition: TaskDefinition) -> list[Measure]:
    """What people are compared on in a task: "" where an answer is one label."""
    return kind_of(definition.kind).measures(config_of_task(definition))


def report(study: Study, definition: TaskDefinition) -> dict:
    """Agreement on a task of one of these kinds, for storing.

    ``items``, ``votes`` (judgments) and ``workers``; with "level" and "rule" and what
    ``report.agreement_report`` has them; of several criteria or questions under "criteria" for each
    that was answered, with its own "level". Answers that are one person's own have no agreement.
    """
    kind, measures = kind_of(definition.kind), measures_of(definition)
    if not measures:
        return _counts(study, definition)
    head = {"level": kind.LEVEL, "rule": RULE}
    if not measures[0].name:
        return head | _counts(study, definition) | _part(study, definition, measures[0])
    there = answered(study, definition)
    parts = {
        # JSON's keys have no order: the place of each is kept.
        each.name: {"level": each.level, "place": place} | _part(study, definition, each)
        for place, each in enumerate(measures)
        if each.question in there
    }
    return head | _counts(study, definition) | {"criteria": parts}


def answered(study: Study, definition: TaskDefinition) -> set[str]:
    """The questions of a task that have answers."""
    rows = judgments(study, definition).order_by()
    return set(rows.values_list("answers__question", flat=True).distinct())


def _part(study: Study, definition: TaskDefinition, measure: Measure) -> dict:
    """The report of one measure."""
    if measure.level == "ranks":
        return ranking_votes.read(judgments(study, definition), measure.question).report
    votes = _votes(study, definition, measure)
    report = agreement_report(votes.votes, votes.level, votes.declared)
    cohen = report["cohen_kappa"]
    # As of selections: there can be very many pairs.
    report["cohen_kappa"] = {"mean": cohen["mean"], "pairs": len(cohen["pairs"])}
    return report if _numbered(measure) else report | {"classes": list(measure.labels)}


def _counts(study: Study, definition: TaskDefinition) -> dict:
    return judgments(study, definition).aggregate(
        items=Count("slot__item", distinct=True),
        votes=Count("pk"),
        workers=Count("annotator", distinct=True),
    )


def judgments(study: Study, definition: TaskDefinition) -> QuerySet:
    """The judgments of a task that count: of all its versions with the same scale."""
    counted = reading.judgments(study).filter(
        slot__item__batch__task__name=definition.name,
        slot__item__batch__task__kind=definition.kind,
    )
    if "points" in definition.config:
        # Places on another scale are not comparable.
        points = definition.config["points"]
        counted = counted.filter(slot__item__batch__task__config__points=points)
    if kind_of(definition.kind).SHAPE == "questions":
        # Nor are the classes of another version.
        measures = measures_of(definition)
        versions = study.tasks.filter(name=definition.name, kind=definition.kind)
        same = [task.pk for task in versions if measures_of(task) == measures]
        counted = counted.filter(slot__item__batch__task__in=same)
    return counted


def read(study: Study, definition: TaskDefinition, name: str = "") -> KindVotes:
    """The votes of ``definition`` and its other versions: of several measures those on ``name``."""
    measures = {each.name: each for each in measures_of(definition)}
    if not name and len(measures) == 1:
        name = next(iter(measures))
    if name not in measures:
        names = ", ".join(f"{definition.name}:{each}" for each in measures)
        raise VotesError(f"Answers are compared one question at a time: name one of {names}.")
    if measures[name].level == "ranks":
        raise VotesError("Rankings have no single labels: their agreement is on the results page.")
    return _votes(study, definition, measures[name])


def _votes(study: Study, definition: TaskDefinition, measure: Measure) -> KindVotes:
    """The votes on one measure; a class of an ordinal question is its place among the classes."""
    places = {} if _numbered(measure) else {n: str(k) for k, n in enumerate(measure.labels, 1)}
    columns = {name: [] for name in ("task", "worker", "label")}
    for unit, user, worker, label in _rows(study, definition, measure).iterator(chunk_size=20_000):
        columns["task"].append(unit)
        # As reading.read does: the number makes names distinct.
        columns["worker"].append(f"{reading.worker_name(user, worker)}\t{user}")
        columns["label"].append(places.get(label, label))
    if not columns["task"]:
        raise VotesError(f"Study “{study.slug}” has no votes in a task “{definition.name}”.")
    votes = votes_from_columns(columns)
    votes = replace(votes, workers=[key.rpartition("\t")[0] for key in votes.workers])
    return KindVotes(
        study=study,
        task=f"{definition.name}:{measure.name}" if measure.name else definition.name,
        declared=list(places.values()) or list(measure.labels),
        votes=votes,
        level=measure.level,
    )


def _numbered(measure: Measure) -> bool:
    """Whether its labels are words without an order, or numbers already."""
    return measure.level != "ordinal" or all(label.isdecimal() for label in measure.labels)


def _rows(study: Study, definition: TaskDefinition, measure: Measure) -> QuerySet:
    """(unit, annotator, worker, label) of each answer; a unit is an item or one of its options."""
    said = judgments(study, definition).filter(answers__question=measure.question)
    item, number = F("slot__item__external_id"), Cast("answers__option", TextField())
    unit = Case(
        When(answers__option=None, then=item),
        default=Concat(item, Value("/"), number, output_field=TextField()),
        output_field=TextField(),
    )
    label: Combinable = said_column()
    if measure.of_class:
        ticked = When(answers__chips__contains=[measure.of_class], then=Value("yes"))
        label = Case(ticked, default=Value("no"))
    rows = said.annotate(unit=unit, said=label).order_by("unit", "submitted_at", "pk")
    return rows.values_list("unit", "annotator_id", "annotator__worker", "said")


def said_column() -> Combinable:
    """The label, or the number as text, of ``answers`` of judgments."""
    return Coalesce(
        NullIf("answers__label", Value("")),
        Cast("answers__value", TextField()),
        Cast("answers__chips", TextField()),
        output_field=TextField(),
    )
