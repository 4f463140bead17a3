"""What a search-augmented answer may rest on: the owner's history, documents of the study, the web.

History leaves the platform only in redacted form, and only where its owner agrees at this moment
that this endpoint sees it.
"""

import json
from typing import Any, cast
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, Q
from django.db.models.functions import Substr
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic.dataclasses import dataclass as schema

from annotation.accounts.models import User
from annotation.candidates import endpoints
from annotation.candidates.endpoints import CallFailed
from annotation.candidates.models import Candidate, DocumentPassage, Extraction, Proposal, Retrieval
from annotation.candidates.strategies import NEAREST, NEWEST, Source, by_name, without_persona
from annotation.core import audit, records
from annotation.core.errors import DomainError
from annotation.core.schema import asked, built, taken
from annotation.histories import browse, consent, search
from annotation.histories.models import HistoryConsent
from annotation.personas.models import Attribute, Evidence
from annotation.queries.models import Query
from annotation.studies.models import Study

SEND = HistoryConsent.Purpose.SEND
WEB_SECONDS = 20


@schema(frozen=True)
class Search:
    """Where search-augmented answers look, and the strategies asked for where none are named."""

    sources: list[str] = asked(
        gettext_lazy("Sources"), [], choices=lambda: dict(Retrieval.Source.choices)
    )
    strategies: list[str] = asked(
        gettext_lazy("What the model is shown of the person"),
        [],
        choices=lambda: {name: by_name()[name].words for name in without_persona()},
    )
    results: int = asked(gettext_lazy("Sources shown for one answer"), 6, ge=1, le=20)
    oracle: bool = asked(
        gettext_lazy("This study is an experiment that may show the need to models"), False
    )

    def __post_init__(self) -> None:
        chosen = [by_name()[name] for name in self.strategies]
        if not self.oracle and any(strategy.oracle for strategy in chosen):
            raise ValueError(_("The arm “oracle” is for studies marked as such an experiment."))
        if not self.sources and any(strategy.searches for strategy in chosen):
            raise ValueError(_("Choose where the chosen arms search."))
        if Retrieval.Source.WEB in self.sources and not settings.SEARCH_URL:
            raise ValueError(_("No web search is configured: set ATTUNE_SEARCH_URL."))


def check_retrieval(wanted: dict[str, Any]) -> None:
    """DomainError where these columns of a Retrieval, from a file, cannot be."""
    if unknown := wanted.keys() - {"sources", "strategies", "results"}:
        raise DomainError(f"“retrieval” has no {min(unknown)[:40]}.", code="retrieval")
    built(Search, wanted)


def settings_of(study: Study) -> Retrieval:
    """Where the study's answers look, as saved or as it begins."""
    return Retrieval.objects.filter(study=study).first() or Retrieval(study=study)


@transaction.atomic
def save_retrieval(study: Study, wanted: dict[str, Any], *, by: User) -> Retrieval:
    """Change these fields of the study's Retrieval. DomainError where they do not fit together."""
    built(Search, taken(Search, vars(settings_of(study))) | wanted)
    saved, _created = Retrieval.objects.update_or_create(study=study, defaults=wanted)
    audit.record(by, "retrieval.save", study, oracle=saved.oracle)
    return saved


def agreed(study: Study, owner: User, endpoint: str) -> bool:
    """Whether ``owner`` agrees that ``endpoint`` sees their kept sessions, for this study."""
    return consent.allows(owner, study, SEND, endpoint)


def history(query: Query, endpoint: str, *, nearest: bool) -> list[browse.Transcript]:
    """The owner's kept sessions, redacted: the newest, or the ``nearest`` to the question.

    Raises CallFailed where the owner does not agree, by now, that ``endpoint`` sees them.
    """
    if query.owner is None or not agreed(query.study, query.owner, endpoint):
        raise CallFailed("no_consent")
    if nearest:
        return _nearest(query, endpoint, NEAREST)
    sessions = browse.sessions(query.owner, query.study).values_list("pk", flat=True)
    return browse.context(query.owner, query.study, SEND, endpoint, only=sessions[:NEWEST])


