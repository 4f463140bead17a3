"""Votes of the kinds of judgment without tiers, for the same statistics.

Scores are read one criterion at a time: what is judged is an answer, an item's candidate by its
number.
"""

from dataclasses import dataclass, replace

from django.db.models import Count, F, QuerySet, TextField, Value
from django.db.models.functions import Cast, Concat

from annotation.agreement import ranking_votes, reading
from annotation.agreement.report import CONTENTS, agreement_report
from annotation.agreement.votes.table import VotesError, votes_from_columns
from annotation.judging.kinds import codes, config_of_task, kind_of, labelled
from annotation.studies.models import Study, TaskDefinition

# What is computed for each kind, of which labels; a change is a new version.
RULE = {"name": "agreement-by-kind", "version": "1"}


@dataclass(frozen=True)
class KindVotes(reading.StudyVotes):
    """A study's votes with the scale of their labels, a level of ``stats.LEVELS``."""

    level: str = "nominal"


def study_votes(slug: str, task: str = "") -> reading.StudyVotes:
    """The votes of a study's task of any kind; see ``reading.study_votes``.

    ``task`` may be ``NAME:CRITERION`` of a feedback task; without one, a study whose votes are all
    of these kinds has its first task with votes. Raises VotesError as that does, and where
    a feedback task's criterion is missing or unknown.
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
    config, kind = config_of_task(definition), kind_of(definition.kind)
    criteria = config["criteria"] if kind.SHAPE == "scores" else []
    return [RULE, CONTENTS, definition.kind, kind.labels(config), criteria]


def report(study: Study, definition: TaskDefinition) -> dict:
    """Agreement on a task of one of these kinds, for storing.

    ``items``, ``votes`` (judgments) and ``workers``; with "level" and "rule" and what
    ``report.agreement_report`` has them, of scores under "criteria" for each that was scored. Kinds
    whose answers are one person's own have no agreement.
    """
    kind = kind_of(definition.kind)
    if kind.LEVEL == "none":
        return _counts(study, definition)
    head = {"level": kind.LEVEL, "rule": RULE}
    if kind.SHAPE == "ranks":
        ranked = ranking_votes.read(judgments(study, definition))
        return head | _counts(study, definition) | ranked.report
    if kind.SHAPE == "label":
        return head | _report(read(study, definition))
    criteria = {name: _report(read(study, definition, name)) for name in scored(study, definition)}
    return head | _counts(study, definition) | {"criteria": criteria}


def scored(study: Study, definition: TaskDefinition) -> list[str]:
    """The criteria of a feedback task on which there are scores, in its order."""
    rows = kind_of(definition.kind).scores(judgments(study, definition))
    names = set(rows.order_by().values_list("criterion", flat=True).distinct())
    return [name for name in config_of_task(definition)["criteria"] if name in names]


def _report(votes: KindVotes) -> dict:
    report = agreement_report(votes.votes, votes.level, votes.declared)
    cohen = report["cohen_kappa"]
    # As of selections: there can be very many pairs.
    return report | {"cohen_kappa": {"mean": cohen["mean"], "pairs": len(cohen["pairs"])}}


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
    return counted


def read(study: Study, definition: TaskDefinition, criterion: str = "") -> KindVotes:
    """The votes of ``definition`` and its other versions; of scores, those on one criterion."""
    config, kind = config_of_task(definition), kind_of(definition.kind)
    if kind.SHAPE == "ranks":
        raise VotesError("Rankings have no single labels: their agreement is on the results page.")
    if kind.SHAPE == "scores" and not criterion and len(config["criteria"]) == 1:
        criterion = config["criteria"][0]
    if kind.SHAPE == "scores" and criterion not in config["criteria"]:
        names = ", ".join(f"{definition.name}:{name}" for name in config["criteria"])
        raise VotesError(f"Scores are compared one criterion at a time: name one of {names}.")
    rows = _scores(study, definition, criterion) if criterion else _labels(study, definition)
    columns = {name: [] for name in ("task", "worker", "label")}
    for item, user, worker, label in rows.iterator(chunk_size=20_000):
        columns["task"].append(item)
        # As reading.read does: the number makes names distinct.
        columns["worker"].append(f"{reading.worker_name(user, worker)}\t{user}")
        columns["label"].append(str(label))
    if not columns["task"]:
        raise VotesError(f"Study “{study.slug}” has no votes in a task “{definition.name}”.")
    votes = votes_from_columns(columns)
    votes = replace(votes, workers=[key.rpartition("\t")[0] for key in votes.workers])
    return KindVotes(
        study=study,
        task=f"{definition.name}:{criterion}" if criterion else definition.name,
        declared=kind.labels(config),
        votes=votes,
        level=kind.LEVEL,
    )


def _labels(study: Study, definition: TaskDefinition) -> QuerySet:
    rows = labelled(judgments(study, definition))
    return rows.order_by("slot__item__external_id", "submitted_at", "pk").values_list(
        "slot__item__external_id", "annotator_id", "annotator__worker", "label"
    )


def _scores(study: Study, definition: TaskDefinition, criterion: str) -> QuerySet:
    scores = kind_of(definition.kind).scores(judgments(study, definition))
    number, item = Cast("number", TextField()), F("slot__item__external_id")
    answer = Concat(item, Value("/"), number, output_field=TextField())
    rows = scores.filter(criterion=criterion).annotate(answer=answer).order_by("answer", "part")
    return rows.values_list("answer", "annotator_id", "annotator__worker", "score")
