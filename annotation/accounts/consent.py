"""Consent: texts are versioned, an agreement names the version, withdrawing is one call."""

from django.db import IntegrityError, transaction
from django.utils import timezone

from annotation.accounts.models import Consent, ConsentText, User


def publish(name: str, body: str, translations: dict[str, str] | None = None) -> ConsentText:
    """Return the newest version of the text ``name``; make a new one where anything differs.

    ``translations`` is {language: body}: a version covers all languages, whichever of them was
    read. None keeps those of the newest version.
    """
    try:
        return _publish(name, body, translations)
    except IntegrityError:
        # Somebody published at the same moment: theirs is the newest now.
        return _publish(name, body, translations)


@transaction.atomic
def _publish(name: str, body: str, translations: dict[str, str] | None) -> ConsentText:
    newest = ConsentText.objects.filter(name=name).order_by("-version").first()
    if translations is None:
        translations = newest.translations if newest else {}
    if newest and (newest.body, newest.translations) == (body, translations):
        return newest
    version = newest.version + 1 if newest else 1
    return ConsentText.objects.create(
        name=name, version=version, body=body, translations=translations
    )


def grant(user: User, text: ConsentText) -> Consent:
    """Record that ``user`` agrees to this version; a second call changes nothing."""
    consent, _ = Consent.objects.get_or_create(user=user, text=text, withdrawn_at=None)
    return consent


def withdraw(user: User, text: ConsentText) -> None:
    """End ``user``'s agreement; the record that it once stood is kept."""
    Consent.objects.filter(user=user, text__name=text.name, withdrawn_at=None).update(
        withdrawn_at=timezone.now()
    )


def stands(user: User, text: ConsentText | None) -> bool:
    """Whether ``user`` agrees to exactly this version (a study without a text asks for none)."""
    return text is None or Consent.objects.filter(user=user, text=text, withdrawn_at=None).exists()


def stood(user: User, text: ConsentText) -> bool:
    """Whether ``user`` agrees to an earlier version of this text."""
    earlier = Consent.objects.filter(user=user, text__name=text.name, withdrawn_at=None)
    return earlier.filter(text__version__lt=text.version).exists()
