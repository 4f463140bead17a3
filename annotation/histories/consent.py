"""For what a person's kept sessions may be used: one study and one purpose at a time."""

from collections import Counter
from datetime import datetime
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.dispatch import Signal
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.accounts import consent as texts
from annotation.accounts.models import ConsentText, User
from annotation.core import audit
from annotation.core.errors import DomainError
from annotation.histories.models import HistoryConsent, Session
from annotation.studies.models import Membership, Study

Purpose = HistoryConsent.Purpose
# ``owner``'s ``sessions`` (a query set) may no more be published (by ``study``, or by any).
taken_back = Signal()
# What is agreed to, in the one wording that counts. A change here asks everybody again.
WORDS: dict[str, str] = {
    Purpose.SHOW: gettext_noop(
        "People who judge in this study may read the sessions that I keep, with my personal data "
        "hidden."
    ),
    Purpose.SEND: gettext_noop(
        "The sessions that I keep may be sent, with my personal data hidden, to the model server "
        "named beside this text, for this study. Its answers may repeat what it was sent: those "
        "who run the study see them, and what I judge of them is part of the study's releases."
    ),
    Purpose.PUBLISH: gettext_noop(
        "The sessions that I keep may be published, with my personal data hidden, in this study's "
        "releases. What is published can be copied by anybody and cannot be called back."
    ),
}


def endpoints() -> list[str]:
    """Names of the model servers that are configured."""
    return [server["name"] for server in settings.ENDPOINTS]


def server(name: str) -> dict | None:
    """What a person should know of a model server: its ``model``, the ``host`` it runs on.

    ``embedded`` is true for the one that comes with this installation, and runs beside it.
    """
    endpoint = next((entry for entry in settings.ENDPOINTS if entry["name"] == name), None)
    return endpoint and {
        "model": endpoint.get("model", ""),
        "host": urlsplit(endpoint.get("base_url", "")).hostname,
        "embedded": bool(endpoint.get("embedded")),
    }


def allows(user: User, study: Study, purpose: str, endpoint: str = "") -> bool:
    """Whether ``user``'s kept sessions may be used for ``purpose`` in ``study`` at this moment.

    ``endpoint`` names the model server where the purpose is to send. Who left the study, withdrew
    from it, or agreed to an older wording allows nothing.
    """
    if not _standing(user, study, purpose, endpoint).filter(text__body=WORDS[purpose]).exists():
        return False
    member = Membership.objects.filter(study=study, user=user, left_at=None).exists()
    return member and texts.stands(user, study.consent_text)


@transaction.atomic
def grant(user: User, study: Study, purpose: str, endpoint: str = "") -> HistoryConsent:
    """Record that ``user`` allows ``purpose``; a second call changes nothing.

    Raises DomainError for a purpose or model server that there is not, and where the user is no
    member of the study who agreed to it.
    """
    if (purpose, endpoint) not in _purposes():
        raise DomainError(_("There is no such purpose or model server."))
    if not Membership.objects.filter(study=study, user=user, left_at=None).exists():
        raise DomainError(_("You are not part of this study."))
    if not texts.stands(user, study.consent_text):
        raise DomainError(_("Agree to taking part in the study first."))
    text = text_of(purpose)
    standing = _standing(user, study, purpose, endpoint)
    standing.exclude(text=text).update(withdrawn_at=timezone.now())
    consent, made = HistoryConsent.objects.get_or_create(
        user=user,
        study=study,
        purpose=purpose,
        endpoint=endpoint,
        withdrawn_at=None,
        defaults={"text": text},
    )
    if made:
        audit.record(user, "history.allow", consent, study=study.pk, purpose=purpose)
    return consent


def withdraw(user: User, study: Study, purpose: str, endpoint: str = "") -> None:
    """End the consent for one purpose; that it once stood is kept."""
    _end(user, _standing(user, study, purpose, endpoint))


def withdraw_all(user: User, until: datetime | None = None) -> None:
    """End every consent to the use of ``user``'s history, or those given ``until`` then."""
    period = {"granted_at__lte": until} if until else {}
    _end(user, HistoryConsent.objects.filter(user=user, withdrawn_at=None, **period))


def choices(user: User) -> list[dict]:
    """Every study ``user`` is in, with each purpose and whether it is allowed now."""
    memberships = Membership.objects.filter(user=user, left_at=None).select_related(
        "study__consent_text"
    )
    standing = {(row.study_id, row.purpose, row.endpoint): row for row in _given(user)}
    agreed = set(user.consents.filter(withdrawn_at=None).values_list("text_id", flat=True))
    return [
        {
            "study": study,
            "agreed": study.consent_text_id in {None, *agreed},
            "purposes": [
                {
                    "purpose": purpose,
                    "endpoint": endpoint,
                    "server": server(endpoint),
                    "words": _(WORDS[purpose]),
                    "consent": standing.get((study.pk, purpose, endpoint)),
                }
                for purpose, endpoint in _purposes()
            ],
        }
        for study in sorted((row.study for row in memberships), key=lambda study: study.title)
    ]


def allowed_purposes(user: User) -> dict[int, int]:
    """{study's id: how many uses ``user`` allows in it}, in the wordings that count now."""
    return dict(Counter(row.study_id for row in _given(user)))


def _given(user: User) -> list[HistoryConsent]:
    """The consents that stand, in the wordings that count now."""
    rows = HistoryConsent.objects.filter(user=user, withdrawn_at=None).select_related("text")
    return [row for row in rows if row.text.body == WORDS[row.purpose]]


def text_of(purpose: str) -> ConsentText:
    """The stored version of a purpose's wording."""
    return texts.publish(f"history: {purpose}", WORDS[purpose])


def _purposes() -> list[tuple[str, str]]:
    sent = [(Purpose.SEND, name) for name in endpoints()]
    return [(Purpose.SHOW, ""), *sent, (Purpose.PUBLISH, "")]


def _standing(user: User, study: Study, purpose: str, endpoint: str) -> QuerySet[HistoryConsent]:
    rows = HistoryConsent.objects.filter(user=user, study=study, withdrawn_at=None)
    return rows.filter(purpose=purpose, endpoint=endpoint)


@transaction.atomic
def _end(user: User, standing: QuerySet[HistoryConsent]) -> None:
    for consent in standing.select_for_update():
        study, purpose = consent.study_id, consent.purpose
        HistoryConsent.objects.filter(pk=consent.pk).update(withdrawn_at=timezone.now())
        if purpose == Purpose.PUBLISH:
            sessions = Session.objects.filter(owner=user)
            taken_back.send(HistoryConsent, owner=user, sessions=sessions, study=consent.study)
        audit.record(user, "history.disallow", consent, study=study, purpose=purpose)
