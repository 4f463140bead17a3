"""What management commands share."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.core.errors import DomainError


class RefusingCommand(BaseCommand):
    """A command whose refusals (DomainError) are printed as their sentence, with exit code 1."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except DomainError as refusal:
            raise CommandError(refusal.sentence) from refusal
