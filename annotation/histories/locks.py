"""One change at a time to one person's history."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import OperationalError, connection, transaction
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.core import jobs
from annotation.core.errors import Conflict

PATIENCE_MS = 2_000


@contextmanager
def changing(owner: User, patiently: bool = False) -> Iterator[None]:
    """A transaction in which nobody else changes ``owner``'s history.

    Raises Conflict where somebody does and takes long, as the reading of a file; ``patiently``
    waits for the end of that instead.
    """
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SHOW lock_timeout")
            before = cursor.fetchone()[0]
            cursor.execute(f"SET LOCAL lock_timeout = {0 if patiently else PATIENCE_MS}")
            try:
                jobs.lock(f"history {owner.pk}")
            except OperationalError as error:
                if getattr(error.__cause__, "sqlstate", "") != "55P03":  # lock_not_available
                    raise
                sentence = _("Your history is being read just now. Try again in a moment.")
                raise Conflict(sentence, code="busy") from error
            cursor.execute("SELECT set_config('lock_timeout', %s, true)", [before])
        yield
