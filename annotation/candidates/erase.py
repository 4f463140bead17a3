"""Takes out of answers what came from sessions that their owner has taken back."""

from django.db import connection

# What a prompt was made from; the answer itself is a text that its owner has seen and judged.
_ERASE = """
    UPDATE candidates_candidate c
    SET prompt = NULL,
        parameters = c.parameters - 'sources' - 'static_profile' - 'aware_profile' - 'sessions'
    FROM queries_query q
    WHERE q.id = c.query_id AND q.owner_id IS NOT NULL AND c.status <> 'running'
      AND (c.prompt IS NOT NULL OR c.parameters ?|
           ARRAY['sources', 'static_profile', 'aware_profile', 'sessions'])
      AND (EXISTS (SELECT FROM histories_erasure e
                   WHERE e.owner_id = q.owner_id AND c.created_at < e.requested_at)
           OR EXISTS (SELECT FROM jsonb_array_elements_text(
                          CASE jsonb_typeof(c.parameters -> 'sessions')
                          WHEN 'array' THEN c.parameters -> 'sessions' ELSE '[]' END) shown
                      WHERE NOT EXISTS (SELECT FROM histories_session s
                                        WHERE s.id::text = shown.value)))"""


def erase_withdrawn() -> int:
    """Forget prompts and sources of answers that were written from what is erased; how many.

    That is a history as a whole, or one of the sessions that the model was shown. An answer that is
    being written is left for the next round: by then it is done, or has failed.
    """
    with connection.cursor() as cursor:
        cursor.execute(_ERASE)
        return cursor.rowcount
