"""Messages between a study's curators and its annotators.

An annotator sees what was written to all of them since they joined, or to them, and what they
wrote; the curators see all of their study's. Nobody learns who else got or read what.
"""

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _

from annotation import policies
from annotation.accounts.models import User
from annotation.core import audit
from annotation.core.errors import DomainError, NotFound
from annotation.studies.access import member_of
from annotation.studies.models import Membership, Message, MessageRead, Role, Study

LENGTH_LIMIT = 10_000

Audience = Message.Audience


def visible(user: User, study: Study) -> QuerySet:
    """The messages of ``study`` (with ``role``, see access) that ``user`` may read, newest first.

    Each has ``read``: whether this person has read it, wrote it, or it is for others.
    """
    manages = _manages(user, study)
    marked = MessageRead.objects.filter(message=OuterRef("pk"), user=user)
    read = Exists(marked) | Q(sender=user)
    if manages:
        read |= ~Q(audience=Audience.CURATORS)
    rows = study.messages.annotate(read=read).order_by("-pk")
    return rows if manages else rows.filter(_for_annotator(user, study))


def unread(user: User, study: Study) -> QuerySet[Message]:
    """What is visible, addressed to ``user`` and not read yet, newest first."""
    return visible(user, study).filter(read=False)


def heading(message: Message, reader: User, manages: bool) -> str:
    """From whom to whom a message is, as far as ``reader`` may know it."""
    who: dict = {"who": message.sender, "whom": message.recipient}
    if message.sender_id == reader.pk:
        who = {"who": message.recipient}
        to_person, to_curators = _("From you to %(who)s"), _("From you to the curators")
        to_all = _("From you to all annotators")
    elif not manages:
        to_person, to_all = _("From the curators to you"), _("From the curators to all annotators")
        to_curators = to_all
    else:
        to_person, to_curators = _("From %(who)s to %(whom)s"), _("From %(who)s to the curators")
        to_all = _("From %(who)s to all annotators")
    return {Audience.PERSON: to_person, Audience.CURATORS: to_curators}.get(
        Audience(message.audience), to_all
    ) % who


def _manages(user: User, study: Study) -> bool:
    return policies.message.may_write_to_all(member_of(user, study))


def _for_annotator(user: User, study: Study) -> Q:
    joined = Membership.objects.filter(study=study, user=user).values("joined_at")[:1]
    to_all = Q(audience=Audience.ANNOTATORS, at__gte=joined)
    return to_all | Q(audience=Audience.PERSON, recipient=user) | Q(sender=user)


def recipients(study: Study) -> QuerySet[Membership]:
    """The annotators of ``study``, one of whom a message can be for."""
    rows = study.memberships.filter(role=Role.ANNOTATOR, left_at=None)
    return rows.select_related("user").order_by("pk")


@transaction.atomic
def send_message(study: Study, sender: User, body: str, recipient: User | None = None) -> Message:
    """Send a message: from a curator to ``recipient`` (None: all annotators), else to the curators.

    Raises DomainError for an empty or too long text, NotFound where the recipient does not
    annotate the study.
    """
    body = body.replace("\r\n", "\n").replace("\x00", "").strip()
    if not body or len(body) > LENGTH_LIMIT:
        raise DomainError(_("Write up to %(n)d characters.") % {"n": LENGTH_LIMIT})
    audience = Audience.CURATORS
    if _manages(sender, study):
        audience = Audience.PERSON if recipient else Audience.ANNOTATORS
        if recipient and not recipients(study).filter(user=recipient).exists():
            raise NotFound(_("There is no such annotator in this study."))
    recipient = recipient if audience == Audience.PERSON else None
    message = Message.objects.create(
        study=study, sender=sender, audience=audience, recipient=recipient, body=body
    )
    audit.record(sender, "message.write", message, audience=audience)
    return message


def mark_read(user: User, study: Study, up_to: int) -> None:
    """Note that ``user`` has read everything up to the message ``up_to``; twice is once."""
    rows = unread(user, study).filter(pk__lte=up_to)
    MessageRead.objects.bulk_create(
        (MessageRead(message=message, user=user) for message in rows), ignore_conflicts=True
    )
