"""Participants of a crowd platform (Prolific): in by a signed link, out with a completion code.

The platform appends PROLIFIC_PID, STUDY_ID and SESSION_ID to our link. The first arrival makes an
account without password or address; the link opens no other account, ever (``_check_account``).
"""

import hashlib
import re
import secrets
from dataclasses import dataclass
from urllib.parse import quote

from django.core.signing import BadSignature, Signer
from django.db import transaction
from django.db.models.fields.reverse_related import ForeignObjectRel
from django.http import QueryDict
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.core import audit
from annotation.core.errors import Conflict, DomainError, NotFound
from annotation.studies.models import CrowdEntry, CrowdSource, Membership, Role, Study

PARAMETERS = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")

# Apps whose rows about a person come from taking part.
LEFT_BY_ANNOTATING = {"accounts", "studies", "queries", "judging", "live"}

_signer = Signer(salt="annotation.studies.crowd")
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True)
class Arrival:
    """The platform's parameters of one arrival: participant, study, session."""

    participant: str
    study: str
    session: str

    @property
    def digest(self) -> str:
        """Digest of the session id, which is a random number of the platform's."""
        return hashlib.sha256(self.session.encode()).hexdigest()


@dataclass(frozen=True)
class Completion:
    """The code that a participant takes back, and the address to go to (or "")."""

    code: str
    url: str


def token(source: CrowdSource) -> str:
    """The part of the source's link that names its study and source, signed."""
    return _signer.sign_object([source.study_id, source.pk])


def source_of(signed: str) -> CrowdSource:
    """The source of a link; NotFound where a single sign of it was changed."""
    try:
        study, pk = _signer.unsign_object(signed)
    except BadSignature:
        study = pk = None
    source = CrowdSource.objects.select_related("study").filter(study=study, pk=pk).first()
    if source is None:
        raise NotFound(_("This link is not valid. Open the study on the platform once more."))
    return source


def read_arrival(query: QueryDict) -> Arrival:
    """The three parameters of the address (a QueryDict); DomainError where one is odd."""
    values = []
    for name in PARAMETERS:
        entries = query.getlist(name)
        if len(entries) != 1 or not _ID.fullmatch(entries[0]):
            raise DomainError(
                _("The platform's %(name)s is missing or unreadable. Open the study there again.")
                % {"name": name}
            )
        values += entries
    return Arrival(*values)


@transaction.atomic
def enter(source: CrowdSource, arrival: Arrival, browser: int | None) -> CrowdEntry:
    """The participant's entry: their own again, or at the first arrival a new one.

    ``browser`` is the entry that this browser is known to belong to. Raises a DomainError where
    the link may not open the account, or no newcomer may enter.
    """
    # Arrivals in a study take turns: places are counted, and nobody comes in by two links.
    study = Study.objects.select_for_update(no_key=True).get(pk=source.study_id)
    source.refresh_from_db()
    entry = (
        study.crowd_entries.select_related("user").filter(participant=arrival.participant).first()
    )
    return _again(entry, source, arrival, browser) if entry else _first(study, source, arrival)


def _first(study: Study, source: CrowdSource, arrival: Arrival) -> CrowdEntry:
    if source.submission_study not in ("", arrival.study):
        raise DomainError(_("This link is for another study of the platform."), status=403)
    if source.closed_at or study.status != Study.Status.OPEN:
        raise Conflict(_("This study takes nobody in at the moment. Return your submission."))
    taken = source.entries.filter(returned_at=None).count()
    if source.places is not None and taken >= source.places:
        raise Conflict(_("All places in this study are taken. Return your submission."))
    name = f"crowd-{secrets.token_hex(5)}"
    user = User(name=name, worker=f"{study.slug}:{name}")
    user.set_unusable_password()
    user.save()
    Membership.objects.create(study=study, user=user, role=Role.ANNOTATOR)
    entry = source.entries.create(
        study=study, user=user, participant=arrival.participant,
        submission_study=arrival.study, session=arrival.digest,
    )  # fmt: skip
    audit.record(user, "crowd.enter", entry, source=source.pk)
    return entry


def _again(
    entry: CrowdEntry, source: CrowdSource, arrival: Arrival, browser: int | None
) -> CrowdEntry:
    same_session = constant_time_compare(entry.session, arrival.digest)
    if not (same_session or entry.pk == browser):
        raise DomainError(
            _("This link cannot be opened here. Go on in the browser that you began with."),
            status=403,
        )
    if entry.source_id != source.pk or entry.submission_study != arrival.study:
        raise Conflict(_("You have taken part in this study by another link."))
    if entry.returned_at:
        raise Conflict(_("You have returned this study, so it is closed for you."))
    _check_account(entry)
    if not same_session:
        entry.session = arrival.digest
        entry.save(update_fields=["session"])
    return entry


def _check_account(entry: CrowdEntry) -> None:
    """Refuse an account that no link may open: one with a way in of its own, or with a history.

    A link is as good as whoever holds it. So all it opens is an account that it made itself, that
    annotates this one study and nothing else.
    """
    user = entry.user
    if user.has_usable_password() or user.email:
        raise Conflict(_("This account has a log-in of its own. Log in with it."))
    alone = {"study_id": entry.study_id, "role": Role.ANNOTATOR, "left_at": None}
    memberships = list(user.memberships.all())
    as_made = len(memberships) == 1 and all(
        getattr(memberships[0], name) == value for name, value in alone.items()
    )
    if not as_made or not user.is_active or user.is_superuser or _holds_more(user):
        raise Conflict(_("This link does not open your account any more. Ask who runs the study."))


def _holds_more(user: User) -> bool:
    """Whether anything beyond what annotating leaves behind belongs to ``user``.

    Asked of the models, so that what a later app keeps for people (a history, a second factor) is
    closed to links without a word here.
    """
    owned = (
        field.field
        for field in User._meta.get_fields(include_hidden=True)
        if isinstance(field, ForeignObjectRel) and not field.many_to_many
    )
    return any(
        key.model._base_manager.filter(**{key.name: user}).exists()
        for key in owned
        if key.model._meta.app_label not in LEFT_BY_ANNOTATING
    )


def entry_of(user: User, study: Study) -> CrowdEntry | None:
    """``user``'s entry in ``study`` with its source. Costs no query for who has no such account."""
    if user.worker is None:
        return None
    return CrowdEntry.objects.select_related("source").filter(user=user, study=study).first()


def completion(
    user: User, study: Study, done: int, *, nothing_left: bool = False
) -> Completion | None:
    """What a participant takes back after ``done`` judgments, or None: not yet, or no participant.

    It is due when the quota is reached, and where ``nothing_left`` to be judged, to whoever has
    judged something. The first time is noted on the entry.
    """
    entry = entry_of(user, study)
    if entry is None or entry.returned_at:
        return None
    source = entry.source
    reached = source.quota is not None and done >= source.quota
    if not reached and not (nothing_left and done):
        return None
    if entry.completed_at is None:
        entry.completed_at = timezone.now()
        entry.save(update_fields=["completed_at"])
    return Completion(
        source.completion_code,
        source.return_url.replace("{code}", quote(source.completion_code, safe="")),
    )


@transaction.atomic
def give_back(entry: CrowdEntry) -> None:
    """End the participation: the place is free again, what was judged stays."""
    now = timezone.now()
    # Twice is once: the form may be sent again.
    if CrowdEntry.objects.filter(pk=entry.pk, returned_at=None).update(returned_at=now):
        Membership.objects.filter(study=entry.study_id, user=entry.user_id).update(left_at=now)
        audit.record(entry.user, "crowd.return", entry)
