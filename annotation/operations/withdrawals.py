"""Withdrawals are noted beside the database, so that a restored older one learns of them."""

import json
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.dispatch import receiver

from annotation.accounts.models import Consent, User
from annotation.core import sharing
from annotation.judging.annotator import leaving
from annotation.studies.models import Study

NAME = "withdrawn.jsonl"


@receiver(leaving.withdrawn)
def note(sender: object, study: Study, annotator: User, **kwargs: Any) -> None:
    """Add the withdrawal to the list once it is stored."""
    entry = {"study": study.pk, "user": annotator.pk, "at": datetime.now(UTC).isoformat()}
    transaction.on_commit(partial(sharing.append, _list(), json.dumps(entry)))


def replay() -> int:
    """Withdraw whoever withdrew after the database was backed up; how many."""
    return sum(_again(json.loads(entry)) for entry in sharing.lines(_list()))


def _again(entry: dict) -> bool:
    study = Study.objects.select_related("consent_text").filter(pk=entry["study"]).first()
    user = User.objects.filter(pk=entry["user"]).first()
    if study is None or user is None or study.consent_text is None:
        return False
    standing = Consent.objects.filter(
        user=user,
        text__name=study.consent_text.name,
        withdrawn_at=None,
        # Whoever agreed again later takes part.
        granted_at__lte=datetime.fromisoformat(entry["at"]),
    )
    if not standing.exists():
        return False
    leaving.withdraw(study, user)
    return True


def _list() -> Path:
    return settings.DATA / NAME
