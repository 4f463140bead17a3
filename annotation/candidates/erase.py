"""Takes out of answers what came from a history that its owner has taken back."""

from django.db import connection

# What a prompt was made from; the answer itself is a text that its owner has seen and judged.
_ERASE = """
    UPDATE candidates_candidate c
    SET prompt = NULL,
        parameters = c.parameters - 'sources' - 'static_profile' - 'aware_profile'
    FROM queries_query q, histories_erasure e
    WHERE q.id = c.query_id AND e.owner_id = q.owner_id AND c.created_at < e.requested_at
      AND (c.prompt IS NOT NULL
           OR c.parameters ?| ARRAY['sources', 'static_profile', 'aware_profile'])
      AND c.status <> 'running'"""


def erase_withdrawn() -> int:
    """Forget prompts and sources of answers that were written from an erased history; how many.

    An answer that is being written is left for the next round: by then it is done, or has failed.
    """
    with connection.cursor() as cursor:
        cursor.execute(_ERASE)
        return cursor.rowcount
