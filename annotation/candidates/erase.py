"""Takes out of answers and attributes what came from sessions that their owner has taken back."""

from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q

from annotation.candidates.models import Candidate, Extraction, Proposal
from annotation.personas.models import Attribute, Evidence

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

_LOST = """
    SELECT p.id FROM candidates_proposal p
    WHERE p.step = 'attribute'
      AND EXISTS (SELECT FROM jsonb_array_elements_text(p.input -> 'chats') asked
                  WHERE NOT EXISTS (SELECT FROM personas_conversation c
                                    WHERE c.id = asked.value::bigint))"""


def erase_withdrawn() -> int:
    """Forget prompts and sources of answers that were written from what is erased; how many.

    That is a history as a whole, or one of the sessions that the model was shown. An answer that is
    being written is left for the next round: by then it is done, or has failed.
    """
    with connection.cursor() as cursor:
        cursor.execute(_ERASE)
        return cursor.rowcount


@transaction.atomic
def erase_extracted() -> int:
    """Forget what was extracted from conversations that are gone; how many calls' results.

    The statements and the prompts go with the conversations they came from. Attributes made of them
    lose their words, and so do answers written from these: rows stay where people judged them
    (``judging.curator.removal.remove_withdrawn`` removes the others).
    """
    gone = _of_lost_conversations()
    if not gone:
        return 0
    again = Proposal.objects.filter(step="verify", input__proposal__in=[str(pk) for pk in gone])
    statements = Extraction.objects.filter(proposal__in=gone)
    people = set(statements.values_list("persona", flat=True))
    ids = statements.exclude(attribute=None).values_list("attribute", flat=True)
    attributes = Attribute.objects.filter(pk__in=list(ids))
    Evidence.objects.filter(attribute__in=attributes).delete()
    written = Candidate.every.filter(
        Q(attribute__in=attributes) | Q(strategy="attributes", query__persona__in=people)
    )
    written.exclude(status="running").update(text="", prompt=None)
    attributes.update(text="")
    again.delete()
    Proposal.objects.filter(pk__in=gone).delete()
    return len(gone)


def _of_lost_conversations() -> list[UUID]:
    """The calls that read a conversation which is there no longer."""
    with connection.cursor() as cursor:
        cursor.execute(_LOST)
        return [pk for (pk,) in cursor.fetchall()]
