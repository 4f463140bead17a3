"""Shows a refusal to the person who asked: as a message, or among the errors of a form."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib import messages
from django.forms import BaseForm
from django.http import HttpRequest

from annotation.core.errors import DomainError


@contextmanager
def as_message(request: HttpRequest) -> Iterator[None]:
    """What the block refuses with a DomainError is a message on the next page."""
    try:
        yield
    except DomainError as refusal:
        messages.error(request, refusal.sentence)


@contextmanager
def in_form(form: BaseForm, field: str | None = None) -> Iterator[None]:
    """What the block refuses with a DomainError is an error of ``field``, or of the whole form.

    A full disk is none of the form: that page is of its own.
    """
    try:
        yield
    except DomainError as refusal:
        if refusal.status >= 500:
            raise
        form.add_error(field, refusal.sentence)
