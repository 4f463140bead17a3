"""Which items a task does not have yet; kinds make their rows from these."""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Count, F, Q, QuerySet
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from pydantic.dataclasses import dataclass as schema

from annotation.candidates.models import Candidate
from annotation.candidates.strategies import FROM_ATTRIBUTES, GENERIC
from annotation.core.schema import asked
from annotation.judging import ordering
from annotation.judging.models import Batch, Item, ItemOption, Judgment
from annotation.personas.models import Attribute
from annotation.queries.models import GoldResponse, Query
from annotation.studies.models import Study, TaskDefinition

NAMES_LIMIT = 10_000


@schema(frozen=True)
class Scope:
    """What a batch keeps to; what is left out keeps to nothing.

    ``mixed``: in an order that is always the same for the same items. ``again``: for pairs and
    answers that are in no item.
    """

    queries: list[str] = asked(
        _("Only these queries (ids)"), [], max_length=NAMES_LIMIT, flag="query"
    )
    personas: list[str] = asked(
        _("Only these personas (ids)"), [], max_length=NAMES_LIMIT, flag="persona"
    )
    strategies: list[str] = asked(
        _("Only answers of these strategies"), [], max_length=NAMES_LIMIT, flag="strategy"
    )
    languages: list[str] = asked(
        _("Only queries in these languages"), [], max_length=NAMES_LIMIT, flag="language"
    )
    number: int | None = asked(_("At most so many items"), None, ge=1, le=10**7)
    mixed: bool = asked(_("In a random order, instead of query by query"), False)
    again: bool = asked(_("Also queries that have items: further pairs and new answers"), False)
    control: bool = asked(_("One answer of each item is a generic one: a hidden control"), False)


@dataclass(frozen=True)
class Lacking:
    """What keeps items from being planned, and the answers that would make them.

    ``pairs`` (query, attribute) lack an answer from that attribute, ``queries`` a generic one.
    """

    sentence: str
    pairs: tuple = ()
    queries: tuple = ()


EVERYTHING = Scope()
NAME_LIMIT: int = Item._meta.get_field("external_id").max_length or 0


def compared(study: Study, task: TaskDefinition, scope: Scope) -> Iterator[dict]:
    """Pairs or triples of a query's answers; ``again``, pairs that no item shows yet."""
    shown = _shown(study, task, scope)
    for query, candidates in answered(study, task, scope):
        sets = shown.get(query.pk, [])
        if sets and task.config["options"] != 2:
            continue  # of three answers one ground truth comes: there is no second set
        rows = _sets_of(query, candidates, task, sets, control=scope.control)
        for number, options in enumerate(rows, start=len(sets) + 1):
            yield row(task, query, number, options)


def grouped(study: Study, task: TaskDefinition, scope: Scope) -> Iterator[dict]:
    """A query's answers, ``options`` of them at a time, in a seeded order; the last are fewer.

    ``again``, those that are in no item yet.
    """
    size, shown = task.config["options"], _shown(study, task, scope)
    for query, candidates in answered(study, task, scope):
        sets = shown.get(query.pk, [])
        new = [answer.pk for answer in candidates if not any(answer.pk in ids for ids in sets)]
        ids = ordering.mixed(new, f"{task.name}/{query.pk}")
        groups = [ids[n : n + size] for n in range(0, len(ids), size)]
        for number, options in enumerate(groups, start=len(sets) + 1):
            yield row(task, query, number, options)


def attributes(study: Study, task: TaskDefinition, scope: Scope) -> Iterator[dict]:
    judged = Item.objects.filter(study=study, batch__task__name=task.name).exclude(attribute=None)
    new = Attribute.objects.filter(persona__study=study, persona__dropped_at=None)
    new = new.exclude(persona__split="training")
    new = new.exclude(pk__in=judged.values("attribute")).select_related("persona")
    if scope.personas:
        new = new.filter(persona__external_id__in=scope.personas)
    for attribute in new.order_by("pk"):
        name = item_name(task.name, attribute.persona.external_id, attribute.external_id)
        yield {"external_id": name, "attribute": attribute, "query": None}


def attributes_by_query(study: Study, task: TaskDefinition, scope: Scope) -> Iterator[dict]:
    """Every attribute of a person with every prompt of that person's."""
    items = Item.objects.filter(study=study, batch__task__name=task.name)
    planned = set(items.values_list("attribute_id", "query_id"))
    by_persona: dict[int, list[Attribute]] = defaultdict(list)
    for attribute in Attribute.objects.filter(persona__study=study).order_by("pk"):
        by_persona[attribute.persona_id].append(attribute)
    for query in current(study, scope):
        for attribute in by_persona.get(query.persona_id or 0, ()):
            if (attribute.pk, query.pk) not in planned:
                prompt = f"{query.external_id}-v{query.version}"
                name = item_name(task.name, attribute.external_id, prompt)
                yield {"external_id": name, "attribute": attribute, "query": query}


