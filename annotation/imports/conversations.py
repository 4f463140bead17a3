"""Stores the rows of a collection of chats in the study's pool of conversations."""

from collections.abc import Callable, Collection

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.core import audit
from annotation.core.errors import Conflict
from annotation.core.records import Rows
from annotation.core.rows import chunks
from annotation.imports import shape
from annotation.imports.mapping import Mapping
from annotation.imports.shape import RowError
from annotation.imports.store import Faults, FaultsError, Result, nothing_came
from annotation.judging.imports import turns
from annotation.personas import conversations
from annotation.studies.models import Study

CHUNK = 500


def store(
    study: Study,
    rows: Rows,
    mapping: Mapping,
    *,
    task: str = "",
    by: User | None = None,
    skip_faults: bool = False,
    allow: Collection[str] = (),
    provenance: dict | None = None,
    dry_run: bool = False,
    check: Callable[[int, int], None] = lambda rows, stored: None,
    open_items: bool = True,
) -> Result:
    """Store ``rows`` as ``imports.store.store`` does; of the options only ``by``,
    ``skip_faults``, ``dry_run`` and ``check`` count.

    A conversation that the study has already is left as it is.
    """
    if study.status == Study.Status.CLOSED:
        raise Conflict(_("The study is closed: an administrator can open it again."), code="closed")
    faults, count, read = Faults(), 0, 0
    with transaction.atomic():
        study = turns.take(study)
        for chunk in chunks(rows, CHUNK):
            read += len(chunk)
            check(read, read - len(chunk))
            count += _add(study, chunk, faults)
        if not count:
            raise nothing_came(faults)
        if faults.count and not skip_faults:
            raise FaultsError(faults)
        if dry_run:
            transaction.set_rollback(True)
        else:
            audit.record(by, "conversations.add", study, conversations=count)
    return Result({"conversations": count}, faults, [])


def _add(study: Study, chunk: list, faults: Faults) -> int:
    """Add the conversations of ``chunk``; how many of them the study has now."""
    rows = []
    for line, record in chunk:
        if isinstance(record, str):
            faults.add(line, record)
            continue
        try:
            rows.append(shape.conversation(record, salt=study.slug))
        except RowError as fault:
            faults.add(line, fault.sentence)
    return conversations.add(study, rows)
