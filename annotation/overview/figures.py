"""The figures of a whole study that its overview shows, in one statement however large it is."""

import json
from dataclasses import dataclass

from django.db import connection

from annotation.candidates.strategies import STRATEGIES
from annotation.studies.models import Study


@dataclass(frozen=True)
class Figures:
    """Numbers of rows; ``judgments`` and ``wanted`` count those of work, not of checks."""

    personas: int
    queries: int
    # Current queries without a written answer.
    unanswered: int
    answers: int
    writing: int
    failed: int
    tasks: int
    # Tasks whose items only the owner of a query judges.
    owned: int
    annotators: int
    # Invitations and join codes that can still be used.
    doors: int
    items: int
    judgments: int
    wanted: int
    held: int
    releases: int
    freezing: int
    # Strategies that are chosen for answers, and none of them reads a persona.
    impersonal: bool


_STATEMENT = """
WITH current AS (
    SELECT q.id FROM queries_query q LEFT JOIN personas_persona p ON p.id = q.persona_id
    WHERE q.study_id = %(study)s AND q.replaced_at IS NULL AND p.dropped_at IS NULL
), answers AS (
    SELECT query_id, status FROM candidates_candidate
    WHERE study_id = %(study)s AND purpose = 'answer'
), work AS (
    SELECT i.done, i.overlap FROM judging_item i JOIN judging_batch b ON b.id = i.batch_id
    WHERE i.study_id = %(study)s AND b.purpose = 'work'
), tasks AS (
    SELECT DISTINCT ON (name) config FROM studies_taskdefinition
    WHERE study_id = %(study)s ORDER BY name, version DESC
)
SELECT
    (SELECT count(*) FROM personas_persona WHERE study_id = %(study)s AND dropped_at IS NULL),
    (SELECT count(*) FROM current),
    (SELECT count(*) FROM current WHERE NOT EXISTS (
        SELECT 1 FROM answers WHERE query_id = current.id AND status = 'done')),
    (SELECT count(*) FROM answers WHERE status = 'done'),
    (SELECT count(*) FROM answers WHERE status IN ('requested', 'running')),
    (SELECT count(*) FROM answers WHERE status = 'failed'),
    (SELECT count(*) FROM tasks),
    (SELECT count(*) FROM tasks WHERE config @> '{"owner_only": true}'),
    (SELECT count(*) FROM studies_membership
        WHERE study_id = %(study)s AND role = 'annotator' AND left_at IS NULL),
    (SELECT count(*) FROM studies_invitation WHERE study_id = %(study)s AND role = 'annotator'
        AND accepted_at IS NULL AND revoked_at IS NULL AND expires_at > now())
    + (SELECT count(*) FROM studies_joincode WHERE study_id = %(study)s
        AND used < uses AND revoked_at IS NULL AND expires_at > now()),
    (SELECT count(*) FROM work),
    (SELECT coalesce(sum(done), 0) FROM work),
    (SELECT coalesce(sum(overlap), 0) FROM work),
    (SELECT count(*) FROM judging_slot WHERE study_id = %(study)s AND status = 'held'),
    (SELECT count(*) FROM datasets_release WHERE study_id = %(study)s AND status = 'done'),
    (SELECT count(*) FROM datasets_release
        WHERE study_id = %(study)s AND status IN ('requested', 'running')),
    (SELECT strategies FROM candidates_retrieval WHERE study_id = %(study)s)"""


def figures_of(study: Study) -> Figures:
    """The figures of ``study`` as they stand now."""
    with connection.cursor() as cursor:
        cursor.execute(_STATEMENT, {"study": study.pk})
        *counts, strategies = cursor.fetchone()
    names = json.loads(strategies or "[]")
    personal = any(name in STRATEGIES and STRATEGIES[name].needs_persona for name in names)
    row = [*counts, bool(names) and not personal]
    return Figures(*row)
