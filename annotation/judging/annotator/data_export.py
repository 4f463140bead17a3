"""Everything that one person gave in one study, as a stream of JSON.

Only their own words and acts, told as they saw the items: answers by their place on the page, never
by number, id or origin, and work and hidden checks alike.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import groupby

from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import F, FloatField, Sum
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Coalesce

from annotation.accounts.models import Consent
from annotation.judging.annotator import overview
from annotation.judging.models import Draft, Handback, ItemComment, Judgment

CHUNK = 500


def stream(study, user) -> Iterator[str]:
    """The person's data as pieces of one JSON object; memory does not grow with it."""
    yield "{" + ",\n".join(f"{_json(key)}: {_json(value)}" for key, value in _about(study, user))
    for name, rows in _lists(study, user):
        yield f",\n{_json(name)}: ["
        for number, row in enumerate(rows):
            yield (",\n" if number else "\n") + _json(row)
        yield "]"
    yield "}\n"


def _json(value) -> str:
    return json.dumps(value, cls=DjangoJSONEncoder, ensure_ascii=False)


def _about(study, user) -> list[tuple]:
    times = Judgment.objects.filter(slot__study=study, annotator=user).aggregate(
        active_seconds=Coalesce(Sum("seconds"), 0.0),
        idle_seconds=Coalesce(Sum(Cast(KT("circumstances__idle"), FloatField())), 0.0),
    )
    member = study.memberships.filter(user=user).values("joined_at", "left_at").first()
    return [
        ("study", {"slug": study.slug, "title": study.title}),
        ("person", {"name": user.name, "email": user.email, **member}),
        ("time", times),
    ]


def _lists(study, user) -> list[tuple[str, Iterable]]:
    text = study.consent_text
    consents = Consent.objects.filter(user=user, text__name=text.name if text else None)
    own = {"slot__study": study, "annotator": user}
    return [
        (
            "consents",
            consents.order_by("pk").values(
                "granted_at", "withdrawn_at", name=F("text__name"), version=F("text__version")
            ),
        ),
        ("judgments", _judgments(study, user)),
        (
            "handed_back",
            Handback.objects.filter(**own).order_by("pk").values("slot", "cause", "reason", "at"),
        ),
        ("drafts", Draft.objects.filter(**own).order_by("pk").values("slot", "data", "saved_at")),
        (
            "comments",
            ItemComment.objects.filter(slot__study=study, author=user)
            .order_by("pk")
            .values("slot", "text", "at"),
        ),
        (
            "messages",
            study.messages.filter(sender=user).order_by("pk").values("body", "at"),
        ),
    ]


def _judgments(study, user) -> Iterator[dict]:
    """Each item once, with the first answer and every change."""
    found = Judgment.objects.filter(slot__study=study, annotator=user)
    found = overview.with_answers(found.select_related("slot__item__batch__task"))
    rows = found.order_by("slot_id", "revision").iterator(chunk_size=CHUNK)
    for slot, revisions in groupby(rows, key=lambda one: one.slot):
        task = slot.item.batch.task
        yield {
            "slot": slot.pk,
            "task": task.name,
            "kind": task.kind,
            "revisions": [_revision(one) for one in revisions],
        }


def _revision(judgment) -> dict:
    return {
        "revision": judgment.revision,
        "submitted_at": judgment.submitted_at,
        "answer": _ANSWERS[judgment.slot.item.batch.task.kind](judgment),
        "in_words": overview.said(judgment),
        "reason": judgment.reason,
        "flags": judgment.flags,
        "chips": judgment.chips,
        "marks": [
            mark | {"option": overview.place_of(judgment, mark["option"])}
            for mark in judgment.marks
        ],
        "active_seconds": judgment.seconds,
        "circumstances": judgment.circumstances,
    }


def _selection(judgment) -> dict:
    one = judgment.selection
    place = overview.place_of(judgment, one.choice.number) if one.choice else None
    return {"outcome": one.outcome, "place": place, "strength": one.strength}


def _preference(judgment) -> dict:
    value, points = overview.preference_as_shown(judgment)
    return {"value": value, "points": points}


def _feedback(judgment) -> dict:
    rows = sorted(judgment.feedback.scores.all(), key=lambda one: one.pk)
    return {
        "scores": [
            {
                "place": overview.place_of(judgment, one.option.number),
                "criterion": one.criterion,
                "score": one.score,
                "feedback": one.text,
                "chips": one.chips,
            }
            for one in rows
        ]
    }


def _attribute(judgment) -> dict:
    one = judgment.attributeverdict
    return {"verdict": one.verdict, "cause": one.cause}


def _relevance(judgment) -> dict:
    return {"relevant": judgment.relevance.relevant}


def _claims(judgment) -> dict:
    rows = sorted(judgment.claimreview.verdicts.all(), key=lambda one: one.claim.number)
    return {
        "claims": [
            {"claim": n, "verdict": one.verdict, "text": one.text}
            for n, one in enumerate(rows, start=1)
        ]
    }


_ANSWERS = {
    "selection": _selection,
    "preference": _preference,
    "feedback": _feedback,
    "attribute": _attribute,
    "relevance": _relevance,
    "claims": _claims,
}
