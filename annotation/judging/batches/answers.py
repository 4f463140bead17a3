"""Asks models for the answers that a task needs before its items can be planned."""

from annotation.accounts.models import User
from annotation.candidates import generate
from annotation.candidates.models import Candidate
from annotation.core.errors import DomainError
from annotation.judging.kinds import kind_of
from annotation.judging.kinds.planning import EVERYTHING, Scope
from annotation.studies.models import Study, TaskDefinition


def request_answers(
    study: Study,
    task: TaskDefinition,
    *,
    scope: Scope = EVERYTHING,
    endpoint: str = "",
    limit: int | None = None,
    by: User | None = None,
) -> list[Candidate]:
    """Ask ``endpoint`` for the answers without which items of ``task`` cannot be planned.

    Answers under way are not asked for again. Returns the new rows. Raises DomainError for an
    unknown endpoint, and where it is no answer that is missing but an earlier judgment.
    """
    lacking = kind_of(task.kind).lacking(study, task, scope)
    if lacking is None:
        return []
    if not lacking.pairs and not lacking.queries:
        raise DomainError(lacking.sentence, code="lacking")
    return generate.request_personalised(
        study, pairs=lacking.pairs, queries=lacking.queries, endpoint=endpoint, limit=limit, by=by
    )
