"""Text for people: as it is, or translated when it is shown."""

from typing import TYPE_CHECKING

from django.utils.functional import Promise

if TYPE_CHECKING:
    # What it is to mypy; the package is a developer's.
    from django_stubs_ext import StrOrPromise as StrOrPromise
else:
    StrOrPromise = str | Promise


def titled(name: object) -> str:
    """An address's name as words: ``best-answer`` becomes ``Best answer``."""
    words = str(name).replace("-", " ").replace("_", " ").strip()
    return words[:1].upper() + words[1:]
