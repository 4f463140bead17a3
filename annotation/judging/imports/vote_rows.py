"""Stores votes that were collected elsewhere, in one transaction.

What does not fit is rejected with its line; the same file again changes nothing.
"""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial

from django.contrib.auth.hashers import make_password
from django.db import connection, transaction

from annotation.accounts.models import User
from annotation.core import sql
from annotation.core.errors import DomainError
from annotation.core.rows import chunks, silent
from annotation.judging.imports import turns, votes_file
from annotation.judging.kinds import kind_of
from annotation.judging.models import Batch, Desk, Item, ItemOption, Judgment, Selection, Slot
from annotation.judging.work.submit import KEY_LIMIT

CHUNK = 2_000
WORKER_LIMIT = User._meta.get_field("worker").max_length


@transaction.atomic
def import_votes(study, path, progress: Callable = silent) -> dict:
    """Store the votes of the file ``path`` (CSV or JSON lines) in ``study``.

    Each vote takes an open slot of its item. Workers become accounts that nobody can log in to.
    Returns ``votes``, ``items`` and ``workers``: how many votes of the file, on how many items and
    by how many workers, are in the study now, and ``rejected``: line and reason of every other
    one. Raises votesfile.VotesFileError where the file is no votes file at all.
    """
    # So that no import locks slots that another one waits for.
    study = turns.take(study)
    votes = _Votes(study)
    rejected = []
    for chunk in chunks(progress(votes_file.rows(path), "votes", None), CHUNK):
        good = []
        for line, vote in chunk:
            if isinstance(vote, str):
                rejected.append({"line": line, "reason": vote})
            else:
                good.append((line, vote))
        rejected += votes.store(good)
    votes.count()
    # Until its transaction ends, ANALYZE keeps that of every other import waiting.
    tables = (Slot, Judgment, Selection, Desk, User)
    transaction.on_commit(partial(sql.analyze, *tables), robust=True)
    rejected.sort(key=lambda row: row["line"])
    items, workers = {item for item, _ in votes.stored}, {who for _, who in votes.stored}
    return {
        "votes": len(votes.stored),
        "items": len(items),
        "workers": len(workers),
        "rejected": rejected,
    }


