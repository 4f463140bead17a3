"""What was erased leaves the database's files: tables are written anew, and older WAL goes.

PostgreSQL keeps the bytes of a deleted row until their place is needed, and in its write-ahead log
until that is removed. ``wal_recycle`` must be off, or log files are kept for another use.
"""

import logging
from datetime import timedelta

from django.db import DatabaseError, connection
from django.utils import timezone

from annotation.core.models import Heartbeat
from annotation.histories.models import (
    Alias,
    Erasure,
    Mark,
    Message,
    NamesWord,
    Passage,
    Session,
    Tombstone,
    Upload,
)

log = logging.getLogger(__name__)
NAME = "history-rewrite"
# People are told 24 hours; the task looks every hour.
EVERY = timedelta(hours=20)
TABLES = [
    model._meta.db_table for model in (Upload, Session, Message, Mark, Alias, NamesWord, Passage)
]
# Whoever reads a history waits while its table is written; nobody waits behind us for longer.
LOCK = "10s"


def is_due() -> bool:
    """Whether something was erased since the tables were written anew, EVERY ago or longer."""
    last = Heartbeat.objects.filter(name=NAME).values_list("at", flat=True).first()
    if last and last > timezone.now() - EVERY:
        return False
    parts, wholes = Tombstone.objects.all(), Erasure.objects.exclude(done_at=None)
    if last:
        parts, wholes = parts.filter(erased_at__gt=last), wholes.filter(done_at__gt=last)
    return parts.exists() or wholes.exists()


def rewrite() -> bool:
    """Write the tables anew and let older WAL go; whether that was done. Not in a transaction.

    Where a table is in use, or the database's role may not, it is tried again with the next call.
    """
    begun = timezone.now()
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('lock_timeout', %s, false)", [LOCK])
            try:
                for table in TABLES:
                    cursor.execute(f"VACUUM (FULL) {connection.ops.quote_name(table)}")
                cursor.execute("SELECT pg_switch_wal()")
                cursor.execute("CHECKPOINT")
            finally:
                cursor.execute("RESET lock_timeout")
    except DatabaseError as error:
        log.warning("erased histories are not yet out of the database's files: %s", error)
        return False
    Heartbeat.objects.update_or_create(name=NAME, defaults={"at": begun})
    return True
