"""People as an operator sees them: acts on accounts, and what the tables hold of a person.

Each act is in the audit trail. What is held has a rule of how long it stays; what stayed so long is
deleted.
"""

import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import IO

from allauth.account.forms import default_token_generator
from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.models import Authenticator
from django.apps import apps
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.accounts.models import User
from annotation.core import audit
from annotation.core.errors import Conflict
from annotation.histories import erase

# Keys and what is derived from texts; in studies, what is hidden from who judges.
LEFT_OUT = {
    "accounts.ApiToken": {"digest"},
    "accounts.User": {"password"},
    "histories.Alias": {"digest"},
    "histories.Upload": {"stored"},
    "judging.Participation": {"next_gold", "next_repeat", "training_since"},
    "judging.Judgment": {"key", "digest"},
    "live.Talk": {"systems", "settings", "chance"},
    "mfa.Authenticator": {"data"},
    "socialaccount.SocialAccount": {"extra_data"},
    "studies.Invitation": {"digest"},
    "usersessions.UserSession": {"session_key", "data"},
}
# What a rule deletes: (table, time that counts, of settings.KEEP_DAYS).
DELETED = [
    ("judging.Draft", "saved_at", "drafts"),
    ("studies.Invitation", "expires_at", "invitations"),
    ("sessions.Session", "expire_date", "sessions"),
    ("api.IdempotentCall", "created_at", "calls"),
]


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


def erase_account(user: User, by: User) -> None:
    """Close an account, and erase what tells whose it was; what they judged stays."""
    deactivate(user, by)
    erase.account(user)
    audit.record(by, "account.erase", user)


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
    for session in Session.objects.filter(expire_date__gt=timezone.now()).iterator(500):
        if session.get_decoded().get("_auth_user_id") == str(user.pk):
            session.delete()


@dataclass(frozen=True)
class Held:
    """Tables that belong together: {label: path to the person's number}, and what becomes of them.

    ``days``: of settings.KEEP_DAYS, where a rule deletes them; ``{days}`` in ``rule`` is replaced.
    """

    name: Promise
    rule: Promise
    tables: dict[str, str]
    days: str = ""

    @property
    def until(self) -> str:
        """The rule in words."""
        return str(self.rule).replace("{days}", str(settings.KEEP_DAYS.get(self.days, "")))


HELD = [
    Held(
        gettext_lazy("Your account"),
        gettext_lazy("Until whoever runs this server deletes it."),
        {
            "accounts.User": "pk",
            "account.EmailAddress": "user",
            "accounts.ApiToken": "user",
            "mfa.Authenticator": "user",
            "socialaccount.SocialAccount": "user",
            "usersessions.UserSession": "user",
        },
    ),
    Held(
        gettext_lazy("Invitations you accepted"),
        gettext_lazy("{days} days after they end."),
        {"studies.Invitation": "accepted_by"},
        days="invitations",
    ),
    Held(
        gettext_lazy("What you agreed to"),
        gettext_lazy("For good, also after you took it back: it shows what was allowed when."),
        {"accounts.Consent": "user", "histories.HistoryConsent": "user"},
    ),
    Held(
        gettext_lazy("What you said about yourself"),
        gettext_lazy("As long as the study, or until you take it back on the page “About you”."),
        {"studies.SurveyAnswer": "user"},
    ),
    Held(
        gettext_lazy("Studies and messages"),
        gettext_lazy(
            "As long as the study; what you wrote is erased when you take your judgments out."
        ),
        {
            "studies.Membership": "user",
            "studies.CrowdEntry": "user",
            "studies.Message": "sender",
            "judging.Participation": "annotator",
        },
    ),
    Held(
        gettext_lazy("Judgments and comments"),
        gettext_lazy(
            "As long as the study, or until you take them out on the page “Leave the study”."
        ),
        {
            "judging.Judgment": "annotator",
            "judging.Answer": "judgment__annotator",
            "judging.Handback": "annotator",
            "judging.ItemComment": "author",
            "judging.Adjudication": "by",
            "candidates.Opinion": "reviewer",
        },
    ),
    Held(
        gettext_lazy("Drafts"),
        gettext_lazy("Until you submit, and {days} days after the last change at most."),
        {"judging.Draft": "annotator"},
        days="drafts",
    ),
    Held(
        gettext_lazy("Questions, best answers and rubrics"),
        gettext_lazy("As long as the study, or until you take your judgments out."),
        {"queries.Query": "owner", "queries.GoldResponse": "author", "queries.Rubric": "author"},
    ),
    Held(
        gettext_lazy("Conversations in a study"),
        gettext_lazy("As long as the study, or until you take your judgments out."),
        {"live.Talk": "person"},
    ),
    Held(
        gettext_lazy("Your history"),
        gettext_lazy("Until you erase it on its pages."),
        {
            "histories.Upload": "owner",
            "histories.Session": "owner",
            "histories.Message": "session__owner",
            "histories.Mark": "session__owner",
            "histories.NamesWord": "owner",
            "histories.Alias": "owner",
        },
    ),
    Held(
        gettext_lazy("Marks of what you erased"),
        gettext_lazy("For good: digests, so that a file that comes again brings nothing back."),
        {"histories.Erasure": "owner", "histories.Tombstone": "owner"},
    ),
    Held(
        gettext_lazy("Record of what was done"),
        gettext_lazy("For good: acts and numbers, without words of yours."),
        {"core.AuditEvent": "actor"},
    ),
]


def counts(person: User) -> list[tuple[Held, int]]:
    """How many rows of each kind there are of ``person``."""
    return [(held, sum(rows.count() for _label, rows in _tables(held, person))) for held in HELD]


def write_archive(person: User, file: IO[bytes]) -> None:
    """Write everything of ``person`` into the zip ``file``: a file of JSON lines a table."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for held in HELD:
            for label, rows in _tables(held, person):
                names = [field.name for field in rows.model._meta.concrete_fields]
                names = [name for name in names if name not in LEFT_OUT.get(label, ())]
                with packed.open(f"{label}.jsonl", "w") as lines:
                    for row in rows.order_by("pk").values(*names).iterator():
                        text = json.dumps(row, ensure_ascii=False, default=str)
                        lines.write(f"{text}\n".encode("utf-8", "replace"))


def _tables(held: Held, person: User) -> Iterator[tuple[str, QuerySet]]:
    for label, path in held.tables.items():
        yield label, apps.get_model(label)._base_manager.filter(**{path: person.pk})


def sweep() -> int:
    """Delete what stayed as long as its rule allows; how many rows."""
    count = 0
    for label, time, days in DELETED:
        old = timezone.now() - timedelta(days=settings.KEEP_DAYS[days])
        count += apps.get_model(label)._base_manager.filter(**{f"{time}__lt": old}).delete()[0]
    return count
