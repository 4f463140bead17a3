"""Scores of answers on aspects, from a file: diagnostics, no votes."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from django.db import transaction

from annotation.candidates.models import AspectScore
from annotation.core import foreign, records
from annotation.core.errors import DomainError
from annotation.core.records import chunks, silent
from annotation.studies.bundle_rows import Score
from annotation.studies.models import Study

CHUNK = 2_000
REQUIRED = [name for name, field in Score.model_fields.items() if field.is_required()]


class ScoresFileError(DomainError):
    """The file holds no scores at all; the sentence names file and line."""

    code = "scores"


@transaction.atomic
def import_scores(study: Study, path: Path | str, progress: Callable = silent) -> dict:
    """Store the scores of the file ``path`` (CSV or JSON lines) for answers of ``study``.

    A row has ``candidate`` (its own id), ``aspect``, ``score`` and, where there are several,
    ``source``. Returns ``scores`` and ``candidates``: how many scores of the file, of how many
    answers, the study has now, and ``rejected``: line and reason of every other row. The same file
    again changes nothing. Raises ScoresFileError where the file is no scores file at all.
    """
    # Two imports into one study take turns: each would miss what the other is storing.
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    rejected, stored, scored = [], 0, set()
    for chunk in chunks(progress(read_scores(path), "scores", None), CHUNK):
        good = [(line, row) for line, row in chunk if not isinstance(row, str)]
        refused = [(line, row) for line, row in chunk if isinstance(row, str)] + store_scores(
            study, good
        )
        wrong = {line for line, _reason in refused}
        taken = [row["candidate"] for line, row in good if line not in wrong]
        stored += len(taken)
        scored.update(taken)
        rejected += [{"line": line, "reason": reason} for line, reason in sorted(refused)]
    return {"scores": stored, "candidates": len(scored), "rejected": rejected}


def store_scores(study: Study, rows: Iterable[tuple[int, dict]]) -> list[tuple[int, str]]:
    """Add the scores of ``rows`` (line, bundle_rows.Score); line and reason of each refused one.

    A score that the study has already, with the same value, is passed over.
    """
    rows = list(rows)
    named = {row["candidate"] for _line, row in rows}
    answers = dict(study.candidates.filter(external_id__in=named).values_list("external_id", "pk"))
    there = AspectScore.objects.filter(candidate__in=answers.values())
    fields = ("candidate_id", "aspect", "source", "score")
    stored = {tuple(key): score for *key, score in there.values_list(*fields)}
    new, refused = [], []
    for line, row in rows:
        key = (answers.get(row["candidate"]), row["aspect"], row["source"])
        if key[0] is None:
            refused.append((line, f"the study has no answer “{row['candidate'][:80]}”"))
        elif key not in stored:
            stored[key] = row["score"]
            new.append(AspectScore(**dict(zip(fields, (*key, row["score"]), strict=True))))
        elif stored[key] != row["score"]:
            words = "has another score on this aspect from this source: name another source"
            refused.append((line, f"the answer “{row['candidate'][:80]}” {words}"))
    AspectScore.objects.bulk_create(new)
    return refused


def read_scores(path: Path | str) -> Iterator[tuple[int, dict | str]]:
    """Line and row of bundle_rows.Score of each record of a scores file, or the reason it is none.

    The first character tells JSON lines from CSV. Raises ScoresFileError where the file cannot be
    read, is empty or lacks a column.
    """
    check = records.columns(Score.model_fields, REQUIRED)
    for line, record in foreign.rows_at(path, ScoresFileError, check):
        yield line, record if isinstance(record, str) else _checked_score(record)


def _score(text: str) -> float | str:
    """The number a text stands for; the text itself where it stands for none."""
    try:
        return text if "_" in text else float(text)
    except ValueError:
        return text


def _checked_score(record: dict) -> dict | str:
    """The record as a row of scores, or why it is none."""
    score = record.get("score")
    if isinstance(score, str):
        record = record | {"score": _score(score)}
    for name in Score.model_fields:
        try:
            records.check_json(record.get(name))
        except ValueError as error:
            return f"“{name}” {error}"
    row, faults = Score.read(record)
    return next((f"“{name}” {words}" for name, words in faults.items()), row)
