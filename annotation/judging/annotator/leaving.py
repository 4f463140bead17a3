"""Ways out of a study: take one's consent and judgments back, or only stop taking part."""

from django.db import transaction
from django.db.models import Q, QuerySet
from django.dispatch import Signal
from django.utils import timezone

from annotation.accounts import consent
from annotation.accounts.models import User
from annotation.candidates.models import Candidate
from annotation.core import audit
from annotation.judging.models import Answer, Draft, Handback, ItemComment, Judgment, Slot
from annotation.judging.work import queue
from annotation.queries.models import GoldClaim, GoldResponse, Ground, Query, Rubric
from annotation.studies import crowd, members, survey
from annotation.studies.models import Study

# Sent in the transaction of a withdrawal with ``study`` and ``annotator``.
withdrawn = Signal()


@transaction.atomic
def withdraw(study: Study, annotator: User) -> int:
    """Take back ``annotator``'s consent and all that they judged; how many judgments that were.

    The one way of withdrawing, whichever page it begins on. Judgments leave the results and every
    later release; own queries with all that was made of them, reasons, messages, comments, and what
    was typed and not submitted, are erased. Whoever agrees again later starts from the
    beginning: what was taken out stays out.
    """
    if study.consent_text:
        consent.withdraw(annotator, study.consent_text)
        audit.record(annotator, "consent.withdraw", study.consent_text)
    taken = queue.void(study, annotator, cause="withdrawn", by=annotator)
    erase_own_queries(study, annotator)
    Draft.objects.filter(slot__study=study, annotator=annotator).delete()
    ItemComment.objects.filter(slot__study=study, slot__annotator=annotator).delete()
    # Every free text that they wrote; choices and scores stay.
    _erase_words(Judgment.objects.filter(slot__study=study, annotator=annotator))
    Handback.objects.filter(slot__study=study, annotator=annotator).update(reason="")
    study.messages.filter(sender=annotator).delete()
    survey.take_back(study, annotator)
    withdrawn.send(sender=None, study=study, annotator=annotator)
    return taken


@transaction.atomic
def leave(study: Study, annotator: User) -> None:
    """End ``annotator``'s part in the study; the item in their hands goes to somebody else.

    What they judged stays, unless they withdraw too. Twice is once.
    """
    let_go(study, annotator)
    entry = crowd.entry_of(annotator, study)
    if entry:
        crowd.give_back(entry)
    membership = study.memberships.filter(user=annotator, left_at=None).first()
    if membership:
        members.change_role(membership, "", annotator)


def let_go(study: Study, annotator: User) -> None:
    """Hand back what this person holds in the study; part of the caller's transaction."""
    queue.lock_participation(study, annotator)
    held = Slot.objects.select_for_update().filter(
        study=study, annotator=annotator, status=Slot.Status.HELD
    )
    if slots := list(held):
        queue.reopen(slots, Handback.Cause.RELEASED)


EMPTY = {"text": "", "prompt": None, "parameters": {}, "urls": []}


def _erase_words(judgments: QuerySet[Judgment], chips: bool = False) -> None:
    """Erase the free texts of ``judgments``; with ``chips`` the reasons ticked for a part, too."""
    judgments.update(reason="", marks=[])
    answers = Answer.objects.filter(judgment__in=judgments)
    # What says nothing without its words.
    bare = answers.filter(label="", value=None, marks__isnull=True)
    (bare if chips else bare.filter(chips=[])).delete()
    answers.update(text="", **({"chips": []} if chips else {}))
    marked = list(answers.filter(marks__isnull=False))
    for answer in marked:
        answer.marks = [{n: each for n, each in mark.items() if n != "text"}
                        for mark in answer.marks or ()]  # fmt: skip
    Answer.objects.bulk_update(marked, ["marks"])


@transaction.atomic
def erase_own_queries(study: Study, owner: User) -> int:
    """Erase ``owner``'s queries in ``study`` and all that was made of them; how many queries.

    The rows stay, without their words: judgments point to them. Answers that are still to be
    written are given up.
    """
    queries = Query.objects.filter(study=study, owner=owner)
    answers = Candidate.every.filter(query__in=queries)
    answers.filter(status__in=["requested", "running"]).update(
        status=Candidate.Status.FAILED, error_code="no_consent", lease_expires_at=None
    )
    answers.update(**EMPTY)
    about = Q(slot__item__query__in=queries) | Q(slot__item__gold__query__in=queries)
    _erase_words(Judgment.objects.filter(about), chips=True)
    GoldClaim.objects.filter(response__query__in=queries).update(text="")
    GoldResponse.objects.filter(query__in=queries).update(text="")
    Rubric.objects.filter(query__in=queries).delete()
    Ground.objects.filter(query__in=queries).delete()
    queries.filter(replaced_at=None).update(replaced_at=timezone.now())
    count = queries.update(text="", need="", guide={}, scenario="")
    if count:
        audit.record(owner, "queries.erase", study, queries=count)
    return count
