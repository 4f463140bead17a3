"""An annotator's own queries: a simple question, the need behind it, sessions it grew out of."""

import secrets
from collections.abc import Collection, Iterable
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.http import Http404
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotation import policies
from annotation.accounts.models import User
from annotation.core.errors import Conflict, DomainError
from annotation.queries import author
from annotation.queries.models import Ground, Query
from annotation.studies.access import study_for
from annotation.studies.models import Message, Study, TaskDefinition

# The guided need, part by part, and the question that stands over each.
PARTS = {
    "want": gettext_lazy("What do you really want to know?"),
    "known": gettext_lazy("What do you know already, or have tried?"),
    "form": gettext_lazy("In which form should the answer come?"),
    "annoy": gettext_lazy("What would annoy you in an answer?"),
}
# The heading of each part in the need as one text; the first part (what is wanted) has none.
NAMES = {
    "known": gettext_lazy("Known already"),
    "form": gettext_lazy("Form wanted"),
    "annoy": gettext_lazy("Would annoy"),
}
TEXT_LIMIT, NEED_LIMIT = 2_000, 20_000
GROUNDS_LIMIT = 20
# How the ids of what somebody said in a conversation begin.
SPOKEN = "talk-"
# The fields that the owner types.
TEXTS = ("text", "guide", "scenario", "language")


def asked_for(study: Study) -> bool:
    """Whether annotators of ``study`` write queries of their own: a task is for owners alone."""
    return bool(asking([study]))


def study_of(user: User, slug: str) -> Study:
    """The study to which ``user`` gives questions of their own.

    Raises Http404 where it asks for none, PermissionDenied where ``user`` has not consented.
    """
    study = study_for(user, slug, policies.query.may_write_own)
    if not asked_for(study):
        raise Http404
    if not study.consented:
        raise PermissionDenied
    return study


def asking(studies: Iterable[Study]) -> set[int]:
    """Ids of those of ``studies`` for which ``asked_for`` holds, in one statement."""
    tasks = TaskDefinition.objects.filter(study__in=studies, config__owner_only=True)
    return set(tasks.values_list("study_id", flat=True))


def of(study: Study, owner: User) -> QuerySet[Query]:
    """The owner's current queries with ``answers``, how many were written, newest first.

    What they said in conversations (annotation.live) is none of them.
    """
    written = Count("candidates", Q(candidates__purpose="answer", candidates__status="done"))
    rows = Query.objects.filter(study=study, owner=owner, replaced_at=None)
    rows = rows.exclude(external_id__startswith=SPOKEN)
    return rows.annotate(answers=written).order_by("-pk")


def begin(study: Study, owner: User) -> Query:
    """A new query, not ready to be answered; one that is still empty is gone on with.

    Conflict where the owner has as many as the study takes.
    """
    empty = of(study, owner).filter(ready=False, text="", need="", version=1).first()
    name = f"own-{secrets.token_hex(6)}"
    if not empty and 0 < study.owner_queries <= of(study, owner).count():
        sentence = ngettext(
            "You have written the %(n)d query that this study takes of each person. Thank you!",
            "You have written all %(n)d queries that this study takes of each person. Thank you!",
            study.owner_queries,
        )
        raise Conflict(sentence % {"n": study.owner_queries}, code="enough_queries")
    return empty or author.save_query(study, name, by=owner, **_fields(owner, "", {}, "", ""))


def write_query(
    query: Query,
    owner: User,
    *,
    text: str = "",
    guide: dict | None = None,
    scenario: str = "",
    language: str = "",
    grounds: Collection[UUID] | None = None,
) -> Query:
    """Keep what the owner has typed so far; ``grounds`` are ids of kept sessions.

    A query that was ready stays so if its texts do not change; otherwise it must be finished again.
    Raises Conflict where the query has answers (``change`` makes its next version), DomainError
    where a text is too long or a session is not one the owner keeps.
    """
    if author.frozen(query):
        raise Conflict(
            _("Answers to this query were asked for: write a new version of it."), code="frozen"
        )
    _check(text, guide or {})
    fields = _fields(owner, text, guide or {}, scenario, language)
    same = all(getattr(query, name) == fields[name] for name in TEXTS)
    fields["ready"] = query.ready and same
    with transaction.atomic():
        saved = author.save_query(query.study, query.external_id, by=owner, **fields)
        if grounds is not None:
            _set_grounds(saved, owner, grounds)
    return saved


def finish(query: Query, owner: User) -> Query:
    """Say that the query is ready to be answered, and tell the curators where they must act.

    DomainError names what is missing.
    """
    if not query.text.strip():
        raise DomainError(_("Write your question first."), code="text")
    if not query.guide.get("want", "").strip():
        raise DomainError(_("Say what you really want to know."), code="need")
    if not (query.ready or query.study.automatic):
        Message.objects.create(
            study=query.study,
            sender=owner,
            audience=Message.Audience.CURATORS,
            body=_("A query of mine is ready to be answered."),
        )
    return author.save_query(
        query.study, query.external_id, by=owner, **_fields_of(query) | {"ready": True}
    )


def change(query: Query, owner: User) -> Query:
    """Make the next version of an answered query, for its owner to write on."""
    if not author.frozen(query):
        return query
    with transaction.atomic():
        saved = author.save_query(
            query.study, query.external_id, by=owner, **_fields_of(query) | {"ready": False}
        )
        # A change that is asked for twice at once makes one version.
        sessions = query.grounds.values_list("session_id", flat=True)
        Ground.objects.bulk_create(
            [Ground(query=saved, session_id=session) for session in sessions], ignore_conflicts=True
        )
    return saved


def _fields_of(query: Query) -> dict:
    return {name: getattr(query, name) for name in author.FIELDS}


def _fields(owner: User, text: str, guide: dict, scenario: str, language: str) -> dict:
    guide = {part: guide[part].strip() for part in PARTS if guide.get(part, "").strip()}
    return {
        "persona_id": None,
        "owner_id": owner.pk,
        "text": text.strip(),
        "need": "\n\n".join(
            f"{NAMES[part]}: {answer}" if part in NAMES else answer
            for part, answer in guide.items()
        ),
        "guide": guide,
        "type": Query.Type.SPECIFIC,
        "scenario": scenario.strip(),
        "language": language,
        "ready": False,
    }


def _check(text: str, guide: dict) -> None:
    if len(text) > TEXT_LIMIT:
        raise DomainError(_("A question has at most %(n)d characters.") % {"n": TEXT_LIMIT})
    if sum(map(len, guide.values())) > NEED_LIMIT:
        raise DomainError(_("The need has at most %(n)d characters.") % {"n": NEED_LIMIT})


def _set_grounds(query: Query, owner: User, wanted: Collection[UUID]) -> None:
    from annotation.histories import browse  # commands need none of its patterns, 0.1 s

    wanted = set(wanted)
    allowed = set(
        browse.sessions(owner, query.study).filter(pk__in=wanted).values_list("pk", flat=True)
    )
    if wanted - allowed or len(wanted) > GROUNDS_LIMIT:
        raise DomainError(
            _("Choose up to %(n)d sessions that you keep.") % {"n": GROUNDS_LIMIT}, code="grounds"
        )
    query.grounds.exclude(session__in=wanted).delete()
    Ground.objects.bulk_create(
        [Ground(query=query, session_id=session) for session in allowed], ignore_conflicts=True
    )
