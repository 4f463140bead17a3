"""What an operator may do to accounts; each act is in the audit trail."""

from allauth.account.forms import default_token_generator
from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.core import audit
from annotation.core.errors import Conflict


def search(words: str) -> QuerySet[User]:
    """Accounts whose address, name or worker id holds ``words``.

    The newest first, after all others those of imported votes, which nobody can log in to.
    """
    rows = User.objects.alias(without_address=Q(email=None)).order_by("without_address", "-pk")
    if words:
        rows = rows.filter(
            Q(email__icontains=words) | Q(name__icontains=words) | Q(worker__icontains=words)
        )
    return rows


@transaction.atomic
def deactivate(user: User, by: User) -> None:
    """Close an account: sessions and tokens end. Raises Conflict for one's own."""
    if user.pk == by.pk:
        raise Conflict(_("You cannot close the account you are using."))
    User.objects.filter(pk=user.pk).update(is_active=False)
    _end_sessions(user)
    _revoke(user)
    audit.record(by, "account.close", user)


@transaction.atomic
def activate(user: User, by: User) -> None:
    """Open a closed account again; its tokens stay revoked."""
    User.objects.filter(pk=user.pk).update(is_active=True)
    audit.record(by, "account.open", user)


@transaction.atomic
def reset_link(user: User, by: User) -> str:
    """A link that sets the account's password, once; second factors stay."""
    if not user.email:
        raise Conflict(_("This account has no address to log in with."))
    key = default_token_generator.make_token(user)
    names = {"uidb36": user_pk_to_url_str(user), "key": key}
    audit.record(by, "account.reset", user)
    return settings.BASE_URL + reverse("account_reset_password_from_key", kwargs=names)


@transaction.atomic
def drop_tokens(user: User, by: User) -> int:
    """Revoke all API tokens; how many."""
    count = _revoke(user)
    audit.record(by, "account.tokens", user, revoked=count)
    return count


@transaction.atomic
def drop_factors(user: User, by: User) -> None:
    """Remove second factors of whoever lost theirs, and end their sessions."""
    Authenticator.objects.filter(user=user).delete()
    _end_sessions(user)
    audit.record(by, "account.factors", user)


def _revoke(user: User) -> int:
    return user.tokens.filter(revoked_at=None).update(revoked_at=timezone.now())


def _end_sessions(user: User) -> None:
    standing = Session.objects.filter(expire_date__gt=timezone.now())
    ended = [
        session.pk
        for session in standing.iterator(500)
        if session.get_decoded().get("_auth_user_id") == str(user.pk)
    ]
    Session.objects.filter(pk__in=ended).delete()