def _nearest(query: Query, endpoint: str, limit: int) -> list:
    """Transcripts of the owner's kept sessions that come nearest to the question, best first."""
    owner = cast(User, query.owner)
    sessions = browse.sessions(owner, query.study)
    hits = search.find(owner, query.text, limit, only=sessions)
    order = {session: place for place, session in enumerate(hits)}
    transcripts = browse.context(owner, query.study, SEND, endpoint, only=order)
    return sorted(transcripts, key=lambda transcript: order[transcript.session])


def sources(query: Query, endpoint: str) -> list[Source]:
    """What the study's sources hold on the question, best first, in turn from each.

    The history is a source only for its owner's own questions, and passed over where the owner
    does not agree. Raises CallFailed where the web search fails.
    """
    retrieval = Retrieval.objects.get(study=query.study_id)
    lists = [_SOURCES[kind](query, endpoint, retrieval.results) for kind in retrieval.sources]
    merged = [results[n] for n in range(retrieval.results) for results in lists if n < len(results)]
    return merged[: retrieval.results]


def documents(study: Study, text: str, limit: int) -> list[Source]:
    """Passages of the study's collection that hold the words of ``text`` or come near its meaning.

    The words of a question are looked for one by one (any of them counts): few documents hold all.
    """
    text = text[: search.QUERY_LIMIT]
    words = search.query(text).replace(" & ", " | ")
    passages = DocumentPassage.objects.filter(study=study)
    scores = search.relevance(passages, text, words, 4 * limit)
    best = sorted(scores, key=lambda key: (-scores[key], key))[:limit]
    part = Substr("document__text", F("start") + 1, cast(Any, F("length")))
    rows = DocumentPassage.objects.annotate(part=part).select_related("document").in_bulk(best)
    found = [(rows[key].document, rows[key].part) for key in best if key in rows]
    return [
        Source("documents", document.external_id, document.title, document.url, part)
        for document, part in found
    ]


def web(text: str, limit: int) -> list[Source]:
    """Results of the SearXNG-compatible endpoint ATTUNE_SEARCH_URL (``?q=…&format=json``).

    Raises CallFailed where there is none, it fails, or its answer cannot be read.
    """
    if not settings.SEARCH_URL:
        raise CallFailed("search")
    try:
        with endpoints.client() as http:
            asked = {"q": text[: search.QUERY_LIMIT], "format": "json"}
            answer = endpoints.send(
                http, "GET", settings.SEARCH_URL, timeout=WEB_SECONDS, params=asked
            )
        if answer.status_code != 200:
            raise CallFailed("search")
        return [_result(row) for row in json.loads(answer.text)["results"][:limit]]
    except (CallFailed, ValueError, RecursionError, KeyError, TypeError, AttributeError):
        raise CallFailed("search") from None


def _result(row: Any) -> Source:
    title, url, content = (
        records.clean(str(row.get(name) or ""))[:2_000] for name in ("title", "url", "content")
    )
    return Source("web", url, title, url, content)


def _of_history(query: Query, endpoint: str, limit: int) -> list[Source]:
    if query.owner is None or not agreed(query.study, query.owner, endpoint):
        return []
    return [
        Source("history", str(transcript.session), transcript.title, "", transcript.text)
        for transcript in _nearest(query, endpoint, limit)
    ]


_SOURCES = {
    "history": _of_history,
    "documents": lambda query, endpoint, limit: documents(query.study, query.text, limit),
    "web": lambda query, endpoint, limit: web(query.text, limit),
}


# --- What came from sessions that their owner has taken back --------------------------------------

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

# Calls that read a conversation which is there no longer.
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
    with connection.cursor() as cursor:
        cursor.execute(_LOST)
        gone: list[UUID] = [pk for (pk,) in cursor.fetchall()]
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
