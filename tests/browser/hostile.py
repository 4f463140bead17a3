"""Hostile texts in every field of the database that holds foreign words.

Text fields get a whole corpus; short fields get as many texts as fit, the next ones in each field
and row. What the code itself writes and compares (names of kinds, digests, addresses) stays.
"""

import itertools
import json
from collections.abc import Iterator

from django.apps import apps
from django.db import connection, models

from annotation.core.embed import DIMENSIONS

# Written by the code and compared by it, or part of an address.
OURS = {
    "accounts.ApiToken": {"digest", "hint"},
    "accounts.ConsentText": {"name"},
    "accounts.User": {"password", "email", "worker", "language"},
    "agreement.AgreementResult": {"task", "digest", "checked"},
    "agreement.EarlyStop": {"task", "below"},
    "agreement.ItemTier": {"tier"},
    "api.IdempotentCall": {"key", "digest"},
    "candidates.Candidate": {"prompt_digest", "flags"},
    "candidates.Proposal": {"prompt_digest", "flags", "step"},
    "candidates.PromptTemplate": {"name"},
    "candidates.Run": {"step"},
    # Never changed, by right of the database: a test adds one.
    "core.AuditEvent": {"action", "target", "target_id"},
    "core.Heartbeat": {"name"},
    "core.Installation": {"name"},
    "datasets.ImportedPair": {"tier"},
    "datasets.Release": {"salt", "layout", "format"},
    "datasets.ReleaseImport": {"digest", "slug"},
    "evaluation.Benchmark": {"digest", "layout"},
    "evaluation.Reply": {"code", "unit"},
    "evaluation.Run": {"setting", "prompt", "folder", "task"},
    "evaluation.Verdict": {"label"},
    "histories.Alias": {"kind", "digest"},
    "histories.Mark": {"rule"},
    "histories.Message": {"role"},
    "histories.Tombstone": {"digest"},
    "histories.Upload": {"stored", "sha256", "language", "fingerprint"},
    "imports.DataImport": {"stored", "fingerprint", "language", "sample"},
    "judging.Judgment": {"key", "digest"},
    "judging.Answer": {"question", "label"},
    "personas.Conversation": {"opening"},
    "queries.Query": {"language"},
    "studies.CrowdEntry": {"session"},
    "studies.CrowdSource": {"return_url"},
    "studies.Invitation": {"digest"},
    "studies.JoinCode": {"digest"},
    "studies.Study": {"slug", "currency"},
    "studies.TaskDefinition": {"name", "kind"},
    "webhooks.Delivery": {"event"},
    "webhooks.Webhook": {"nonce", "url"},
}
# JSON whose texts people or models write; a name of None stands for all of them.
JSON = {
    "candidates.Candidate": {"urls": None, "prompt": None},
    "candidates.DocumentFile": {"skipped": None},
    "histories.Upload": {"skipped": None},
    "judging.Draft": {"data": {"reason"}},
    "personas.Evidence": {"messages": {"text"}},
    "personas.PersonaVersion": {"profile": None},
    "queries.Query": {"guide": None},
    "webhooks.Delivery": {"body": None},
}
# Names of things, each of one thing only; those that we make begin so, and stand in addresses.
EXTERNAL, MADE = "external_id", "own-"


def fill(texts: list[str], start: int = 0) -> dict[str, int]:
    """Write ``texts`` into every field of every row; {"model.field": rows} of what was written.

    Short fields begin with the text of number ``start``. Rows are written as SQL does: no check of
    a form stands between a text and its page.
    """
    many = "\n\n".join(sorted(texts, key=_never_ending))
    following = itertools.cycle(texts[start:] + texts[:start])
    written = {}
    for model in apps.get_models():
        if not model.__module__.startswith("annotation."):
            continue
        for field in model._meta.local_concrete_fields:
            values = _values(model, field, many, following)
            if values is not None:
                written[f"{model._meta.label}.{field.name}"] = _update(model, field, values)
    return written


