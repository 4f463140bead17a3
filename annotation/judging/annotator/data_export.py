"""Everything that one person gave in one study, as a stream of JSON.

Only their own words and acts, as they saw the items: answers by their place on the page, never
by number, id or origin, and work and hidden checks alike.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import F, FloatField, QuerySet, Sum
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Coalesce

from annotation.accounts.models import Consent, User
from annotation.core.records import chunks
from annotation.judging.annotator import overview
from annotation.judging.kinds import Answer, config_of_task, kind_of
from annotation.judging.models import Draft, Handback, ItemComment, Judgment
from annotation.queries.models import GoldResponse, Query, Rubric
from annotation.studies.models import Study

CHUNK = 500
# What other apps hold of a person in a study, by its name in the file.
FURTHER: dict[str, Callable[[Study, User], Iterable]] = {}


def stream(study: Study, user: User) -> Iterator[str]:
    """The person's data as pieces of one JSON object; memory does not grow with it."""
    yield "{" + ",\n".join(f"{_json(key)}: {_json(value)}" for key, value in _about(study, user))
    for name, rows in _lists(study, user):
        yield f",\n{_json(name)}: ["
        for number, row in enumerate(rows):
            yield (",\n" if number else "\n") + _json(row)
        yield "]"
    yield "}\n"


def _json(value: object) -> str:
    return json.dumps(value, cls=DjangoJSONEncoder, ensure_ascii=False)


def _about(study: Study, user: User) -> list[tuple]:
    times = Judgment.objects.filter(slot__study=study, annotator=user).aggregate(
        active_seconds=Coalesce(Sum("seconds"), 0.0),
        idle_seconds=Coalesce(Sum(Cast(KT("circumstances__idle"), FloatField())), 0.0),
    )
    member = study.memberships.filter(user=user).values("joined_at", "left_at").first()
    return [
        ("study", {"slug": study.slug, "title": study.title}),
        ("person", {"name": user.name, "email": user.email, **(member or {})}),
        ("time", times),
    ]


def _lists(study: Study, user: User) -> list[tuple[str, Iterable]]:
    text = study.consent_text
    consents = Consent.objects.filter(user=user, text__name=text.name if text else None)
    given = {"slot__study": study, "annotator": user}
    commented = ItemComment.objects.filter(slot__study=study, author=user)
    version = {"name": F("text__name"), "version": F("text__version")}

    def rows(query: QuerySet, *columns: str, **named: F) -> QuerySet:
        return query.order_by("pk").values(*columns, **named)

    return [
        ("consents", rows(consents, "granted_at", "withdrawn_at", **version)),
        ("judgments", _judgments(study, user)),
        ("handed_back", rows(Handback.objects.filter(**given), "slot", "cause", "reason", "at")),
        ("drafts", rows(Draft.objects.filter(**given), "slot", "data", "saved_at")),
        ("comments", rows(commented, "slot", "text", "at")),
        ("messages", rows(study.messages.filter(sender=user), "body", "at")),
        *_own_queries(study, user),
        *((name, further(study, user)) for name, further in FURTHER.items()),
    ]


def _own_queries(study: Study, user: User) -> Iterator[tuple[str, Iterable]]:
    """The person's own questions in all versions, and what they made of the answers to them."""
    queries = Query.objects.filter(study=study, owner=user)
    fields = ("text", "language", "need", "guide", "scenario", "ready", "created_at")
    rows = queries.order_by("external_id", "version")
    yield "queries", rows.values("version", *fields, question=F("external_id"))
    for name, model in (("gold_responses", GoldResponse), ("rubrics", Rubric)):
        texts = model.objects.filter(query__in=queries).order_by("query", "version")
        about = {"question": F("query__external_id"), "question_version": F("query__version")}
        yield name, texts.values("version", "text", "created_at", **about)


def _judgments(study: Study, user: User) -> Iterator[dict]:
    """Each item once, with the first answer and every change."""
    rows = Judgment.objects.filter(slot__study=study, annotator=user)
    rows = rows.select_related("slot__item__batch__task").order_by("slot_id", "revision")
    pages = chunks(rows.iterator(chunk_size=CHUNK), CHUNK)
    pairs = (pair for page in pages for pair in _with_answers(page))
    for slot, revisions in groupby(pairs, key=lambda pair: pair[0].slot):
        task = slot.item.batch.task
        yield {
            "slot": slot.pk,
            "task": task.name,
            "kind": task.kind,
            "revisions": [_revision(judgment, answer) for judgment, answer in revisions],
        }


def _with_answers(judgments: Sequence[Judgment]) -> Iterator[tuple]:
    answers = overview.shown_answers(judgments)
    return ((judgment, answers[judgment.pk]) for judgment in judgments)


def _revision(judgment: Judgment, answer: Answer) -> dict:
    task = judgment.slot.item.batch.task
    kind, config = kind_of(task.kind), config_of_task(task)
    places = {place: str(place) for place in range(1, len(judgment.shown) + 1)}
    return {
        "revision": judgment.revision,
        "submitted_at": judgment.submitted_at,
        "answer": kind.answer_json(answer, places | {0: "?"}, config),
        "detail": answer.detail,
        "in_words": overview.answer_words(judgment, answer),
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
