"""Agreement, preferences and scores by what five people or more said of themselves."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from annotation.agreement.report import agreement_report
from annotation.agreement.statistics.bootstrap import over_groups
from annotation.agreement.statistics.coefficient import Coefficient
from annotation.core.errors import DomainError
from annotation.evaluation.estimates import measures_of, side_of
from annotation.evaluation.verdicts import Asked
from annotation.studies import survey as surveys
from annotation.studies.models import Study, TaskDefinition
from annotation.votes import counting, stored

RESAMPLES = 1000
AGREEMENT = ("percent_agreement", "symmetric_kappa")


@dataclass(frozen=True)
class Group:
    """People who gave ``answer`` to ``question``.

    ``figures`` are {name: coefficient as JSON}: agreement with intervals over items, the others
    over people, 95 %.
    """

    question: str
    answer: str
    people: int
    votes: int
    figures: dict[str, dict]


def groups(study: Study, task: str, question: str = "", most: int | None = None) -> list[Group]:
    """What each group says to one question of a task, by default its first.

    Of people with votes on it; who shares an answer with fewer than ``survey.LEAST`` of them is in
    no group. ``most`` votes are read. Raises DomainError where there is no such task or question,
    and where people are asked nothing.
    """
    definition = study.tasks.filter(name=task).order_by("-version").first()
    if definition is None:
        raise DomainError(f"The study has no task “{task[:60]}”.", code="task")
    survey = surveys.current(study)
    if survey is None:
        raise DomainError("The study asks people nothing about themselves.", code="survey")
    asked = measures_of(definition, question)[0]
    last = None
    if most is not None:
        last = counting.last_position(study, task, most, definition.kind)
    votes = stored.read(definition, asked.measure, last=last)
    raters = set(votes.rater.tolist())
    answers = {user: row for user, row in surveys.answers_of(survey).items() if user in raters}
    released, _lost = surveys.coarsened(survey.questions, answers)
    values = _values(study, asked, votes)
    made = []
    for entry in survey.questions:
        for choice in entry["choices"]:
            name = entry["question"]
            users = [user for user, row in released.items() if row.get(name) == choice]
            if users:
                rows = np.isin(votes.rater, users)
                figures = _agreement(definition, asked, votes.take(rows))
                figures |= {key: _mean(value[rows], votes.rater[rows])
                            for key, value in values.items()}  # fmt: skip
                made.append(Group(name, choice, len(users), int(rows.sum()), figures))
    return made


def _values(study: Study, asked: Asked, votes: stored.QuestionVotes) -> dict[str, np.ndarray]:
    """{figure: its value in each vote}: shares by strategy or label, or the mean of scores."""
    labels = [votes.labels[code] for code in votes.label.tolist()]
    if asked.chooses or asked.scale:
        shown = stored.candidates_of(study, votes.item, "strategy")
        chosen = [(item, side_of(asked, label))
                  for item, label in zip(votes.item.tolist(), labels, strict=True)]  # fmt: skip
        names = [shown.get(side, ("",))[0] for side in chosen]
        return _shares(names, sorted({strategy for (strategy,) in shown.values() if strategy}))
    if asked.measure.level != "nominal" and all(each.isdecimal() for each in asked.measure.labels):
        return {"mean": np.array(labels, dtype=float)}
    return _shares(labels, asked.measure.labels)


def _shares(names: list[str], wanted: Sequence[str]) -> dict[str, np.ndarray]:
    column = np.array(names)
    return {f"share:{name}": (column == name).astype(float) for name in wanted}


def _mean(values: np.ndarray, rater: np.ndarray) -> dict:
    code = np.unique(rater, return_inverse=True)[1]

    def mean(weights: np.ndarray) -> float:
        return weights @ values / weights.sum()

    value, low, high = over_groups(mean, code, RESAMPLES)
    return Coefficient(value, None, low, high).as_json()


def _agreement(
    definition: TaskDefinition, asked: Asked, votes: stored.QuestionVotes
) -> dict[str, dict]:
    if asked.measure.level == "ranks":
        return {}
    read = stored.task_votes(definition, asked.measure.name, columns=votes)
    report = agreement_report(read.votes, read.level, read.declared, resamples=0)
    return {name: report[name] for name in AGREEMENT}