def furnish(world) -> None:
    """Rows of the tables that a world of tests.security.conftest leaves empty."""
    study, mine, person = world.tea, world.mine, world.users["site"]
    query, persona, item = mine.query, mine.persona, world.bo_slot.item
    attribute = persona.attributes.create(external_id="a1", text="x", model="m")
    attribute.evidence.create(messages=[{"role": "user", "text": "x"}])
    study.conversations.create(
        persona=persona, provider="wildchat", external_id="c", speaker="s", language="l", turns=1,
        opening="o", messages=[{"role": "user", "text": "x"}], embedding=[0.0] * DIMENSIONS,
    )  # fmt: skip
    for asked in (query, mine.owner_queries):
        asked.gold_responses.create(text="x").claims.create(number=1, text="x", model="m")
        asked.rubrics.create(text="x", model="m")
    shared = {"endpoint": "e", "model": "m", "request_id": "r", "template": "persona-1"}
    proposal = study.proposals.create(
        step="persona", run=mine.run, number=1, persona=persona, status="done", text="x", **shared
    )
    proposal.opinions.create(reviewer=person, accepts=False, reason="x")
    study.prompt_templates.create(name="persona", version=1, system="x", user="x")
    mine.candidate.aspect_scores.create(aspect="a", score=1, source="s")
    study.documents.create(external_id="d", title="t", url="https://example.org/", text="x")
    study.document_files.create(by=person, name="n", size=1, status="done", skipped=["x"])
    mine.data_import.faults.create(line=1, reason="x")
    study.import_recipes.create(name="n", mapping={})
    item.verdicts.create(model="m", label="1")
    mine.slot.drafts.create(annotator=mine.slot.annotator, data={"reason": ["x"]})


def _never_ending(text: str) -> tuple:
    """Texts that hide what follows them come last."""
    return ("```" in text or "~~~" in text, text.count("<!"))


def _values(model, field, many: str, following: Iterator[str]):
    """A function from a row's present value to its new one; None for a field that is ours."""
    label = model._meta.label
    if isinstance(field, models.JSONField):
        if field.name not in JSON.get(label, {}):
            return None
        names = JSON[label][field.name]
        return lambda old: _replaced(old, names, lambda: next(following))
    if not isinstance(field, models.CharField | models.TextField) or field.choices:
        return None
    if field.name in OURS.get(label, ()) or field.name == "error_code":
        return None
    if field.max_length is None:
        return lambda old: many
    if field.name == EXTERNAL:
        return lambda old: (
            old if old.startswith(MADE) else f"{old}{next(following)}"[: field.max_length]
        )
    return lambda old: old and _packed(following, field.max_length)


def _packed(following: Iterator[str], length: int) -> str:
    """As many of the next texts as fit into ``length`` characters; the first one is cut."""
    text = next(following)[:length]
    while len(longer := f"{text} {next(following)}") <= length:
        text = longer
    return text


def _replaced(value, names, text):
    """``value`` with new texts in its strings: in those of ``names``, or in all and in keys."""
    if isinstance(value, dict):
        return {
            key if names else f"{key} {text()}": (
                _replaced(part, None, text) if names is None or key in names else part
            )
            for key, part in value.items()
        }
    if isinstance(value, list):
        return [_replaced(part, names, text) for part in value]
    return text() if isinstance(value, str) else value


def _update(model, field, values) -> int:
    """Write the new values with plain SQL; how many rows now hold another one."""
    quote = connection.ops.quote_name
    table, column, key = (
        quote(name) for name in (model._meta.db_table, field.column, model._meta.pk.column)
    )
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {key}, {column} FROM {table}")  # noqa: S608
        rows = cursor.fetchall()
        for pk, old in rows:
            old = (
                json.loads(old)
                if isinstance(field, models.JSONField) and isinstance(old, str)
                else old
            )
            new = values(old)
            new = json.dumps(new) if isinstance(field, models.JSONField) else new
            cursor.execute(f"UPDATE {table} SET {column} = %s WHERE {key} = %s", [new, pk])  # noqa: S608
    return len(rows)
