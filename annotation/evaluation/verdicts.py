"""Models' verdicts on the items of a study: what can be said of each, and a file of JSON lines."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from django.db import transaction

from annotation.accounts.models import User
from annotation.core import audit
from annotation.core.errors import DomainError
from annotation.core.records import json_lines
from annotation.evaluation.models import Verdict
from annotation.judging.kinds import config_of, kind_of
from annotation.judging.models import Batch, Item, ItemOption
from annotation.questions.base import Measure
from annotation.studies.bundle import BundleError, Report, read_rows
from annotation.studies.bundle_rows import Verdict as VerdictRow
from annotation.studies.models import Study

PURPOSES = (Batch.Purpose.WORK, Batch.Purpose.GOLD)


@dataclass(frozen=True)
class Asked:
    """What a model can say of one measure: of each option or of the item.

    ``chooses``: its labels are numbers of options, which a file calls by their ids; ``scale``: they
    go from the first option to the second.
    """

    measure: Measure
    of_options: bool = False
    chooses: bool = False
    scale: bool = False


def asked(kind_code: str, config: dict) -> dict[str, Asked]:
    """{measure's name: what can be said of it} in a task; answers that are one person's have none.

    "" is the name of the one label of an answer.
    """
    kind, config = kind_of(kind_code), config_of(kind_code, config)
    questions = {question.name: question for question in kind.questions(config)}
    made = {}
    for each in kind.measures(config):
        question = questions[each.question]
        of_options = each.level == "ranks" or question.about == "option"
        type = question.type
        made[each.name] = Asked(each, of_options, type == "choice", type == "scale")
    return made


@transaction.atomic
def import_verdicts(study: Study, path: Path | str, *, by: User | None = None) -> dict:
    """Store the verdicts of the file ``path``, JSON lines.

    A line is ``{"task": item's id, "model", "label" or "value"}``, of a task with several questions
    with ``question``, of each answer of an item with ``option`` (a candidate's id), of a question
    that takes several classes with ``labels``; and where known ``confidence``. Labels are those of
    a votes file; a preference counts from 1, the item's first candidate much better. All or
    nothing; the same file again changes nothing. Returns ``verdicts``, ``new``, ``items`` and
    ``models``. Raises BundleError with the faults, file and line.
    """
    path = Path(path)
    try:
        with path.open("rb") as stream:
            rows = read_rows(json_lines(stream), path.name, VerdictRow)
    except OSError as error:
        words = (error.strerror or "it cannot be read").lower()
        raise BundleError([f"{path}: {words}"]) from error
    # Two imports into one study take turns.
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    new = _new(study, rows, path.name)
    Verdict.objects.bulk_create(new, batch_size=5_000)
    models = sorted({row["model"] for _, row in rows})
    if new:
        audit.record(by, "verdicts.add", study, verdicts=len(new), models=models)
    items = {row["task"] for _, row in rows}
    return {"verdicts": len(rows), "new": len(new), "items": len(items), "models": models}


def _new(study: Study, rows: Iterable[tuple], name: str) -> list[Verdict]:
    """The verdicts that the study does not have; BundleError where one does not fit."""
    report, items = Report(), _items(study)
    there = Verdict.objects.filter(item__study=study)
    stored = {tuple(key): label for *key, label in
              there.values_list("item", "model", "question", "option", "label")}  # fmt: skip
    new = []
    for line, row in rows:
        place = f"{name}, line {line}"
        item = items.get(row["task"])
        try:
            if item is None:
                raise DomainError(f"the study has no item “{row['task'][:80]}” that models judge")
            said = _said(item, row)
        except DomainError as fault:
            report.fault(place, str(fault))
            continue
        for question, option, label in said:
            key = (item.pk, row["model"], question, option)
            if key not in stored:
                stored[key] = label
                new.append(Verdict(item_id=item.pk, model=row["model"], question=question,
                                   option=option, label=label,
                                   confidence=row["confidence"]))  # fmt: skip
            elif stored[key] != label:
                words = "has given another verdict on this item: name another run otherwise"
                report.fault(place, f"“{row['model'][:80]}” {words}")
    report.finish()
    return new


@dataclass(frozen=True)
class _Target:
    """An item with what can be said of it; ``options`` are {candidate's id: number}."""

    pk: UUID
    asked: dict[str, Asked]
    primary: str
    options: dict[str, int]


def _said(item: _Target, row: dict) -> list[tuple[str, int | None, str]]:
    """(measure, option, label) of a row, of several classes one each; DomainError says what is
    wrong.
    """
    named = row["question"] or ""
    several = {name: each for name, each in item.asked.items()
               if each.measure.of_class and each.measure.question == named}  # fmt: skip
    if named == item.primary:
        named = ""
    if named not in item.asked and not several:
        if not named and len(item.asked) == 1:
            named = next(iter(item.asked))
        else:
            names = {each.measure.question for each in item.asked.values()}
            raise DomainError(f"“question” must be one of {', '.join(sorted(names))}")
    one = next(iter(several.values())) if several else item.asked[named]
    option = _option(item, one, row["option"])
    if several:
        classes = {each.measure.of_class for each in several.values()}
        ticked = row["labels"] if row["labels"] is not None else [row["label"]]
        if (row["label"] is None and row["labels"] is None) or set(ticked) - classes:
            raise DomainError(f"“labels” must be some of {', '.join(sorted(classes))}")
        return [(name, option, "yes" if each.measure.of_class in ticked else "no")
                for name, each in several.items()]  # fmt: skip
    label = row["label"] if row["label"] is not None else str(row["value"])
    # A candidate's id stands for its number where an answer is chosen, as in a votes file.
    labels = list(one.measure.labels)
    allowed = {each: each for each in labels}
    if one.chooses:
        ids = {id: str(number) for id, number in item.options.items()}
        allowed = ids | {each: each for each in labels if not each.isdecimal()}
    if label not in allowed:
        raise DomainError(f"“label” must be one of {', '.join(allowed)}")
    return [(named, option, allowed[label])]


def _option(item: _Target, asked: Asked, id: str | None) -> int | None:
    """The number of the option that a verdict is about."""
    if not asked.of_options:
        if id is not None:
            raise DomainError("“option” must be left out: the question is about the item")
        return None
    if id is None and len(item.options) == 1:
        return next(iter(item.options.values()))
    if id not in item.options:
        raise DomainError(f"“option” must be one of {', '.join(item.options)}")
    return item.options[id]


def _items(study: Study) -> dict[str, _Target]:
    """The items that models can judge: nobody's own, and of answers that people compare."""
    items = Item.objects.filter(study=study, batch__purpose__in=PURPOSES)
    options: dict = {}
    rows = ItemOption.objects.filter(item__in=items).order_by("number")
    for item, number, id in rows.values_list("item", "number", "candidate__external_id"):
        options.setdefault(item, {})[id] = number
    tasks, targets = {}, {}
    for name, pk, task, kind, config in items.values_list(
        "external_id", "pk", "batch__task", "batch__task__kind", "batch__task__config"
    ):
        if task not in tasks:
            every = asked(kind, config)
            # Of one label an answer the question may be named or not.
            tasks[task] = every, every[""].measure.question if "" in every else ""
        if tasks[task][0]:
            targets[name] = _Target(pk, *tasks[task], options.get(pk, {}))
    return targets
