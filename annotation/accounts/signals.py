"""Tell the old address of what allauth does not tell it."""

from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.models import EmailAddress
from allauth.account.signals import email_added, email_removed
from django.dispatch import receiver
from django.http import HttpRequest

from annotation.accounts.models import User
from annotation.core import audit


@receiver(email_added)
def tell_of_added(
    sender: type[EmailAddress],
    request: HttpRequest,
    user: User,
    email_address: EmailAddress,
    **kwargs: Any,
) -> None:
    context = {"added_email": email_address.email}
    get_adapter(request).send_notification_mail("account/email/email_added", user, context)
    audit.record(user, "email.add", user)


@receiver(email_removed)
def tell_of_removed(
    sender: type[EmailAddress],
    request: HttpRequest,
    user: User,
    email_address: EmailAddress,
    **kwargs: Any,
) -> None:
    """The removed address learns of it too: allauth tells the primary one."""
    if email_address.verified:
        context = {"deleted_email": email_address.email}
        get_adapter(request).send_notification_mail(
            "account/email/email_deleted", user, context, email=email_address.email
        )
    audit.record(user, "email.remove", user)
