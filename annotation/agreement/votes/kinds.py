"""Votes of the kinds of judgment besides selections, for the same statistics.

A preference is a number of its scale, an attribute's and a relevance's verdict a word. Scores are
read one criterion at a time: what is judged is an answer, an item's candidate by its number.
"""

from dataclasses import dataclass, replace

from django.db.models import Count, F, TextField, Value
from django.db.models.functions import Cast, Concat

from annotation.agreement import reading
from annotation.agreement.report import CONTENTS, agreement_report
from annotation.agreement.votes.table import VotesError, votes_from_columns
from annotation.judging.kinds import attribute, config_of
from annotation.judging.models import Judgment, Score
from annotation.studies.models import Study

SCORES = [str(n) for n in range(1, 6)]
# Where each kind keeps the label, and on which scale it is.
LABEL = {
    "preference": "preference__value",
    "attribute": "attributeverdict__verdict",
    "relevance": "relevance__relevant",
}
LEVEL = {"preference": "ordinal", "feedback": "ordinal"}
# What is computed for each kind, of which labels; a change is a new version.
RULE = {"name": "agreement-by-kind", "version": "1"}


@dataclass(frozen=True)
class KindVotes(reading.StudyVotes):
    """A study's votes with the scale of their labels, a level of ``stats.LEVELS``."""

    level: str = "nominal"


def study_votes(slug: str, task: str = "") -> reading.StudyVotes:
    """The votes of a study's task of any kind; see ``reading.study_votes``.

    ``task`` may be ``NAME:CRITERION`` of a feedback task. Raises VotesError as that does, and where
    a feedback task's criterion is missing or unknown.
    """
    name, _, criterion = task.partition(":")
    found = Study.objects.filter(slug=slug, tasks__name=name).first() if name else None
    definition = found and found.tasks.filter(name=name).order_by("-version").first()
    if definition is None or definition.kind not in (*LABEL, "feedback"):
        return reading.study_votes(slug, task)
    return read(found, definition, criterion)


def newest(study, task: str = "") -> list:
    """The newest definition that has votes, of each task of these kinds (of ``task`` alone)."""
    judged = reading.items(study, task, kind="").filter(given__gt=0)
    found = study.tasks.filter(pk__in=judged.values("batch__task")).exclude(kind="selection")
    return list(found.order_by("name", "-version").distinct("name"))


def basis(definition) -> list:
    """What the report of a task depends on besides its judgments."""
    config = config_of(definition.kind, definition.config)
    criteria = config["criteria"] if definition.kind == "feedback" else []
    return [RULE, CONTENTS, definition.kind, declared(definition.kind, config), criteria]


def report(study, definition) -> dict:
    """Agreement on a task of one of these kinds, for storing.

    ``items``, ``votes`` (judgments) and ``workers``; with "level" and "rule" and what
    ``report.agreement_report`` says, of feedback under "criteria" for each that was scored. Claims
    are one person's own: no agreement.
    """
    if definition.kind == "claims":
        return _counts(study, definition)
    known = {"level": LEVEL.get(definition.kind, "nominal"), "rule": RULE}
    if definition.kind != "feedback":
        return known | _report(read(study, definition))
    criteria = {name: _report(read(study, definition, name)) for name in scored(study, definition)}
    return known | _counts(study, definition) | {"criteria": criteria}


def scored(study, definition) -> list[str]:
    """The criteria of a feedback task on which there are scores, in its order."""
    given = Score.objects.filter(feedback__in=judgments(study, definition))
    names = set(given.values_list("criterion", flat=True).distinct())
    criteria = config_of("feedback", definition.config)["criteria"]
    return [name for name in criteria if name in names]


def _report(votes: KindVotes) -> dict:
    found = agreement_report(votes.votes, votes.level, votes.declared)
    cohen = found["cohen_kappa"]
    # As of selections: there can be very many pairs.
    return found | {"cohen_kappa": {"mean": cohen["mean"], "pairs": len(cohen["pairs"])}}


def _counts(study, definition) -> dict:
    return judgments(study, definition).aggregate(
        items=Count("slot__item", distinct=True),
        votes=Count("pk"),
        workers=Count("annotator", distinct=True),
    )


def judgments(study, definition):
    """The judgments of a task that count: of all its versions, a preference's on one scale."""
    found = reading.judgments(study, Judgment).filter(
        slot__item__batch__task__name=definition.name,
        slot__item__batch__task__kind=definition.kind,
    )
    if definition.kind == "preference":
        # Places on another scale are not comparable.
        points = definition.config["points"]
        found = found.filter(slot__item__batch__task__config__points=points)
    return found


def read(study, definition, criterion: str = "") -> KindVotes:
    """The votes of ``definition`` and its other versions; of feedback, those on one criterion."""
    config = config_of(definition.kind, definition.config)
    if definition.kind == "feedback" and criterion not in config["criteria"]:
        known = ", ".join(f"{definition.name}:{one}" for one in config["criteria"])
        raise VotesError(f"Scores are compared one criterion at a time: name one of {known}.")
    rows = _scores(study, definition, criterion) if criterion else _labels(study, definition)
    columns = {name: [] for name in ("task", "worker", "label")}
    for item, user, worker, label in rows.iterator(chunk_size=20_000):
        columns["task"].append(item)
        # As reading.read does: the number tells people apart.
        columns["worker"].append(f"{reading.worker_name(user, worker)}\t{user}")
        columns["label"].append(word(label))
    if not columns["task"]:
        raise VotesError(f"Study “{study.slug}” has no votes in a task “{definition.name}”.")
    votes = votes_from_columns(columns)
    votes = replace(votes, workers=[key.rpartition("\t")[0] for key in votes.workers])
    return KindVotes(
        study=study,
        task=f"{definition.name}:{criterion}" if criterion else definition.name,
        declared=declared(definition.kind, config),
        votes=votes,
        level=LEVEL.get(definition.kind, "nominal"),
    )


def declared(kind: str, config: dict) -> list[str]:
    """All labels that a task of this kind can get."""
    if kind == "preference":
        return [str(n) for n in range(1, config["points"] + 1)]
    return {"attribute": attribute.Verdict.values, "relevance": ["yes", "no"]}.get(kind, SCORES)


def _labels(study, definition):
    found = judgments(study, definition)
    return found.order_by("slot__item__external_id", "submitted_at", "pk").values_list(
        "slot__item__external_id", "annotator_id", "annotator__worker", LABEL[definition.kind]
    )


def _scores(study, definition, criterion: str):
    found = Score.objects.filter(feedback__in=judgments(study, definition), criterion=criterion)
    number = Cast(F("option__number"), TextField())
    answer = Concat(F("option__item__external_id"), Value("/"), number, output_field=TextField())
    return (
        found.annotate(answer=answer)
        .order_by("answer", "pk")
        .values_list("answer", "feedback__annotator_id", "feedback__annotator__worker", "score")
    )


def word(label) -> str:
    """A stored label as a word."""
    return {True: "yes", False: "no"}[label] if isinstance(label, bool) else str(label)
