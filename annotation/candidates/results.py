"""Answers as models sent them: looked over and stored, many together in one statement."""

import json
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from annotation.accounts.models import User
from annotation.candidates import clean
from annotation.candidates.endpoints import Answer, Endpoint
from annotation.candidates.models import AspectScore, Budget, Candidate, GenerationRules
from annotation.candidates.strategies import Draft, Source
from annotation.core import audit, records
from annotation.core.errors import DomainError
from annotation.core.rows import chunks, silent
from annotation.personas.models import Attribute, PersonaVersion
from annotation.studies.bundle_rows import Score
from annotation.studies.models import Study

log = logging.getLogger(__name__)

# As jobs.end: only the attempt that holds the row may store.
STORE = """
    UPDATE candidates_candidate AS c
    SET status = 'done', lease_expires_at = NULL, next_try_at = NULL, error_code = '', error = '',
        answered_at = statement_timestamp(), flags = r.flags, review = r.review, text = r.text,
        urls = r.urls, model = r.model, request_id = r.request_id,
        template = r.template, prompt = r.prompt, prompt_digest = r.prompt_digest,
        parameters = r.parameters
    FROM jsonb_to_recordset(%s::jsonb) AS r (
        id uuid, attempts int, flags jsonb, review text, text text, urls jsonb, model text,
        request_id text, template text, prompt jsonb, prompt_digest text, parameters jsonb)
    WHERE c.id = r.id AND c.status = 'running' AND c.attempts = r.attempts
    RETURNING c.id
"""
CHUNK = 2_000


@dataclass(frozen=True)
class Written:
    """What one attempt brought for a row: the draft it was asked by, the answer, its clean text."""

    row: Candidate
    server: Endpoint
    draft: Draft
    answer: Answer
    cleaned: clean.Cleaned


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


def store_answers(written: list[Written]) -> None:
    """Store answers in their rows; those whose attempt came too late are logged alone."""
    if not written:
        return
    beside = _Beside([result.row for result in written])
    rows = [_columns(result, beside) for result in written]
    with connection.cursor() as cursor:
        cursor.execute(STORE, [json.dumps(rows, ensure_ascii=False)])
        stored = {pk for (pk,) in cursor.fetchall()}
    for result in written:
        if result.row.pk not in stored:
            log.warning(
                "candidate %s: attempt %s came too late", result.row.pk, result.row.attempts
            )


def _columns(result: Written, beside: "_Beside") -> dict:
    row, draft, answer, text = result.row, result.draft, result.answer, result.cleaned.text
    made = {
        "finish_reason": answer.finish_reason,
        "identity": clean.identity(text),
        "words": clean.count_words(text),
        "request": _sent(result.server),
    }
    if answer.sources:
        made["sources"] = draft.parameters.get("sources", []) + [
            asdict(Source("endpoint", url, title, url, "")) for title, url in answer.sources
        ]
    urls = dict.fromkeys([*result.cleaned.urls, *(url for _title, url in answer.sources)])
    flags, review = _looked_over(result, beside)
    return {
        "id": str(row.pk),
        "attempts": row.attempts,
        "flags": flags,
        "review": review,
        "text": text,
        "urls": list(urls),
        "model": answer.model,
        "request_id": answer.request_id,
        "template": draft.prompt.template,
        "prompt": draft.prompt.messages,
        "prompt_digest": draft.prompt.digest,
        "parameters": row.parameters | draft.parameters | made,
    }


class _Beside:
    """What the text checks of some answers look at beside them, read in a few statements."""

    lengths: dict[int, dict[UUID, int]]
    names: dict[int | None, str]
    statements: dict[int | None, list[str]]

    def __init__(self, rows: list[Candidate]) -> None:
        answers = [row for row in rows if row.purpose == Candidate.Purpose.ANSWER]
        people = {row.query.persona_id for row in answers} - {None}
        self.rules = {rules.study_id: rules for rules in GenerationRules.objects.filter(
            study__in={row.study_id for row in answers})}  # fmt: skip
        self.lengths, self.statements, self.names = defaultdict(dict), defaultdict(list), {}
        others = Candidate.objects.filter(
            query__in={row.query_id for row in answers}, status=Candidate.Status.DONE
        )
        for query, pk, words in others.values_list("query", "pk", "parameters__words"):
            self.lengths[query][pk] = words
        if not people:
            return
        attributes = Attribute.objects.filter(persona__in=people)
        for person, text in attributes.values_list("persona", "text"):
            self.statements[person].append(text)
        versions = PersonaVersion.objects.filter(persona__in=people).select_related("persona")
        for version in versions.order_by("version"):
            self.names[version.persona_id] = version.name

    def others(self, row: Candidate) -> list[int]:
        """Word counts of the other answers to the row's question."""
        lengths = self.lengths[row.query_id].items()
        return [words for pk, words in lengths if words and pk != row.pk]


def _looked_over(result: Written, beside: _Beside) -> tuple[list[str], str]:
    """What the text checks say of an answer, and whether it waits for a curator."""
    row, query = result.row, result.row.query
    if row.purpose != Candidate.Purpose.ANSWER:
        return [], ""
    flags = clean.check(
        result.cleaned.text,
        question=query.text,
        language=query.language,
        name=beside.names.get(query.persona_id, ""),
        finish_reason=result.answer.finish_reason,
        others=beside.others(row),
        attributes=beside.statements.get(query.persona_id, []),
    )
    # The embedded model always writes to its limit.
    holding = clean.HOLDING - ({"truncated"} if result.server.embedded else set())
    rules = beside.rules.get(row.study_id)
    waits = (rules and rules.review_answers) or holding & set(flags)
    return flags, Candidate.Review.PENDING if waits else ""


def _sent(server: Endpoint) -> dict:
    limit = {} if server.max_tokens is None else {"max_tokens": server.max_tokens}
    return {"model": server.model, **limit, **server.parameters}


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
