"""How people and models judge the same items of a study, by the stages of papers' reports."""

import json
from dataclasses import asdict, is_dataclass
from typing import Any, Protocol, cast

from django.utils.functional import Promise

from annotation.datasets import papers
from annotation.studies.models import Study, TaskDefinition

PEOPLE, MODELS = "people", "models"


class Units(Protocol):
    """A paper's module ``units``: the items behind a number of its report."""

    # A dataclass of texts, the parameters of the address; ``words()`` says what they ask for.
    Wanted: type[Any]

    def units(self, study: Study, task: TaskDefinition, wanted: object) -> list[dict]:
        """The items; VotesError where nobody voted."""


def of_study(study: Study) -> list[dict]:
    """A report for each task of a stage that has votes, paper by paper."""
    reports = (paper.report for paper in papers.registered().values() if paper.report)
    return [stage for report in reports for stage in report.stages(study)]


def units_of(kind: str) -> Units | None:
    """What tells the items behind the report on tasks of ``kind``; None where there is none."""
    found = (p.units for p in papers.registered().values() if p.units and kind in p.kinds)
    return cast("Units | None", next(found, None))


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
