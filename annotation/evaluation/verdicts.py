"""Stores models' verdicts on the items of a study, from a file of JSON lines."""

from collections.abc import Iterable
from pathlib import Path

from django.db import transaction

from annotation.accounts.models import User
from annotation.core import audit
from annotation.evaluation.models import Verdict
from annotation.judging.kinds import codes, config_of, kind_of
from annotation.judging.models import Batch, Item
from annotation.studies.bundle import BundleError, Report, read_rows
from annotation.studies.bundle_rows import Verdict as VerdictRow
from annotation.studies.models import Study

# Answers with a label of their own: of counted kinds the label is an option of the item.
KINDS = codes(SHAPE="label", COUNTED=False)


@transaction.atomic
def import_verdicts(study: Study, path: Path | str, *, by: User | None = None) -> dict:
    """Store the verdicts of the file ``path``: ``{"task": item's id, "model", "label"}`` a line.

    Labels are those of the item's kind; a preference counts from 1, the item's first candidate much
    better. All or nothing; the same file again changes nothing. Returns ``verdicts``, ``new``,
    ``items`` and ``models``. Raises BundleError with the faults, file and line.
    """
    path = Path(path)
    try:
        with path.open("rb") as stream:
            rows = read_rows(stream, path.name, VerdictRow)
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
    stored = {(item, model): label for item, model, label in
             there.values_list("item__external_id", "model", "label")}  # fmt: skip
    new = []
    for line, row in rows:
        place, key = f"{name}, line {line}", (row["task"], row["model"])
        item = items.get(row["task"])
        if item is None:
            words = f"the study has no item “{row['task'][:80]}” that models give verdicts on"
            report.fault(place, words)
        elif row["label"] not in item["labels"]:
            report.fault(place, f"“label” must be one of {', '.join(item['labels'])}")
        elif key not in stored:
            stored[key] = row["label"]
            new.append(Verdict(item_id=item["pk"], model=row["model"], label=row["label"]))
        elif stored[key] != row["label"]:
            words = "has given another verdict on this item: name another run otherwise"
            report.fault(place, f"“{row['model'][:80]}” {words}")
    report.finish()
    return new


def _items(study: Study) -> dict[str, dict]:
    items = Item.objects.filter(
        study=study, batch__purpose=Batch.Purpose.WORK, batch__task__kind__in=KINDS
    )
    rows = items.values_list("external_id", "pk", "batch__task__kind", "batch__task__config")
    return {
        name: {"pk": pk, "labels": kind_of(kind).labels(config_of(kind, config))}
        for name, pk, kind, config in rows
    }
