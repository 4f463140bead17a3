"""What an item of a study bundle must have, as its task's kind asks. Pure but for the kinds."""

from annotation.core.errors import DomainError
from annotation.judging.kinds import kind_of
from annotation.judging.kinds.attribute import Verdict


def check(task, row: dict) -> None:
    """DomainError with a sentence where ``row`` (bundle.ITEM) is no item of ``task``.

    ``task`` has ``name``, ``kind`` and a checked ``config``.
    """
    named = f"the task “{task.name}”"
    asks = kind_of(task.kind).ASKS
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


def expected(task, row: dict):
    """The right answer of a check as its kind's ``label``; None of an item that is work.

    A selection names a candidate's id, ``tie`` or ``none``, a score is under
    ``{"NUMBER/CRITERION": 1 to 5}`` with the candidate's place in the row from 1, and the labels of
    the other kinds stand for themselves. DomainError where it is no answer to this item.
    """
    said = row["expected"]
    if row["purpose"] == "work":
        return None
    labels = _labels(task, row)
    if task.kind == "feedback":
        scores = said if isinstance(said, dict) else {}
        if not scores or not all(labels.get(name) and _score(n) for name, n in scores.items()):
            raise DomainError(f"“expected” must have scores from 1 to 5 of {_listed(labels)}")
        return said
    label = str(said) if type(said) is int else said
    if not isinstance(label, str) or label not in labels:
        raise DomainError(f"“expected” must be one of {_listed(labels)}")
    return labels[label]


def _check_candidates(task, row, named: str) -> None:
    given = len(row["candidates"])
    if "options" not in kind_of(task.kind).ASKS:
        if given:
            raise DomainError(f"{named} shows no candidates")
        return
    wanted = task.config["options"]
    # Scores: the last answers of a query may be fewer than stand side by side.
    if task.kind == "feedback" and not 1 <= given <= wanted:
        raise DomainError(f"{named} scores 1 to {wanted} candidates, not {given}")
    if task.kind != "feedback" and given != wanted:
        raise DomainError(f"{named} compares {wanted} candidates, not {given}")


def _labels(task, row: dict) -> dict:
    """{what a bundle may expect of this item: the kind's label for it}."""
    if task.kind == "selection":
        numbers = {id: str(n) for n, id in enumerate(row["candidates"], start=1)}
        return numbers | {name: name for name in ("tie", "none") if task.config[name]}
    if task.kind == "feedback":
        places = range(1, len(row["candidates"]) + 1)
        names = [f"{place}/{name}" for place in places for name in task.config["criteria"]]
        return {name: name for name in names}
    labels = {
        "preference": [str(n) for n in range(1, task.config.get("points", 0) + 1)],
        "attribute": Verdict.values,
        "relevance": ["yes", "no"],
    }
    return {label: label for label in labels[task.kind]}


def _score(value) -> bool:
    return type(value) is int and 1 <= value <= 5


def _listed(labels) -> str:
    return ", ".join(f"“{label}”" for label in labels)
