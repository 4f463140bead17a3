"""Answers as models sent them: looked over and stored."""

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from pydantic.dataclasses import dataclass as schema

from annotation.accounts.models import User
from annotation.candidates import clean
from annotation.candidates.endpoints import Answer, Endpoint
from annotation.candidates.models import AspectScore, Budget, Candidate, GenerationRules
from annotation.candidates.strategies import Draft, Source
from annotation.core import audit, jobs, records
from annotation.core.errors import DomainError
from annotation.core.records import chunks, silent
from annotation.core.schema import asked
from annotation.personas.models import Attribute, held_on
from annotation.studies.bundle_rows import Score
from annotation.studies.models import Study

log = logging.getLogger(__name__)

CHUNK = 2_000
MOST_TOKENS = 2**63 - 1


@dataclass(frozen=True)
class Written:
    """What one attempt brought for a row: the draft it was asked by, the answer, its clean text."""

    row: Candidate
    server: Endpoint
    draft: Draft
    answer: Answer
    cleaned: clean.Cleaned


@schema(frozen=True)
class Limits:
    """What a study's models may cost, altogether and a day (UTC); None is no limit."""

    cost: Decimal | None = asked(_("Cost, altogether"), None, ge=0)
    daily_cost: Decimal | None = asked(_("Cost, a day"), None, ge=0)
    tokens: int | None = asked(_("Tokens, altogether"), None, ge=0, le=MOST_TOKENS)
    daily_tokens: int | None = asked(_("Tokens, a day"), None, ge=0, le=MOST_TOKENS)


@schema(frozen=True)
class ReviewRules:
    """How a study reviews what models write."""

    reviewers: int = asked(_("Reviewers of each proposal"), 1, ge=1, le=2)
    review_answers: bool = asked(_("Answers wait for a reviewer before raters see them"), False)
    similarity: float = asked(_("Near-duplicates from this similarity on"), 0.85, ge=0.3, le=1)
    length_tolerance: float = asked(
        _("Largest change of a rewrite's word count (0.1 = 10 %)"), 0.1, ge=0, le=1
    )


def rules_of(study: Study) -> GenerationRules:
    """How ``study`` reviews what models write; unsaved defaults where nothing is set."""
    return GenerationRules.objects.filter(study=study).first() or GenerationRules(study=study)


@transaction.atomic
def set_rules(
    study: Study, budget: dict[str, Any], rules: dict[str, Any], *, by: User | None = None
) -> None:
    """Change these fields of the study's Budget and GenerationRules."""
    Budget.objects.update_or_create(study=study, defaults=budget)
    GenerationRules.objects.update_or_create(study=study, defaults=rules)
    changed = {name: str(value) for name, value in (budget | rules).items()}
    audit.record(by, "generation.rules", study, **changed)


def store_result(result: Written) -> None:
    """Store an answer in its row; where its attempt came too late that is logged alone."""
    row, draft, answer, text = result.row, result.draft, result.answer, result.cleaned.text
    made = {
        "finish_reason": answer.finish_reason,
        "identity": clean.identity(text),
        "words": clean.count_words(text),
        "request": result.server.request,
    }
    if answer.sources:
        made["sources"] = draft.parameters.get("sources", []) + [
            asdict(Source("endpoint", url, title, url, "")) for title, url in answer.sources
        ]
    urls = dict.fromkeys([*result.cleaned.urls, *(url for _title, url in answer.sources)])
    flags, review = _looked_over(result)
    stored = jobs.end(
        row,
        Candidate.Status.DONE,
        error_code="",
        error="",
        answered_at=Now(),
        flags=flags,
        review=review,
        text=text,
        urls=list(urls),
        model=result.server.named(answer.model),
        request_id=answer.request_id,
        template=draft.prompt.template,
        prompt=draft.prompt.messages,
        prompt_digest=draft.prompt.digest,
        parameters=row.parameters | draft.parameters | made,
    )
    if not stored:
        log.warning("candidate %s: attempt %s came too late", row.pk, row.attempts)


def _looked_over(result: Written) -> tuple[list[str], str]:
    """What the text checks say of an answer, and whether it waits for a curator."""
    row, query = result.row, result.row.query
    if row.purpose != Candidate.Purpose.ANSWER:
        return [], ""
    others = Candidate.objects.filter(query=query, status=Candidate.Status.DONE).exclude(pk=row.pk)
    attributes = Attribute.objects.filter(held_on(query.asked_on), persona=query.persona_id)
    flags = clean.check_answer(
        result.cleaned.text,
        question=query.text,
        language=query.language,
        name=query.persona.current.name if query.persona else "",
        finish_reason=result.answer.finish_reason,
        others=[words for words in others.values_list("parameters__words", flat=True) if words],
        attributes=list(attributes.values_list("text", flat=True)),
    )
    # The embedded model always writes to its limit.
    holding = clean.HOLDING - ({"truncated"} if result.server.embedded else set())
    waits = rules_of(row.study).review_answers or holding & set(flags)
    return flags, Candidate.Review.PENDING if waits else ""


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
    for line, record in records.of_file(path, ScoresFileError, check):
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