def requests(study: Study, task: TaskDefinition, scope: Scope) -> Iterator[dict]:
    """Each query alone, without answers."""
    judged = Item.objects.filter(study=study, batch__task__name=task.name).values("query")
    for query in current(study, scope).exclude(pk__in=judged):
        yield {
            "external_id": item_name(task.name, query.external_id, f"v{query.version}"),
            "query": query,
        }


def gold_responses(study: Study, task: TaskDefinition, scope: Scope) -> Iterator[dict]:
    """The newest gold response of each query, once it has been split into claims."""
    newest = (
        GoldResponse.objects.filter(query__in=current(study, scope))
        .order_by("query", "-version")
        .distinct("query")
        .select_related("query")
    )
    for gold in newest:
        if gold.claims.exists() and not gold.items.filter(batch__task__name=task.name).exists():
            name = item_name(task.name, gold.query.external_id, f"g{gold.version}")
            yield {"external_id": name, "query": gold.query, "gold": gold}


def row(task: TaskDefinition, query: Query, number: int, options: Iterable[int]) -> dict:
    """An item that shows ``options`` (candidates' ids), the ``number``-th of its query."""
    return {
        "external_id": item_name(task.name, query.external_id, f"v{query.version}-{number}"),
        "query": query,
        "candidates": list(options),
    }


def item_name(*parts: str) -> str:
    """The item's id in exports; of parts too long for it, the beginning and a digest of all."""
    name = "-".join(parts)
    if len(name) <= NAME_LIMIT:
        return name
    return f"{name[: NAME_LIMIT - 17]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def answered(
    study: Study, task: TaskDefinition, scope: Scope
) -> list[tuple[Query, list[Candidate]]]:
    """Queries without an item in this task, ``again`` all of them, each with its answers."""
    queries = current(study, scope)
    if not scope.again:
        queries = queries.exclude(items__batch__task__name=task.name)
    by_query = defaultdict(list)
    # What waits for a reviewer, or was rejected, is shown to nobody.
    shown = Candidate.objects.filter(query__in=queries, status="done", review__in=("", "accepted"))
    if scope.strategies:
        shown = shown.filter(strategy__in=scope.strategies)
    for candidate in shown.order_by("created_at", "pk"):
        by_query[candidate.query_id].append(candidate)
    return [(query, by_query[query.pk]) for query in queries]


def _shown(study: Study, task: TaskDefinition, scope: Scope) -> dict[int, list[set]]:
    """{query's id: the answers of each of its items in this task}, as far as ``again`` asks."""
    if not scope.again:
        return {}
    options = ItemOption.objects.filter(item__study=study, item__batch__task__name=task.name)
    items = options.values_list("item__query", "item").annotate(answers=ArrayAgg("candidate"))
    shown = defaultdict(list)
    for query, _item, answers in items.order_by():
        shown[query].append(set(answers))
    return shown


def current(study: Study, scope: Scope) -> QuerySet[Query]:
    """The queries in ``scope`` that people judge, in their newest versions."""
    # Training personas train models: nothing that people judge is about them.
    queries = Query.objects.filter(study=study, replaced_at=None)
    queries = queries.exclude(persona__split="training")
    queries = queries.filter(Q(persona=None) | Q(persona__dropped_at=None))
    if scope.queries:
        queries = queries.filter(external_id__in=scope.queries)
    if scope.personas:
        queries = queries.filter(persona__external_id__in=scope.personas)
    if scope.languages:
        queries = queries.filter(language__in=scope.languages)
    return queries.order_by("pk")


def _sets_of(
    query: Query,
    candidates: list[Candidate],
    task: TaskDefinition,
    shown: Collection[set],
    *,
    control: bool,
) -> list[tuple]:
    """The sets of answers that the next items of ``query`` show; never a pair that is ``shown``.

    ``control``: in each exactly one answer is generic.
    """
    generic = {answer.pk for answer in candidates if answer.strategy in GENERIC}
    seed = f"{task.name}/{query.pk}"
    if task.config["options"] == 2:
        every = ordering.pairs(*_ids_and_texts(candidates), len(candidates) ** 2, seed)
        new = (pair for pair in every if set(pair) not in shown)
        fit = [pair for pair in new if not control or len(generic & set(pair)) == 1]
        return fit[: task.config["pairs_per_query"]]
    controls = [answer for answer in candidates if control and answer.pk in generic][:1]
    if control and not controls:
        return []
    compared = [answer for answer in candidates if not control or answer.pk not in generic]
    for answers in _sets(compared):
        triple = [*answers[: 3 - len(controls)], *controls]
        if drawn := ordering.triple(*_ids_and_texts(triple), seed):
            return [drawn]
    return []