class _Votes:
    """One import of votes: what is stored already, and the counters to add at the end."""

    def __init__(self, study):
        self.study = study
        # (item, worker) of the file's votes that are in the study.
        self.stored: set[tuple] = set()
        self.counters: dict = defaultdict(Counter)

    def store(self, rows) -> list[dict]:
        """Store one chunk of (line, vote); the rejected ones."""
        self.items = self._items({row.task for _, row in rows})
        self.workers = self._people({row.worker for _, row in rows})
        # Read after the slots were locked: whoever held them has finished.
        self.open = self._open_slots()
        self.votes_there = self._votes_there()
        taken, selections, rejected = [], [], []
        for line, row in rows:
            try:
                selection = self._selection(row)
            except DomainError as error:
                rejected.append({"line": line, "reason": error.sentence})
                continue
            if selection:
                taken.append((selection.slot_id, selection.annotator_id))
                selections.append(selection)
        _take_slots(taken)
        _insert(selections)
        return rejected

    def count(self) -> None:
        """Add the new votes to their items' counters, as kinds.selection.store does."""
        names = ("votes_1", "votes_2", "votes_3", "ties", "nones")
        rows = [(pk, n.total(), *(n[name] for name in names)) for pk, n in self.counters.items()]
        if not rows:
            return
        added = ", ".join(f"{name} = i.{name} + v.{name}" for name in ("done", *names))
        arrays = ", ".join(["%s::uuid[]"] + ["%s::int[]"] * 6)
        with connection.cursor() as cursor:
            cursor.execute(
                f"""UPDATE judging_item i SET {added}
                    FROM unnest({arrays}) v (id, done, {", ".join(names)})
                    WHERE i.id = v.id""",  # noqa: S608 - constants only
                [list(column) for column in zip(*rows, strict=True)],
            )

    def _items(self, names) -> dict[str, dict]:
        there = Item.objects.filter(
            study=self.study, external_id__in=names, batch__purpose=Batch.Purpose.WORK
        )
        items = {
            name: {"pk": pk, "kind": kind, "config": config, "overlap": overlap, "options": {}}
            for pk, name, overlap, kind, config in there.values_list(
                "pk", "external_id", "overlap", "batch__task__kind", "batch__task__config"
            )
        }
        options = ItemOption.objects.filter(item__in=there).values_list(
            "item__external_id", "candidate__external_id", "number", "pk"
        )
        for item, candidate, number, pk in options:
            items[item]["options"][candidate] = (number, pk)
        return items

    def _people(self, names) -> dict[str, int]:
        """Accounts of the workers, without an address and unable to log in."""
        wanted = {f"{self.study.slug}:{name}": name for name in names}
        long = {key for key in wanted if len(key) > WORKER_LIMIT}
        keys = wanted.keys() - long
        accounts = User.objects.filter(worker__in=keys)
        missing = keys - set(accounts.values_list("worker", flat=True))
        User.objects.bulk_create(
            [
                User(worker=key, password=make_password(None), is_active=False)
                for key in sorted(missing)
            ],
            # Another import may have made the same person a moment ago.
            ignore_conflicts=True,
        )
        return {wanted[key]: pk for key, pk in accounts.all().values_list("worker", "pk")}

    def _open_slots(self) -> dict[object, list]:
        open_slots = defaultdict(list)
        rows = (
            Slot.objects.select_for_update()
            .filter(item__in=[item["pk"] for item in self.items.values()], status="open")
            .order_by("item", "-ordinal")
        )
        for item, slot in rows.values_list("item_id", "pk"):
            open_slots[item].append(slot)
        return open_slots

    def _votes_there(self) -> dict[tuple, tuple]:
        """Votes of the chunk's workers on its items that are stored already."""
        # The voided ones too: who was taken out of an item is never given it again.
        rows = Selection.objects.filter(
            replaced_by=None,
            slot__item__in=[item["pk"] for item in self.items.values()],
            annotator__in=self.workers.values(),
        )
        return {
            (item, annotator): (outcome, choice)
            for item, annotator, outcome, choice in rows.values_list(
                "slot__item_id", "annotator_id", "outcome", "choice_id"
            )
        }

    def _selection(self, row) -> Selection | None:
        """The judgment to add, None where it is there; DomainError with the reason against it."""
        item, worker = self._place(row)
        number, option = item["options"].get(row.label, (None, None))
        outcome = "choice" if option else row.label
        pair = (item["pk"], worker)
        if pair in self.votes_there:
            if self.votes_there[pair] != (outcome, option):
                raise DomainError(f"{row.worker} has given another vote on this item before")
            self.stored.add(pair)
            return None
        if not self.open[item["pk"]]:
            raise DomainError(
                f"none of the item's {item['overlap']} judgments is open: they are done, held or "
                "closed"
            )
        self.votes_there[pair] = (outcome, option)
        self.stored.add(pair)
        counter = {"tie": "ties", "none": "nones"}.get(outcome, f"votes_{number}")
        self.counters[item["pk"]][counter] += 1
        return Selection(
            slot_id=self.open[item["pk"]].pop(),
            annotator_id=worker,
            key=_key(row),
            digest=_sha256(json.dumps([row.task, row.worker, row.label])),
            # A votes file has no order of presentation.
            shown=[],
            reason=row.reason,
            seconds=row.seconds,
            submitted_at=row.submitted_at,
            imported=True,
            outcome=outcome,
            choice_id=option,
        )

    def _place(self, row) -> tuple[dict, int]:
        """The vote's item and person, after checking both and the label."""
        item = self.items.get(row.task)
        if item is None:
            raise DomainError(f"the study has no item “{row.task[:80]}”")
        if kind_of(item["kind"]).MODEL is not Selection:
            raise DomainError(f"votes on a task of the kind {item['kind']} cannot be imported")
        if row.label in ("tie", "none"):
            if not item["config"][row.label]:
                raise DomainError(f"the item's task allows no “{row.label}”")
        elif row.label not in item["options"]:
            raise DomainError(f"the item has no candidate “{row.label[:80]}”")
        if row.worker not in self.workers:
            raise DomainError(f"the worker's name is too long: {row.worker[:80]}…")
        return item, self.workers[row.worker]


def _insert(selections: list[Selection]) -> None:
    """Insert parents and children in bulk, which Django does not do for tables that inherit."""
    columns = Judgment._meta.local_concrete_fields
    common = [column.attname for column in columns if not column.primary_key]
    parents = Judgment.objects.bulk_create(
        Judgment(**{name: getattr(selection, name) for name in common}) for selection in selections
    )
    rows = [
        (parent.pk, selection.outcome, selection.choice_id)
        for parent, selection in zip(parents, selections, strict=True)
    ]
    with connection.cursor() as cursor:
        cursor.executemany(
            """INSERT INTO judging_selection (judgment_ptr_id, outcome, choice_id, strength)
               VALUES (%s, %s, %s, '')""",
            rows,
        )


def _take_slots(taken: list[tuple]) -> None:
    """Mark locked open slots as done by their workers: (slot, worker) pairs."""
    if not taken:
        return
    slots, workers = zip(*taken, strict=True)
    with connection.cursor() as cursor:
        cursor.execute(
            """UPDATE judging_slot s SET status = 'done', annotator_id = v.worker, returned = false
               FROM unnest(%s::uuid[], %s::bigint[]) v (id, worker) WHERE s.id = v.id""",
            [list(slots), list(workers)],
        )


def _key(row) -> str:
    key = f"import:{row.task}:{row.worker}"
    return key if len(key) <= KEY_LIMIT else f"import:{_sha256(key)}"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
