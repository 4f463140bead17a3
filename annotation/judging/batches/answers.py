"""Answers that a task needs before its items can be planned: a curator asks models for them, and a
study that needs no curator (``Study.automatic``) asks, passes and opens own queries by itself.
"""

import logging

from django.db.models import Count, Q
from django.utils import timezone

from annotation.accounts.models import User
from annotation.candidates import generate
from annotation.candidates.models import Candidate
from annotation.core.errors import DomainError
from annotation.judging.batches.open import open_batch
from annotation.judging.kinds import KINDS, kind_of
from annotation.judging.kinds.planning import EVERYTHING, Scope
from annotation.queries.models import Query
from annotation.studies.models import Study, TaskDefinition

log = logging.getLogger(__name__)
OWNED = Q(owner__isnull=False, ready=True, replaced_at=None)


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


def go_on() -> None:
    """Take the own queries of each such study as far as they come now; may run at any time."""
    for study in Study.objects.filter(automatic=True).exclude(status=Study.Status.CLOSED):
        try:
            _ask(study)
            _pass(study)
            _open(study)
        except DomainError as refusal:
            log.warning("study %s: %s", study.slug, refusal.sentence)


def _ask(study: Study) -> None:
    unasked = Query.objects.filter(OWNED, study=study, candidates=None)
    if names := list(unasked.values_list("pk", flat=True)):
        generate.request_answers(study, only=Q(pk__in=names))


def _pass(study: Study) -> None:
    """Accept what waits for a reviewer though no check flagged it."""
    owned = Candidate.objects.filter(study=study, query__owner__isnull=False, status="done")
    clean = owned.filter(review=Candidate.Review.PENDING, flags=[])
    clean.update(review=Candidate.Review.ACCEPTED, reviewed_at=timezone.now())


def _open(study: Study) -> None:
    """Open the queries whose answers are written, those that passed."""
    shown = Q(candidates__status="done", candidates__review__in=("", Candidate.Review.ACCEPTED))
    asked = Q(candidates__status__in=(Candidate.Status.REQUESTED, Candidate.Status.RUNNING))
    queries = Query.objects.filter(OWNED, study=study, items=None).annotate(
        shown=Count("candidates", shown), asked=Count("candidates", asked)
    )
    names = list(queries.filter(shown__gt=0, asked=0).values_list("external_id", flat=True))
    tasks = study.tasks.filter(config__owner_only=True).order_by("name", "-version")
    for task in tasks.distinct("name") if names else ():
        if "gold" not in KINDS[task.kind].shows:
            open_batch(study, task, scope=Scope(queries=names))
