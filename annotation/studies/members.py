"""Make a study, open and close it; join it, change a role, leave."""

from typing import Any, NoReturn

from allauth.account.models import EmailAddress
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.core import audit
from annotation.core.errors import Conflict, DomainError, NotFound
from annotation.core.schema import built, fields_of
from annotation.studies.models import RESERVED_SLUGS, Invitation, JoinCode, Membership, Role, Study
from annotation.studies.schemas import Settings, settings_of

LENGTH = 40


@transaction.atomic
def create_study(form_data: dict, by: User) -> Study:
    study = Study.objects.create(**form_data)
    Membership.objects.create(study=study, user=by, role=Role.ADMINISTRATOR)
    audit.record(by, "study.create", study)
    return study


@transaction.atomic
def change_settings(study: Study, values: dict[str, Any], by: User | None) -> None:
    """Set what ``values`` name of the settings, and of the study's other fields.

    DomainError in words where the settings cannot be so.
    """
    merged = settings_of(study) | values
    built(Settings, {name: merged[name] for name in fields_of(Settings)})
    for name, value in values.items():
        setattr(study, name, value)
    # Not the whole row: its state may have been changed meanwhile.
    study.save(update_fields=list(values))
    audit.record(by, "study.change", study)


def valid_invitation(**which: Any) -> Invitation:
    """The invitation of this ``key`` or ``pk``; NotFound where it is used, old or revoked."""
    if "key" in which:
        which = {"digest": Invitation.digest_of(which["key"])}
    invitation = valid_invitations().select_related("study").filter(**which).first()
    if invitation is None:
        raise NotFound(_("This invitation is not valid any more. Ask for a new one."))
    return invitation


def valid_invitations() -> QuerySet[Invitation]:
    """Invitations that still make somebody a member."""
    now = timezone.now()
    return Invitation.objects.filter(accepted_at=None, revoked_at=None, expires_at__gt=now)


@transaction.atomic
def revoke(study: Study, pk: int, by: User) -> None:
    """Let an invitation that nobody accepted open nothing any more. Raises NotFound."""
    waiting = study.invitations.select_for_update().filter(pk=pk, accepted_at=None)
    invitation = waiting.first()
    if invitation is None:
        raise NotFound(_("There is no such invitation."))
    invitation.revoked_at = timezone.now()
    invitation.save(update_fields=["revoked_at"])
    audit.record(by, "invitation.revoke", invitation)


@transaction.atomic
def accept(key: str, user: User) -> Membership:
    """Make ``user`` a member through an invitation, which is used up by it.

    Raises NotFound for a dead link, DomainError where it was made out to another address, Conflict
    where the person has a role in the study already.
    """
    invitation = Invitation.objects.select_for_update(of=["self"]).get(
        pk=valid_invitation(key=key).pk
    )
    if invitation.accepted_at or invitation.revoked_at:
        raise NotFound(_("This invitation is not valid any more. Ask for a new one."))
    _check_address(invitation, user)
    membership = Membership.objects.filter(study=invitation.study, user=user).first()
    if membership and membership.left_at is None:
        raise Conflict(_("You are a member of this study already."))
    membership, _created = Membership.objects.update_or_create(
        study=invitation.study, user=user, defaults={"role": invitation.role, "left_at": None}
    )
    invitation.accepted_by = user
    invitation.accepted_at = timezone.now()
    invitation.save(update_fields=["accepted_by", "accepted_at"])
    audit.record(user, "invitation.accept", invitation, role=invitation.role)
    return membership


def _check_address(invitation: Invitation, user: User) -> None:
    """Refuse an account whose address is not, or not provably, the invitation's.

    Anybody can sign up with anybody's address. Proof is that the link itself was mailed to it, or
    that the address is confirmed. Without a mail server neither can be: then the administrator
    handed the link over, and is responsible for who has it.
    """
    if not invitation.email:
        return
    if invitation.email != (user.email or "").lower():
        raise DomainError(_("This invitation was made out to another e-mail address."), status=403)
    if invitation.mailed_at or not settings.EMAIL_URL:
        return
    confirmed = EmailAddress.objects.filter(
        user=user, email__iexact=invitation.email, verified=True
    )
    if not confirmed.exists():
        raise DomainError(
            _("Confirm your e-mail address first (under your account), then open this link again."),
            status=403,
        )


@transaction.atomic
def change_status(study: Study, status: str, by: User) -> None:
    """Open, close or reopen ``study``: work is handed out only while it is open."""
    study.status = status
    study.save(update_fields=["status"])
    audit.record(by, "study.status", study, status=status)


@transaction.atomic
def change_role(membership: Membership, role: str, by: User) -> None:
    """Give a member another role, or with ``role`` empty end the membership.

    Raises DomainError where the study would be left without an administrator.
    """
    # One change at a time: two administrators could otherwise demote each other at once.
    Study.objects.select_for_update().get(pk=membership.study_id)
    membership.refresh_from_db(fields=["role", "left_at"])
    others = Membership.objects.filter(
        study=membership.study_id, role=Role.ADMINISTRATOR, left_at=None
    ).exclude(pk=membership.pk)
    if membership.role == Role.ADMINISTRATOR != role and not others.exists():
        raise DomainError(_("A study keeps at least one administrator."))
    before = membership.role
    if role:
        membership.role = role
    else:
        membership.left_at = timezone.now()
    membership.save(update_fields=["role", "left_at"])
    audit.record(by, "member.change", membership, before=before, after=role)


def address_for(title: str) -> str:
    """Return an address that no study has yet; "study" stands where the title has no a-z or 0-9."""
    plain = slugify(title).replace("_", "-")[:LENGTH].strip("-") or "study"
    taken = set(Study.objects.filter(slug__startswith=plain).values_list("slug", flat=True))
    taken |= RESERVED_SLUGS
    number, address = 1, plain
    while address in taken:
        number += 1
        address = f"{plain}-{number}"
    return address


def _valid_codes() -> QuerySet[JoinCode]:
    return JoinCode.objects.filter(
        revoked_at=None, expires_at__gt=timezone.now(), used__lt=F("uses")
    ).select_related("study")


def valid_code(signs: str | None = None, pk: int | None = None) -> JoinCode:
    """The code as somebody typed it, or of this ``pk``; NotFound where it is wrong or has ended."""
    which: dict = {"pk": pk} if signs is None else {"digest__in": JoinCode.digests_of(signs)}
    return _valid_codes().filter(**which).first() or _refuse_code()


def _refuse_code() -> NoReturn:
    raise NotFound(_("There is no such code, or it is not valid any more. Check each sign."))


def join_by_code(code: JoinCode, user: User) -> Membership:
    """Make ``user`` an annotator and count the use.

    Raises NotFound where the code has ended or its uses are up, Conflict where the person is or
    was a member: a removed member does not come back by a public code.
    """
    try:
        return _join_by_code(code, user)
    except IntegrityError:
        raise Conflict(_("You are a member of this study already.")) from None


@transaction.atomic
def _join_by_code(code: JoinCode, user: User) -> Membership:
    before = Membership.objects.filter(study=code.study_id, user=user).first()
    if before and before.left_at is None:
        raise Conflict(_("You are a member of this study already."))
    if before:
        raise Conflict(_("You were a member of this study. Ask for an invitation of your own."))
    # One statement tests and counts, so that parallel joins never exceed the uses.
    if not _valid_codes().filter(pk=code.pk).update(used=F("used") + 1):
        _refuse_code()
    membership = Membership.objects.create(study=code.study, user=user, role=Role.ANNOTATOR)
    audit.record(user, "code.join", code, member=membership.pk)
    return membership
