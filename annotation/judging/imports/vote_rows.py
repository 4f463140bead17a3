"""Stores votes that were collected elsewhere, some at a time, each time in one transaction.

What does not fit is rejected with its line. The same file again changes nothing.
"""

from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path

from django.db import transaction

from annotation.core.errors import DomainError
from annotation.core.rows import chunks, silent
from annotation.judging.imports import judgments, turns, votes_file
from annotation.judging.imports.judgments import Imported, Storing, Target
from annotation.judging.kinds.imported import NO_ANSWER, ImportedJudgment
from annotation.studies.models import Study

CHUNK = 2_000


def import_votes(study: Study, path: Path | str, progress: Callable = silent) -> dict:
    """Store the votes of the file ``path`` (CSV or JSON lines) in ``study``.

    Each vote takes an open slot of its item. Workers become accounts that nobody can log in to.
    Returns ``votes``, ``items`` and ``workers``: how many votes of the file, on how many items and
    by how many workers, are in the study now, and ``rejected``: line and reason of every other
    one. Raises votesfile.VotesFileError, with nothing stored, where the file is no votes file at
    all. An end in the middle leaves whole votes: the same file again stores the rest.
    """
    # Once through the file: what cannot be read to its end is refused before anything is stored.
    deque(votes_file.rows(path), maxlen=0)
    rejected = []

    def reject(line: int, reason: str) -> None:
        rejected.append({"line": line, "reason": reason})

    storing = Storing(study, reject, beyond=False)
    for chunk in chunks(progress(votes_file.rows(path), "votes", None), CHUNK):
        rows = []
        for line, vote in chunk:
            if isinstance(vote, str):
                reject(line, vote)
            else:
                rows.append(_imported(line, vote))
        with transaction.atomic():
            # So that no import locks slots that another one waits for.
            turns.take(study)
            storing.store(rows)
    # Until its transaction ends, ANALYZE keeps that of every other import waiting.
    transaction.on_commit(judgments.analyze, robust=True)
    return {**storing.counts(), "rejected": sorted(rejected, key=lambda row: row["line"])}


def _imported(line: int, vote: votes_file.Vote) -> Imported:
    return Imported(
        line,
        vote.task,
        vote.worker,
        partial(_body, vote.label),
        vote.label,
        reason=vote.reason,
        submitted_at=vote.submitted_at,
        seconds=vote.seconds,
    )


def _body(label: str, target: Target) -> dict:
    return target.kind.imported_body(
        ImportedJudgment(
            label=label,
            config=target.config,
            answers=[option.candidate for option in target.options],
            choice=partial(_choice, target),
            gold=target.gold,
        )
    )


def _choice(target: Target, label: str) -> str:
    """What a body says for a candidate's id, ``tie`` or ``none``."""
    if label in NO_ANSWER:
        if not target.config.get(label):
            raise DomainError(f"the item's task allows no “{label}”")
        return label
    if label not in (candidates := target.candidates()):
        raise DomainError(f"the item has no candidate “{label[:80]}”")
    return candidates[label]
