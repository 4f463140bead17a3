"""What an item of a study bundle must have, as its task's kind asks."""

from annotation.core.errors import DomainError
from annotation.judging.kinds import kind_of
from annotation.judging.kinds.kind import Label
from annotation.studies.models import TaskDefinition


def check(task: TaskDefinition, row: dict) -> None:
    """DomainError with a sentence where ``row`` (bundle.ITEM) is no item of ``task``.

    ``task`` has ``name``, ``kind`` and a checked ``config``.
    """
    named = f"the task “{task.name}”"
    asks = kind_of(task.kind).asks(task.config)
    if "gold" in asks:
        raise DomainError(f"{named} plans its items itself, from gold responses")
    if task.config["owner_only"]:
        raise DomainError(f"in {named} only a query's owner judges, and a bundle's have none")
    for name in ("query", "attribute"):
        if row[name] is None and (name in asks or task.config.get(name) is True):
            raise DomainError(f"{named} asks for “{name}”")
        if row[name] is not None and name not in asks and name not in task.config:
            raise DomainError(f"{named} shows no {name}")
    _check_candidates(task, row, named)
    if row["purpose"] == "work":
        if row["expected"] is not None or row["explanation"]:
            raise DomainError("only training and gold items have “expected” and “explanation”")
        return
    expected(task, row)
    if row["purpose"] == "training" and not row["explanation"].strip():
        raise DomainError("a training item needs an “explanation”: whoever trains reads it")


def expected(task: TaskDefinition, row: dict) -> Label | None:
    """The right answer of a check as its kind's label; None of an item that is work.

    DomainError where it is no answer to this item.
    """
    if row["purpose"] == "work":
        return None
    return kind_of(task.kind).expected(row["expected"], row, task.config)


def _check_candidates(task: TaskDefinition, row: dict, named: str) -> None:
    n = len(row["candidates"])
    least, most = kind_of(task.kind).options_range(task.config)
    if least <= n <= most:
        return
    if not most:
        raise DomainError(f"{named} shows no candidates")
    wanted = f"{least}" if least == most else f"{least} to {most}"
    raise DomainError(f"{named} shows {wanted} candidates, not {n}")
