"""Plans stage 3 of PersonalBench: for attributes that a majority of people held relevant to a
prompt, the generic answer against an answer that was written from the attribute.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from django.db.models import Count, F, Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.candidates.models import Candidate
from annotation.candidates.strategies import FROM_ATTRIBUTES, GENERIC
from annotation.judging import ordering
from annotation.judging.kinds import planning
from annotation.judging.models import Batch, Item, Judgment
from annotation.personas.models import Attribute
from annotation.queries.models import Query
from annotation.studies.models import Study, TaskDefinition


@dataclass(frozen=True)
class _Unit:
    """A prompt and an attribute that matters to it, with the answers that there are."""

    query: Query
    attribute: Attribute
    generic: Candidate | None
    personalised: Candidate | None


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


def plan(study: Study, task: TaskDefinition, scope: planning.Scope) -> Iterator[dict]:
    """An item for each relevant attribute that has both answers and no item in the task yet."""
    for unit in _units(study, task, scope):
        if unit.generic and unit.personalised:
            options = [unit.generic.pk, unit.personalised.pk]
            prompt = f"{unit.query.external_id}-v{unit.query.version}"
            name = planning.item_name(task.name, unit.attribute.external_id, prompt)
            yield {
                "external_id": name,
                "query": unit.query,
                "attribute": unit.attribute,
                # Which of them is the generic one must not follow from its number.
                "candidates": ordering.mixed(options, name),
            }


def lacking(study: Study, task: TaskDefinition, scope: planning.Scope) -> planning.Lacking | None:
    """Which answers are missing, or that no attribute is held relevant yet; None where all is."""
    units = _units(study, task, scope)
    pairs = [(unit.query, unit.attribute) for unit in units if unit.personalised is None]
    queries = {unit.query.pk: unit.query for unit in units if unit.generic is None}
    if not pairs and not queries:
        return None if units or relevant(study) else planning.Lacking(_nothing_relevant())
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
    return planning.Lacking(" ".join(sentences), tuple(pairs), tuple(queries.values()))


def _nothing_relevant() -> str:
    return _(
        "No attribute has been held relevant to a prompt by a majority of people yet: have the "
        "relevance of attributes judged first."
    )


def _units(study: Study, task: TaskDefinition, scope: planning.Scope) -> list[_Unit]:
    """The relevant attributes of the queries in ``scope`` without an item in the task."""
    wanted = relevant(study)
    items = Item.objects.filter(study=study, batch__task__name=task.name)
    wanted -= set(items.values_list("query_id", "attribute_id"))
    queries = {
        q.pk: q for q in planning.current(study, scope).filter(pk__in={q for q, _a in wanted})
    }
    attributes = Attribute.objects.in_bulk({attribute for _query, attribute in wanted})
    generic, personalised = _answers(queries, scope)
    return [
        _Unit(queries[q], attributes[a], generic.get(q), personalised.get((q, a)))
        for q, a in sorted(wanted)
        if q in queries
    ]


def _answers(queries: Collection[int], scope: planning.Scope) -> tuple[dict, dict]:
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
