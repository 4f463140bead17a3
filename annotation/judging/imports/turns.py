"""Imports into one study take turns; releases of other studies need not wait for them."""

from typing import Any

from django.db import connection, transaction

from annotation.judging.models import Judgment
from annotation.studies.models import Study

# The first key of the advisory locks that imports hold, the study being the second.
_IMPORTS = 0x17A9
_WRITERS = """
    SELECT w.virtualtransaction FROM pg_locks w
    WHERE w.locktype = 'relation' AND w.relation = %(table)s::regclass
    AND w.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND w.mode = 'RowExclusiveLock' AND w.granted AND w.pid <> pg_backend_pid()
    AND NOT EXISTS (
        SELECT FROM pg_locks i WHERE i.locktype = 'advisory' AND i.database = w.database
        AND i.classid = %(imports)s AND i.objid <> %(study)s AND i.objsubid = 2
        AND i.virtualtransaction = w.virtualtransaction)"""


def take(study: Study) -> Study:
    """Lock ``study`` for an import until the transaction ends; its row as it is then.

    Judging goes on meanwhile. Call it before the first judgment is stored.
    """
    locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_IMPORTS, _key(study)])
    return locked


def writers(study: Study) -> set[str]:
    """The transactions that may be storing judgments of ``study`` now, by their virtual ids.

    All that write judgments, save imports into other studies.
    """
    values: dict[str, Any] = {
        "table": Judgment._meta.db_table,
        "imports": _IMPORTS,
        "study": _key(study),
    }
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_WRITERS, values)
        return {row[0] for row in cursor.fetchall()}


def _key(study: Study) -> int:
    # Two studies of one key would wait for each other, no more.
    return study.pk % (1 << 31)
