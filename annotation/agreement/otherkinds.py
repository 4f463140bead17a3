"""Votes of the kinds of judgment besides selections, for the same statistics.

A preference is a number of its scale, an attribute's and a relevance's verdict a word. Scores are
read one criterion at a time: what is judged is an answer, an item's candidate by its number.
"""

from dataclasses import dataclass, replace

from django.db.models import F, TextField, Value
from django.db.models.functions import Cast, Concat

from annotation.agreement import reading
from annotation.agreement.votes import VotesError, votes_from_columns
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
        columns["label"].append(_word(label))
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
    found = reading.judgments(study, Judgment).filter(
        slot__item__batch__task__name=definition.name,
        slot__item__batch__task__kind=definition.kind,
    )
    if definition.kind == "preference":
        # Places on another scale are not comparable.
        points = definition.config["points"]
        found = found.filter(slot__item__batch__task__config__points=points)
    return found.order_by("slot__item__external_id", "submitted_at", "pk").values_list(
        "slot__item__external_id", "annotator_id", "annotator__worker", LABEL[definition.kind]
    )


def _scores(study, definition, criterion: str):
    judgments = reading.judgments(study, Judgment).filter(
        slot__item__batch__task__name=definition.name
    )
    found = Score.objects.filter(feedback__in=judgments, criterion=criterion)
    number = Cast(F("option__number"), TextField())
    answer = Concat(F("option__item__external_id"), Value("/"), number, output_field=TextField())
    return (
        found.annotate(answer=answer)
        .order_by("answer", "pk")
        .values_list("answer", "feedback__annotator_id", "feedback__annotator__worker", "score")
    )


def _word(label) -> str:
    return {True: "yes", False: "no"}[label] if isinstance(label, bool) else str(label)