def _sets(candidates: list[Candidate]) -> list[list]:
    """Answers of one endpoint and model, an answer a strategy; the most complete set first."""
    if len(candidates) == 3 and len({candidate.endpoint for candidate in candidates}) == 1:
        return [candidates]
    sets = {}
    for candidate in candidates:
        by_strategy = sets.setdefault((candidate.endpoint, candidate.model), {})
        # Imported answers may name no strategy: each of them stands for itself.
        by_strategy.setdefault(candidate.strategy or candidate.pk, candidate)
    answers = (list(by_strategy.values()) for by_strategy in sets.values())
    return sorted(answers, key=len, reverse=True)


def _ids_and_texts(candidates: list[Candidate]) -> tuple[list, list]:
    return [answer.pk for answer in candidates], [answer.text for answer in candidates]


# --- Personalised answers: of attributes that a majority of people held relevant to a prompt, the
# generic answer against an answer that was written from the attribute


def relevant(study: Study) -> set[tuple[int, int]]:
    """(query, attribute) ids that more than half of the people asked held relevant.

    Counted against all judgments that are wanted: later ones cannot turn such a majority.
    """
    votes = Judgment.objects.standing().filter(
        slot__study=study,
        slot__item__batch__purpose=Batch.Purpose.WORK,
        slot__item__batch__task__kind="relevance",
    )
    counted = votes.values("slot__item", "slot__item__query", "slot__item__attribute").annotate(
        yes=Count("pk", filter=Q(answers__label="yes")), wanted=F("slot__item__overlap")
    )
    return {
        (row["slot__item__query"], row["slot__item__attribute"])
        for row in counted
        if 2 * row["yes"] > row["wanted"]
    }


def by_attribute(study: Study, task: TaskDefinition, scope: Scope) -> Iterator[dict]:
    """An item for each relevant attribute that has both answers and no item in the task yet."""
    for query, attribute, generic, personalised in _units(study, task, scope):
        if generic and personalised:
            prompt = f"{query.external_id}-v{query.version}"
            name = item_name(task.name, attribute.external_id, prompt)
            yield {
                "external_id": name,
                "query": query,
                "attribute": attribute,
                # Which of them is the generic one must not follow from its number.
                "candidates": ordering.mixed([generic.pk, personalised.pk], name),
            }


def lacking(study: Study, task: TaskDefinition, scope: Scope) -> Lacking | None:
    """Which answers are missing, or that no attribute is held relevant yet; None where all is."""
    units = _units(study, task, scope)
    pairs = [(query, attribute) for query, attribute, _generic, own in units if own is None]
    queries = {query.pk: query for query, _attribute, generic, _own in units if generic is None}
    if not pairs and not queries:
        if units or relevant(study):
            return None
        return Lacking(
            gettext(
                "No attribute has been held relevant to a prompt by a majority of people yet: "
                "have the relevance of attributes judged first."
            )
        )
    sentences = []
    if pairs:
        words = ngettext(
            "%(n)d attribute that people held relevant has no answer written from it.",
            "%(n)d attributes that people held relevant have no answer written from them.",
            len(pairs),
        )
        sentences.append(words % {"n": len(pairs)})
    if queries:
        words = ngettext(
            "%(n)d prompt has no generic answer.",
            "%(n)d prompts have no generic answer.",
            len(queries),
        )
        sentences.append(words % {"n": len(queries)})
    return Lacking(" ".join(sentences), tuple(pairs), tuple(queries.values()))


def _units(
    study: Study, task: TaskDefinition, scope: Scope
) -> list[tuple[Query, Attribute, Candidate | None, Candidate | None]]:
    """The relevant attributes of the queries in ``scope`` without an item in the task, each with
    the generic answer and the one that was written from the attribute, where there are any.
    """
    wanted = relevant(study)
    items = Item.objects.filter(study=study, batch__task__name=task.name)
    wanted -= set(items.values_list("query_id", "attribute_id"))
    queries = {q.pk: q for q in current(study, scope).filter(pk__in={q for q, _a in wanted})}
    attributes = Attribute.objects.in_bulk({attribute for _query, attribute in wanted})
    generic, personalised = _answers(queries, scope)
    return [
        (queries[q], attributes[a], generic.get(q), personalised.get((q, a)))
        for q, a in sorted(wanted)
        if q in queries
    ]


def _answers(queries: Collection[int], scope: Scope) -> tuple[dict, dict]:
    """The first generic answer by query, and the first from one attribute by both."""
    shown = Candidate.objects.filter(
        query__in=queries, status="done", review__in=("", "accepted")
    ).exclude(text="")
    # Of several models' answers those of the same endpoint should meet.
    shown = shown.order_by("endpoint", "created_at", "pk").defer("prompt", "parameters")
    if scope.strategies:
        shown = shown.filter(strategy__in=scope.strategies)
    generic, personalised = {}, {}
    for answer in shown.filter(Q(strategy__in=GENERIC) | Q(strategy=FROM_ATTRIBUTES)):
        if answer.strategy in GENERIC:
            generic.setdefault(answer.query_id, answer)
        elif answer.attribute_id:
            personalised.setdefault((answer.query_id, answer.attribute_id), answer)
    return generic, personalised
