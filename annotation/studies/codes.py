"""Join codes for a classroom: many people, one short code, a number of uses."""

from typing import NoReturn

from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.core import audit
from annotation.core.errors import Conflict, NotFound
from annotation.studies.models import JoinCode, Membership, Role


def _valid() -> QuerySet[JoinCode]:
    return JoinCode.objects.filter(
        revoked_at=None, expires_at__gt=timezone.now(), used__lt=F("uses")
    ).select_related("study")


def find(code: str) -> JoinCode:
    """The code as somebody typed it; NotFound where it is wrong, old, revoked or used up."""
    join_code = _valid().filter(digest__in=JoinCode.digests_of(code)).first()
    return join_code or _refuse()


def standing(pk: int | str) -> JoinCode:
    """A code that was found before, if it still holds; NotFound otherwise."""
    return _valid().filter(pk=pk).first() or _refuse()


def _refuse() -> NoReturn:
    raise NotFound(_("There is no such code, or it is not valid any more. Check each sign."))


def join(code: JoinCode, user: User) -> Membership:
    """Make ``user`` an annotator and count the use.

    Raises NotFound where the code has ended or its uses are up, Conflict where the person is or
    was a member: a removed member does not come back by a public code.
    """
    try:
        return _join(code, user)
    except IntegrityError:
        raise Conflict(_("You are a member of this study already.")) from None


@transaction.atomic
def _join(code: JoinCode, user: User) -> Membership:
    before = Membership.objects.filter(study=code.study_id, user=user).first()
    if before and before.left_at is None:
        raise Conflict(_("You are a member of this study already."))
    if before:
        raise Conflict(_("You were a member of this study. Ask for an invitation of your own."))
    # One statement tests and counts, so that parallel joins never exceed the uses.
    if not _valid().filter(pk=code.pk).update(used=F("used") + 1):
        _refuse()
    membership = Membership.objects.create(study=code.study, user=user, role=Role.ANNOTATOR)
    audit.record(user, "code.join", code, member=membership.pk)
    return membership
