"""Text for people: as it is, or translated when it is shown."""

from typing import TYPE_CHECKING

from django.utils.functional import Promise

if TYPE_CHECKING:
    # What it is to mypy; the package is a developer's.
    from django_stubs_ext import StrOrPromise as StrOrPromise
else:
    StrOrPromise = str | Promise
