"""The sessions of a history that stand beside an item made from its owner's query."""

from annotation.accounts.models import User
from annotation.histories import browse, consent, search
from annotation.histories.models import HistoryConsent
from annotation.queries.models import Query
from annotation.studies.models import Study

LIMIT = 12


def sessions(study: Study, query_id: int | None, judge: User) -> list:
    """Transcripts for ``judge``, redacted: of their own history what is nearest to the question.

    Somebody else sees the sessions that the query grew out of, where its owner agreed that judges
    of this study do.
    """
    queries = Query.objects.filter(pk__in=[query_id] if query_id else [])
    query = queries.select_related("owner").first()
    if query is None or query.owner is None:
        return []
    allowed = browse.sessions(query.owner, study)
    if query.owner == judge:
        grounds = list(query.grounds.values_list("session", flat=True))
        hits = search.find(judge, query.text, LIMIT, only=allowed)
        wanted = dict.fromkeys([*grounds, *(hit.session for hit in hits)])
        order = {session: place for place, session in enumerate(wanted)}
        transcripts = browse.transcripts(allowed.filter(pk__in=order))
        return sorted(transcripts, key=lambda transcript: order[transcript.session])
    if not consent.allows(query.owner, study, HistoryConsent.Purpose.SHOW):
        return []
    return list(browse.transcripts(allowed.filter(grounds__query=query)))
