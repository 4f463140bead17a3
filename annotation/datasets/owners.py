"""Reads what owners of histories gave to a study, from queries to sessions they publish."""

import hashlib
import hmac
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from django.db.models import Exists, Model, OuterRef, Q

from annotation.accounts.models import User
from annotation.datasets import records
from annotation.datasets.models import Release
from annotation.histories import browse, consent
from annotation.histories.models import HistoryConsent, Session
from annotation.judging.kinds import accepted, claim_reviews, score_rows
from annotation.judging.models import Judgment
from annotation.queries import scenarios
from annotation.queries.models import GoldResponse, Query, Rubric
from annotation.studies.models import Study

PUBLISH = HistoryConsent.Purpose.PUBLISH


def frozen(study: Study, withdrawn: list[int]) -> dict:
    """What of the owners a release of now holds, by id."""
    queries = Query.objects.filter(study=study, owner__isnull=False).exclude(owner__in=withdrawn)
    owners = sorted(set(queries.values_list("owner", flat=True)))
    published = [
        owner
        for owner in User.objects.filter(pk__in=owners).order_by("pk")
        if consent.allows(owner, study, PUBLISH)
    ]
    return {
        "owners": owners,
        "sessions": [
            str(pk)
            for owner in published
            for pk in browse.sessions(owner, study).order_by("pk").values_list("pk", flat=True)
        ],
        "gold": _last(GoldResponse, study),
        "rubric": _last(Rubric, study),
        "query": queries.order_by("-pk").values_list("pk", flat=True).first() or 0,
    }


def _last(model: type[Model], study: Study) -> int:
    last = model._default_manager.filter(query__study=study).order_by("-pk")
    return last.values_list("pk", flat=True).first() or 0


def owners(
    release: Release, withdrawn: frozenset, alive: Callable[[], None]
) -> Iterator[records.Owner]:
    """Everybody who owns a query of the release, under a pseudonym; nobody who withdrew since."""
    held = release.frozen
    order = records.shuffled(release.salt, held.get("owners", []))
    people = User.objects.in_bulk(order)
    numbers = count(1)
    for number, pk in enumerate(order, start=1):
        alive()
        if pk in withdrawn:
            continue
        yield records.Owner(
            user=f"user{number}",
            sessions=_sessions(release, people[pk], held),
            queries=_queries(release, people[pk], held, numbers),
        )


def _sessions(release: Release, owner: User, held: dict) -> tuple:
    """The sessions that were to be published at the freeze, and still may be."""
    if not consent.allows(owner, release.study, PUBLISH):
        return ()
    ids = Session.objects.filter(owner=owner, pk__in=held["sessions"]).values_list("pk", flat=True)
    entries = browse.context(owner, release.study, PUBLISH, only=ids)
    return tuple(
        records.OwnSession(_uuid(release, entry.session), entry.kind, entry.text)
        for entry in sorted(entries, key=lambda entry: _uuid(release, entry.session))
    )


def _queries(release: Release, owner: User, held: dict, numbers: Iterator[int]) -> tuple:
    """Their queries that were judged or may be, each with the judgments of its answers."""
    judged = Judgment.objects.filter(
        slot__item__query=OuterRef("pk"), annotator=owner, answers__option__isnull=False
    )
    asked = Query.objects.filter(study=release.study_id, owner=owner, pk__lte=held["query"])
    asked = asked.filter(Q(ready=True, replaced_at=None) | Exists(judged)).order_by("pk")
    scored = _scored(release, owner)
    return tuple(
        _query(release, owner, query, scored.get(query.pk, {}), str(next(numbers)))
        for query in asked
    )


def _query(
    release: Release, owner: User, query: Query, scored: dict[tuple, "_Scored"], number: str
) -> records.OwnQuery:
    wanted = release.frozen["choices"]["shots"]
    written = query.rubrics.filter(pk__lte=release.frozen["rubric"])
    rubric = written.order_by("-version").first()
    shown = (rubric and rubric.shots) or ()
    held = [option for option, answer in scored.items() if answer.candidate in shown]
    texts = {option: answer.text for option, answer in scored.items()}
    drawn = scenarios.draw(query.text, texts, wanted, held)
    # A judge is shown the rubric: one that may know the responses under test would tell it.
    unsure = bool(rubric and rubric.shots is None and len(drawn) < len(scored))
    return records.OwnQuery(
        id=number,
        text=query.text,
        need=query.need,
        responses=tuple(
            records.Response(answer.text, tuple(answer.scores), option in drawn)
            for option, answer in scored.items()
        ),
        information=_information(query, owner, release),
        rubric=rubric.text if rubric and not unsure else "",
        ids={name: _uuid(release, name, query.pk) for name in records.OWN_TABLES},
        unsure=unsure,
    )


@dataclass
class _Scored:
    """An answer with its scores as in ``records.Response``."""

    candidate: str
    text: str
    scores: list[tuple[str, int, str]] = field(default_factory=list)


def _scored(release: Release, owner: User) -> dict[int, dict[tuple, _Scored]]:
    """{query's id: {(item's id, option's number): the scored answer}}, in the order of judging."""
    standing = Judgment.objects.standing(release.frozen["judgment"]).filter(
        annotator=owner, slot__study=release.study_id, slot__item__batch__purpose="work"
    )
    scored: dict[int, dict[tuple, _Scored]] = defaultdict(dict)
    text = "slot__item__options__candidate__text"
    option = ("slot__item__query", "slot__item", "number", "candidate", text)
    rows = score_rows(standing).order_by("pk", "part")
    for query, item, number, candidate, words, *score in rows.values_list(
        *option, "criterion", "score", "feedback_text"
    ):
        held = scored[query].setdefault((item, number), _Scored(str(candidate), words))
        held.scores.append((score[0], score[1], score[2]))
    return scored


def _information(query: Query, owner: User, release: Release) -> tuple[str, ...]:
    """The claims accepted in the newest version that was reviewed by then."""
    standing = Judgment.objects.standing(release.frozen["judgment"])
    reviews = claim_reviews().filter(
        pk__in=standing.values("pk"), annotator=owner, slot__item__gold__query=query
    )
    review = reviews.order_by("-slot__item__gold__version", "-pk").first()
    return tuple(accepted(review)) if review else ()


def _uuid(release: Release, *parts: Any) -> str:
    """An id that is fresh in each release, and the same whenever this one is written."""
    digest = hmac.digest(bytes.fromhex(release.salt), repr(parts).encode(), hashlib.sha256)
    return str(uuid.UUID(bytes=digest[:16], version=4))
