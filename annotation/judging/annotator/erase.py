"""Takes out of a study what somebody asked and wrote there, when they withdraw."""

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from annotation.accounts.models import User
from annotation.candidates.models import Candidate
from annotation.core import audit
from annotation.judging.models import Answer, Handback, Judgment
from annotation.queries.models import GoldClaim, GoldResponse, Ground, Query, Rubric
from annotation.studies.models import Study

EMPTY = {"text": "", "prompt": None, "parameters": {}, "urls": []}


@transaction.atomic
def written_words(study: Study, annotator: User) -> None:
    """Erase every free text that ``annotator`` wrote in ``study``; choices and scores stay."""
    _erase_words(Judgment.objects.filter(slot__study=study, annotator=annotator))
    Handback.objects.filter(slot__study=study, annotator=annotator).update(reason="")
    study.messages.filter(sender=annotator).delete()


def _erase_words(judgments: QuerySet[Judgment], chips: bool = False) -> None:
    """Erase the free texts of ``judgments``; with ``chips`` the reasons ticked for a part, too."""
    judgments.update(reason="", marks=[])
    answers = Answer.objects.filter(judgment__in=judgments)
    answers.update(text="", **({"chips": []} if chips else {}))


@transaction.atomic
def own_queries(study: Study, owner: User) -> int:
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
