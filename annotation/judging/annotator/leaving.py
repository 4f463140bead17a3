"""Ways out of a study: take one's consent and judgments back, or only stop taking part."""

from django.db import transaction
from django.dispatch import Signal

from annotation.accounts import consent
from annotation.accounts.models import User
from annotation.core import audit
from annotation.judging.annotator import erase
from annotation.judging.models import Draft, Handback, ItemComment, Slot
from annotation.judging.work import queue
from annotation.judging.work.voids import void
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
    taken = void(study, annotator, cause="withdrawn", by=annotator)
    erase.own_queries(study, annotator)
    Draft.objects.filter(slot__study=study, annotator=annotator).delete()
    ItemComment.objects.filter(slot__study=study, slot__annotator=annotator).delete()
    erase.written_words(study, annotator)
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
    queue.lock_desk(study, annotator)
    held = Slot.objects.select_for_update().filter(
        study=study, annotator=annotator, status=Slot.Status.HELD
    )
    if slots := list(held):
        queue.reopen(slots, Handback.Cause.RELEASED)
