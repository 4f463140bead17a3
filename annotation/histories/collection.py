"""Days of history that owners collect for a study: which are there, and reminders of the others."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta

from django.conf import settings
from django.core.mail import send_mail
from django.db.models import Q
from django.db.models.functions import TruncDate
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.histories.models import Message
from annotation.studies.models import Membership, Role, Study

log = logging.getLogger(__name__)
# A person is reminded this often, until so long after the last day.
REMINDED_EVERY, REMINDED_AFTER = timedelta(days=3), timedelta(days=14)


@dataclass(frozen=True)
class Collection:
    """The ``days`` from the ``first`` on, of which those that are over hold entries, or not."""

    study: Study
    first: date
    days: int
    present: list[date]
    missing: list[date]

    @property
    def last(self) -> date:
        """The last day that is collected."""
        return self.first + timedelta(days=self.days - 1)


def collections(user: User, studies: Iterable[Study]) -> list[Collection]:
    """What ``user`` collects for those of ``studies`` that ask for it; days are those of UTC."""
    asking = [study for study in studies if study.collect_days]
    wanted = Membership.objects.filter(user=user, left_at=None, role=Role.ANNOTATOR)
    wanted = wanted.filter(study__in=asking).select_related("study")
    memberships = list(wanted.order_by("study__title"))
    if not memberships:
        return []
    begin = min(membership.joined_at for membership in memberships)
    dated = Message.objects.filter(session__owner=user, at__date__gte=begin.date())
    held = set(dated.values_list(TruncDate("at"), flat=True).distinct())
    return [_collection(membership, held) for membership in memberships]


def _collection(membership: Membership, held: set[date]) -> Collection:
    first, days = membership.joined_at.date(), membership.study.collect_days
    past = min(days, (timezone.now().date() - first).days)
    over = [first + timedelta(days=n) for n in range(past)]
    present = [day for day in over if day in held]
    missing = [day for day in over if day not in held]
    return Collection(membership.study, first, days, present, missing)


def remind() -> int:
    """Mail those whose days are missing, now and then; how many. Nothing without a mail server."""
    if not settings.EMAIL_URL:
        return 0
    now = timezone.now()
    waited = Q(reminded_at=None) | Q(reminded_at__lt=now - REMINDED_EVERY)
    memberships = Membership.objects.filter(
        waited,
        left_at=None,
        role=Role.ANNOTATOR,
        user__email__isnull=False,
        study__collect_days__gt=0,
        study__status=Study.Status.OPEN,
    )
    sent = 0
    for membership in memberships.select_related("user", "study"):
        (found,) = collections(membership.user, [membership.study])
        if found.missing and now.date() <= found.last + REMINDED_AFTER:
            try:
                _mail(membership.user, found)
            except OSError as error:  # the mail server is away: the next turn tries again
                log.warning("a reminder could not be sent: %s", type(error).__name__)
                continue
            Membership.objects.filter(pk=membership.pk).update(reminded_at=now)
            sent += 1
    return sent


def _mail(user: User, collection: Collection) -> None:
    link = settings.BASE_URL + reverse("history-uploads")
    with translation.override(user.language or settings.LANGUAGE_CODE):
        send_mail(
            settings.ACCOUNT_EMAIL_SUBJECT_PREFIX + _("Days of your history are missing"),
            render_to_string(
                "histories/email/missing.txt", {"collection": collection, "link": link}
            ),
            None,
            [user.email or ""],
        )
