"""Notifies owners that answers to their own questions, or claims, are open for them to judge.

The message on the desk is written in the transaction that opens the items, is shown in the reader's
language and leaves the desk with the last of the items. A mail follows where a mail server is set;
a mail that cannot be sent is logged, and the message stays.
"""

import logging

from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction
from django.db.models import Count
from django.urls import reverse
from django.utils import translation

from annotation import policies
from annotation.accounts.models import User
from annotation.judging.models import Batch, Slot
from annotation.policies import holding
from annotation.studies.models import Message, items_opened
from annotation.studies.wording import localized

log = logging.getLogger(__name__)


def announce(batch: Batch, by: User | None = None) -> int:
    """Write a message to each owner whose items ``batch`` opened; how many messages.

    Part of the transaction that opens the batch. ``by`` opened it; where a worker did, the message
    comes from the first who manages the study.
    """
    sender = by or _manager(batch)
    if sender is None:
        return 0
    counts = _counts(batch)
    owners = User.objects.in_bulk(counts)
    Message.objects.bulk_create(
        Message(
            study=batch.study,
            sender=sender,
            audience=Message.Audience.PERSON,
            recipient=owner,
            body=_sentence(owner, counts[owner.pk]),
            items=counts[owner.pk],
            batch_number=batch.pk,
        )
        for owner in owners.values()
    )
    if settings.EMAIL_URL and owners:
        transaction.on_commit(lambda: _request_mail(batch.pk))
    return len(owners)


def mail(batch_id: int) -> int:
    """Mail to each owner what ``announce`` wrote on their desks; how many mails were sent."""
    batch = Batch.objects.select_related("study").get(pk=batch_id)
    counts, sent = _counts(batch), 0
    link = settings.BASE_URL + reverse("owner-steps", args=[batch.study.slug])
    for owner in User.objects.filter(pk__in=counts, is_active=True):
        with translation.override(owner.language or settings.LANGUAGE_CODE):
            subject = settings.ACCOUNT_EMAIL_SUBJECT_PREFIX + localized(batch.study, "title")
            body = f"{_sentence(owner, counts[owner.pk])}\n\n{link}\n"
        try:
            sent += send_mail(" ".join(subject.split()), body, None, [owner.email or ""])
        except OSError as error:
            log.warning("batch %s: no mail to %s (%s)", batch_id, owner.pk, type(error).__name__)
    return sent


def still_true(user: User, unread: dict[int, list[Message]]) -> dict[int, list[Message]]:
    """``unread`` of each study, without notices of batches in which nothing waits for ``user``."""
    batches = {row.batch_number for rows in unread.values() for row in rows if row.batch_number}
    if not batches:
        return unread
    slots = Slot.objects.filter(item__batch__in=batches, reserved_for=user)
    unjudged = slots.filter(status__in=(Slot.Status.OPEN, Slot.Status.HELD))
    waiting = set(unjudged.values_list("item__batch", flat=True))
    holds = {None, *waiting}
    return {pk: [row for row in rows if row.batch_number in holds] for pk, rows in unread.items()}


def _counts(batch: Batch) -> dict[int, int]:
    slots = Slot.objects.filter(item__batch=batch).exclude(reserved_for=None)
    rows = slots.values("reserved_for").annotate(n=Count("pk")).order_by()
    return dict(rows.values_list("reserved_for", "n"))


def _sentence(owner: User, count: int) -> str:
    with translation.override(owner.language or settings.LANGUAGE_CODE):
        return items_opened(count)


def _manager(batch: Batch) -> User | None:
    roles = holding(policies.batch.may_change)
    members = batch.study.memberships.filter(role__in=roles, left_at=None)
    member = members.select_related("user").order_by("pk").first()
    return member.user if member else None


def _request_mail(batch_id: int) -> None:
    # Here, because every command that can open items imports this module, and most send no mail.
    import redis
    from kombu.exceptions import OperationalError

    from annotation.celery import app

    try:
        app.send_task("annotation.judging.tasks.mail_owners", [batch_id])
    except (OperationalError, redis.RedisError) as error:
        log.warning("no broker (%s): no mail for batch %s", type(error).__name__, batch_id)
