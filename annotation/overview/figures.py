"""The figures of a whole study that its overview shows, in one statement however large it is."""

import json
from dataclasses import dataclass

from django.db import connection

from annotation.candidates.strategies import by_name
from annotation.datasets import papers
from annotation.queries.scenarios import FEWEST
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
    # Of those the ones whose scores a release splits into shots and tests of a judge.
    split: int
    # Ready queries of owners; those with answers, but fewer than FEWEST; those of which a release
    # has tests: FEWEST judged answers at least, and not all of one text.
    own: int
    short: int
    testable: int
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
), own AS (
    SELECT id FROM queries_query
    WHERE study_id = %(study)s AND owner_id IS NOT NULL AND replaced_at IS NULL AND ready
), scored AS (
    SELECT i.query_id, count(*) AS answers, count(DISTINCT c.text) AS texts
    FROM own JOIN judging_item i ON i.query_id = own.id
    JOIN judging_batch b ON b.id = i.batch_id AND b.purpose = 'work'
    JOIN studies_taskdefinition t ON t.id = b.task_id AND t.kind = ANY(%(split)s)
    JOIN judging_itemoption o ON o.item_id = i.id
    JOIN candidates_candidate c ON c.id = o.candidate_id
    WHERE i.done > 0 GROUP BY i.query_id
), work AS (
    SELECT i.done, i.overlap FROM judging_item i JOIN judging_batch b ON b.id = i.batch_id
    WHERE i.study_id = %(study)s AND b.purpose = 'work'
), tasks AS (
    SELECT DISTINCT ON (name) kind, config FROM studies_taskdefinition
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
    (SELECT count(*) FROM tasks
        WHERE config @> '{"owner_only": true}' AND kind = ANY(%(split)s)),
    (SELECT count(*) FROM own),
    (SELECT count(*) FROM (
        SELECT 1 FROM own JOIN answers ON answers.query_id = own.id
        WHERE answers.status NOT IN ('failed', 'cancelled')
        GROUP BY own.id HAVING count(*) < %(fewest)s) AS few),
    (SELECT count(*) FROM scored WHERE answers >= %(fewest)s AND texts > 1),
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
        cursor.execute(
            _STATEMENT, {"study": study.pk, "split": papers.kinds_with_shots(), "fewest": FEWEST}
        )
        *counts, strategies = cursor.fetchone()
    names = json.loads(strategies or "[]")
    known = by_name()
    personal = any(name in known and known[name].needs_persona for name in names)
    row = [*counts, bool(names) and not personal]
    return Figures(*row)
