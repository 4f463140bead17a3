"""What a batch asks about: the items of a task that the study does not have yet, kind by kind."""

import hashlib
from collections.abc import Iterator

from django.db.models import Q

from annotation.candidates.models import Candidate
from annotation.judging.models import Item
from annotation.judging.work import ordering
from annotation.personas.models import Attribute
from annotation.queries.models import GoldResponse, Query
from annotation.studies.models import TaskDefinition

NAME_LIMIT = Item._meta.get_field("external_id").max_length


def rows(study, task: TaskDefinition) -> list[dict]:
    """The new items of ``task`` as ``open.add_items`` takes them, without their overlap."""
    return list(_PLANS[task.kind](study, task))


def _compared(study, task) -> Iterator[dict]:
    """Pairs or triples of a query's answers."""
    for query, candidates in _answered(study, task):
        for number, options in enumerate(_sets_of(query, candidates, task), start=1):
            yield _row(task, query, number, options)


def _scored(study, task) -> Iterator[dict]:
    """Answers one at a time, or so many side by side as the task sets, in a seeded order."""
    size = task.config["options"]
    for query, candidates in _answered(study, task):
        ids = ordering.mixed([candidate.pk for candidate in candidates], f"{task.name}/{query.pk}")
        groups = [ids[n : n + size] for n in range(0, len(ids), size)]
        for number, options in enumerate(groups, start=1):
            yield _row(task, query, number, options)


def _attributes(study, task) -> Iterator[dict]:
    for attribute in _new_attributes(study, task):
        name = _name(task.name, attribute.persona.external_id, attribute.external_id)
        yield {"external_id": name, "attribute": attribute, "query": None}


def _relevances(study, task) -> Iterator[dict]:
    """Every attribute of a person with every prompt of that person's."""
    known = set(
        Item.objects.filter(study=study, batch__task__name=task.name).values_list(
            "attribute_id", "query_id"
        )
    )
    attributes = {}
    for attribute in Attribute.objects.filter(persona__study=study).order_by("pk"):
        attributes.setdefault(attribute.persona_id, []).append(attribute)
    for query in _current(study):
        for attribute in attributes.get(query.persona_id, []):
            if (attribute.pk, query.pk) not in known:
                prompt = f"{query.external_id}-v{query.version}"
                name = _name(task.name, attribute.external_id, prompt)
                yield {"external_id": name, "attribute": attribute, "query": query}


def _claims(study, task) -> Iterator[dict]:
    """The newest gold response of each query, once it has been split into claims."""
    newest = (
        GoldResponse.objects.filter(query__study=study, query__replaced_at=None)
        .order_by("query", "-version")
        .distinct("query")
        .select_related("query")
    )
    for gold in newest:
        if gold.claims.exists() and not gold.items.filter(batch__task__name=task.name).exists():
            name = _name(task.name, gold.query.external_id, f"g{gold.version}")
            yield {"external_id": name, "query": gold.query, "gold": gold}


_PLANS = {
    "selection": _compared,
    "preference": _compared,
    "feedback": _scored,
    "attribute": _attributes,
    "relevance": _relevances,
    "claims": _claims,
}


def _row(task, query, number: int, options) -> dict:
    return {
        "external_id": _name(task.name, query.external_id, f"v{query.version}-{number}"),
        "query": query,
        "candidates": list(options),
    }


def _name(*parts: str) -> str:
    """The item's id in exports; of parts too long for it, the beginning and a digest of all."""
    name = "-".join(parts)
    if len(name) <= NAME_LIMIT:
        return name
    return f"{name[: NAME_LIMIT - 17]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def _current(study):
    queries = Query.objects.filter(study=study, replaced_at=None)
    return queries.filter(Q(persona=None) | Q(persona__dropped_at=None)).order_by("pk")


def _new_attributes(study, task):
    known = Item.objects.filter(study=study, batch__task__name=task.name)
    found = Attribute.objects.filter(persona__study=study, persona__dropped_at=None)
    found = found.exclude(pk__in=known.exclude(attribute=None).values("attribute"))
    return found.select_related("persona").order_by("pk")


def _answered(study, task):
    """Queries without an item in this task, each with its answers."""
    queries = _current(study).exclude(items__batch__task__name=task.name)
    by_query = {}
    # What waits for a reviewer, or was rejected, is shown to nobody.
    shown = Candidate.objects.filter(query__in=queries, status="done", review__in=("", "accepted"))
    for candidate in shown.order_by("created_at", "pk"):
        by_query.setdefault(candidate.query_id, []).append(candidate)
    return [(query, by_query.get(query.pk, [])) for query in queries]


def _sets_of(query, candidates, task) -> list[tuple]:
    seed = f"{task.name}/{query.pk}"
    if task.config["options"] == 2:
        return ordering.pairs(*_ids_and_texts(candidates), task.config["pairs_per_query"], seed)
    for answers in _sets(candidates):
        if triple := ordering.triple(*_ids_and_texts(answers[:3]), seed):
            return [triple]
    return []


def _sets(candidates) -> list[list]:
    """Answers of one endpoint and model, an answer a strategy; the most complete set first."""
    if len(candidates) == 3 and len({candidate.endpoint for candidate in candidates}) == 1:
        return [candidates]
    sets = {}
    for candidate in candidates:
        found = sets.setdefault((candidate.endpoint, candidate.model), {})
        # Imported answers may name no strategy: each of them stands for itself.
        found.setdefault(candidate.strategy or candidate.pk, candidate)
    return sorted((list(found.values()) for found in sets.values()), key=len, reverse=True)


def _ids_and_texts(candidates) -> tuple[list, list]:
    return [one.pk for one in candidates], [one.text for one in candidates]
