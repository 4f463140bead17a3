"""How many items have which votes, without a look at each item (``models.VoteCount``).

The sums over its rows are always those over the items. Rows come with each vote; ``fold`` makes
one of those of equal votes, and ``mend`` compares them with the items themselves.
"""

from django.db import connection
from django.db.models import F, QuerySet, Sum

from annotation.agreement.models import VoteCount
from annotation.judging.models import Batch, Item
from annotation.studies.models import Study

_VOTES = ("overlap", "done", *Item.COUNTERS.values())
_COUNTED = ", ".join(("batch_id", *_VOTES))
# Rows of a batch beyond which they are made fewer.
_MANY = 500
_FOLD = f"""
    WITH many AS (
        SELECT batch_id FROM agreement_votecount GROUP BY batch_id HAVING count(*) > %(many)s
               AND count(*) > 2 * count(DISTINCT ({_COUNTED}))),
    rows AS (
        DELETE FROM agreement_votecount WHERE batch_id IN (SELECT batch_id FROM many)
        RETURNING *)
    INSERT INTO agreement_votecount ({_COUNTED}, items, changes)
    SELECT {_COUNTED}, sum(items), sum(changes)
    FROM rows WHERE batch_id IN (SELECT id FROM judging_batch) GROUP BY {_COUNTED}"""  # noqa: S608
_MEND = f"""
    INSERT INTO agreement_votecount ({_COUNTED}, items, changes)
    SELECT {_COUNTED}, sum(items), 1
    FROM (SELECT {_COUNTED}, 1 AS items FROM judging_item
          WHERE batch_id = ANY(%(batches)s)
          UNION ALL SELECT {_COUNTED}, -items FROM agreement_votecount
          WHERE batch_id = ANY(%(batches)s)) counted
    GROUP BY {_COUNTED} HAVING sum(items) <> 0"""  # noqa: S608 - constants only


def of(study: Study) -> QuerySet:
    """The rows of the study's work: ``judged`` votes an item, ``judged_1`` … as of reading.items.

    Each row stands for ``weight`` items, which may be fewer than none: only sums mean something.
    """
    counted = {f"judged_{name}": F(counter) for name, counter in Item.COUNTERS.items()}
    rows = VoteCount.objects.filter(batch__study=study, batch__purpose=Batch.Purpose.WORK)
    return rows.annotate(judged=F("done"), weight=F("items"), **counted)


def changes(study: Study) -> dict[str, int]:
    """{task: how often one of its items was added or changed its votes or their wanted number}.

    No number ever falls, and each vote, revision and voided judgment adds to it.
    """
    rows = of(study).order_by().values_list("batch__task__name")
    return dict(rows.annotate(n=Sum("changes")))


def fold() -> None:
    """Make one row of all rows of equal votes, in batches where there are very many of them."""
    with connection.cursor() as cursor:
        cursor.execute(_FOLD, {"many": _MANY})


def mend(study: Study, task: str) -> int:
    """Compare the rows of a task with its items, add what is missing; how many sums differed.

    Two at once would add the same rows: the caller has a lock on the task.
    """
    batches = study.batches.filter(task__name=task).values_list("pk", flat=True)
    with connection.cursor() as cursor:
        cursor.execute(_MEND, {"batches": list(batches)})
        return cursor.rowcount
