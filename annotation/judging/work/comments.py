"""What an annotator and the curators write to each other about one judged item.

A thread belongs to a slot: its annotator and the study's curators read it, nobody else. A comment
by anybody but the slot's annotator is an answer of the curators.
"""

from collections import defaultdict
from collections.abc import Iterable
from uuid import UUID

from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Left, Now
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.core import audit, records
from annotation.core.errors import DomainError, NotFound
from annotation.judging.models import ItemComment, Slot
from annotation.queries.models import asked_of
from annotation.studies.models import Study

LIMIT = 5_000
BEGINNING = 80
_IS_ANSWER = ~Q(author=F("slot__annotator"))


def write_comment(study: Study, slot_id: UUID, author: User, body: str) -> ItemComment:
    """Store a comment for the curators on an item that ``author`` has judged.

    Raises NotFound where they have not, DomainError for an empty or too long text.
    """
    words = checked(body)
    slot = judged(study).filter(pk=slot_id, annotator=author, status=Slot.Status.DONE).first()
    if slot is None:
        raise NotFound(_("You have not judged this item."))
    return ItemComment.objects.create(slot=slot, author=author, text=words)


def answer(study: Study, slot_id: UUID, curator: User, body: str) -> ItemComment:
    """Store what ``curator`` writes to the annotator of a judged slot about its item.

    Raises NotFound where nobody has judged it, DomainError for an empty or too long text.
    """
    words = checked(body)
    slot = judged(study).filter(pk=slot_id).exclude(annotator=curator).first()
    if slot is None:
        raise NotFound(_("Nobody has judged this item."))
    stored = ItemComment.objects.create(slot=slot, author=curator, text=words)
    audit.record(curator, "comment.answer", slot, study=study.slug)
    return stored


def judged(study: Study) -> QuerySet[Slot]:
    """The study's slots that a thread can belong to, also those whose judgment was taken out."""
    return Slot.objects.filter(study=study, status__in=(Slot.Status.DONE, Slot.Status.VOID))


def threads(slots: Iterable[UUID]) -> dict[UUID, list[ItemComment]]:
    """{slot: its comments and answers in order of time}; each has ``is_answer``."""
    of_slot: dict[UUID, list[ItemComment]] = defaultdict(list)
    rows = ItemComment.objects.filter(slot__in=list(slots)).annotate(is_answer=Q(_IS_ANSWER))
    for comment in rows.order_by("at", "pk"):
        of_slot[comment.slot_id].append(comment)
    return of_slot


def commented(study: Study) -> QuerySet[Slot]:
    """Slots with a thread: those that wait for an answer (``waits``) first, then the newest."""
    newest = ItemComment.objects.filter(slot=OuterRef("pk")).order_by("-pk")
    rows = judged(study).annotate(
        last=Subquery(newest.values("pk")[:1]),
        waits=Q(annotator=Subquery(newest.values("author")[:1])),
    )
    return rows.filter(last__isnull=False).order_by("-waits", "-last")


def unread(user: User, studies: list[Study]) -> dict[int, list[tuple[UUID, str]]]:
    """{study's id: (slot of ``user`` with unread answers, its question)}, in one statement."""
    rows = ItemComment.objects.filter(
        _IS_ANSWER, slot__annotator=user, slot__study__in=studies, read_at=None
    )
    of_study = defaultdict(list)
    asked = Left(asked_of("slot__item"), BEGINNING)
    rows = rows.annotate(asked=asked).order_by("slot", "pk").distinct("slot")
    for study, slot, question in rows.values_list("slot__study", "slot", "asked"):
        of_study[study].append((slot, question or ""))
    return dict(of_study)


def mark_read(user: User, slots: Iterable[UUID]) -> None:
    """Note that ``user`` has seen the curators' answers in these slots of theirs."""
    rows = ItemComment.objects.filter(_IS_ANSWER, slot__in=list(slots), slot__annotator=user)
    ItemComment.objects.filter(pk__in=rows.filter(read_at=None).values("pk")).update(read_at=Now())


def checked(body: str, limit: int = LIMIT, empty: str = "") -> str:
    """What is stored of a text. DomainError for an empty one (in the words of ``empty``) or a long
    one.
    """
    words = records.clean(body.replace("\r\n", "\n")).strip()
    if not words and empty:
        raise DomainError(empty, code="text")
    if not words or len(words) > limit:
        raise DomainError(_("Write up to %(n)d characters.") % {"n": limit}, code="text")
    return words
