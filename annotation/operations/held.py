"""What the tables hold of a person, how long it stays, and the deletion of what stayed so long."""

import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import IO

from django.apps import apps
from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotation.accounts.models import User

# Keys and what is derived from texts; in studies, what is hidden from who judges.
LEFT_OUT = {
    "accounts.ApiToken": {"digest"},
    "accounts.User": {"password"},
    "histories.Alias": {"digest"},
    "histories.Upload": {"stored"},
    "judging.Desk": {"next_gold", "next_repeat", "training_since"},
    "judging.Judgment": {"key", "digest"},
    "live.Talk": {"systems", "settings", "chance"},
    "mfa.Authenticator": {"data"},
    "socialaccount.SocialAccount": {"extra_data"},
    "usersessions.UserSession": {"session_key", "data"},
}


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
        _("Your account"),
        _("Until whoever runs this server deletes it."),
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
        _("What you agreed to"),
        _("For good, also after you took it back: it shows what was allowed when."),
        {"accounts.Consent": "user", "histories.HistoryConsent": "user"},
    ),
    Held(
        _("What you said about yourself"),
        _("As long as the study, or until you take it back on the page “About you”."),
        {"studies.SurveyAnswer": "user"},
    ),
    Held(
        _("Studies and messages"),
        _("As long as the study; what you wrote is erased when you take your judgments out."),
        {
            "studies.Membership": "user",
            "studies.CrowdEntry": "user",
            "studies.Message": "sender",
            "judging.Desk": "annotator",
            "judging.BonusNote": "annotator",
        },
    ),
    Held(
        _("Judgments and comments"),
        _("As long as the study, or until you take them out on the page “Leave the study”."),
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
        _("Drafts"),
        _("Until you submit, and {days} days after the last change at most."),
        {"judging.Draft": "annotator"},
        days="drafts",
    ),
    Held(
        _("Questions, best answers and rubrics"),
        _("As long as the study, or until you take your judgments out."),
        {"queries.Query": "owner", "queries.GoldResponse": "author", "queries.Rubric": "author"},
    ),
    Held(
        _("Conversations in a study"),
        _("As long as the study, or until you take your judgments out."),
        {"live.Talk": "person"},
    ),
    Held(
        _("Your history"),
        _("Until you erase it on its pages."),
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
        _("Marks of what you erased"),
        _("For good: digests, so that a file that comes again brings nothing back."),
        {"histories.Erasure": "owner", "histories.Tombstone": "owner"},
    ),
    Held(
        _("Record of what was done"),
        _("For good: acts and numbers, without words of yours."),
        {"core.AuditEvent": "actor"},
    ),
]
# What a rule deletes: (table, time that counts, of settings.KEEP_DAYS).
DELETED = [
    ("judging.Draft", "saved_at", "drafts"),
    ("studies.Invitation", "expires_at", "invitations"),
    ("sessions.Session", "expire_date", "sessions"),
    ("api.IdempotentCall", "created_at", "calls"),
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
