"""Reads what a release holds out of the database, a chunk of items at a time."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from django.db.models import Exists, OuterRef, QuerySet

from annotation.agreement.reading import withdrawn_from
from annotation.agreement.tiers.rules import is_closed
from annotation.candidates.models import Candidate
from annotation.core import sql
from annotation.core.copied import copied, json_column, text_column
from annotation.core.rows import chunks
from annotation.datasets import owners, records
from annotation.datasets.columns import Columns, json_text, mapped
from annotation.datasets.frozen_votes import FrozenVotes, Task
from annotation.datasets.models import ImportedPair, Release
from annotation.judging.models import Adjudication, Batch, Item, ItemOption
from annotation.personas.models import Attribute, Memory, PersonaVersion

CHUNK = 1_000
# What is read of an item and of an answer: rows, since models take several times as long to make.
ITEM = (
    "pk", "position", "external_id", "batch_id", "overlap", "persona_version_id", "attribute_id",
    "gold__text", "query__external_id", "query__version", "query__text", "query__need",
    "query__type", "query__scenario",
)  # fmt: skip
CANDIDATE = {
    "candidate_id": json_column("external_id"),
    "query_id": json_column("query__external_id"),
    "query_version": text_column("query__version"),
    "text": json_column("text"),
    "strategy": json_column("strategy"),
    "model": json_column("model"),
    "urls": text_column("urls"),
    "template": json_column("template"),
    "prompt_digest": json_column("prompt_digest"),
    "parameters": text_column("parameters"),
}
# What a model wrote of somebody from their history; the history itself is in no layout but bespoke.
OF_HISTORY = ("static_profile", "aware_profile", "sessions")


class Reading:
    """The frozen rows of one release as plain records, in an order that never changes.

    ``alive`` is called once a chunk.
    """

    def __init__(self, release: Release, alive: Callable[[], None]) -> None:
        self.release, self.alive = release, alive
        self.frozen = release.frozen
        self.withdrawn = frozenset(self.frozen["withdrawn"])
        self.topped = frozenset(self.frozen.get("topped", ()))

    @cached_property
    def _votes(self) -> FrozenVotes:
        return FrozenVotes(self.release, self._tasks, self.alive)

    @property
    def workers(self) -> dict:
        """{annotator's id: pseudonym} of everybody with a vote in the release."""
        return self._votes.workers

    @property
    def left(self) -> int:
        """How many people with votes withdrew their consent: they are not in the release."""
        return self._votes.left

    def owners(self) -> Iterator[records.Owner]:
        """Everybody who owns a query of the release and has not withdrawn since."""
        gone = self.withdrawn | frozenset(withdrawn_from(self.release.study))
        return owners.owners(self.release, gone, self.alive)

    def personas(self) -> Iterator[records.Persona]:
        """All personas, in the order of their numbers."""
        versions = PersonaVersion.objects.in_bulk(self.frozen["personas"])
        memories = self._memories()
        for number, pk in enumerate(self._persona_order, start=1):
            shown = versions[pk]
            texts = tuple(memories[shown.persona_id])
            yield records.Persona(str(number), shown.version, shown.profile, texts)

    def _memories(self) -> dict[int, list[str]]:
        """{persona's id: its memories}, as they were at the freeze."""
        texts = defaultdict(list)
        rows = Memory.objects.filter(
            persona__versions__in=self.frozen["personas"], pk__lte=self.frozen.get("memory", 0)
        )
        for persona, text in rows.order_by("pk").values_list("persona_id", "text"):
            texts[persona].append(text)
        return texts

    @cached_property
    def _persona_order(self) -> list[int]:
        return records.shuffled(self.release.salt, self.frozen["personas"])

    @cached_property
    def _users(self) -> dict:
        """{persona's id: user_id}."""
        rows = PersonaVersion.objects.filter(pk__in=self.frozen["personas"])
        persona_of = dict(rows.values_list("pk", "persona_id"))
        return {persona_of[pk]: str(n) for n, pk in enumerate(self._persona_order, start=1)}

    @property
    def tasks(self) -> list[Task]:
        """The versions of tasks that the items are of, by name and version."""
        batches = self._items().order_by().values_list("batch_id", flat=True).distinct()
        shown = [self._tasks[batch] for batch in batches]
        by_name = {(task.name, task.version): task for task in shown}
        return [by_name[key] for key in sorted(by_name)]

    @cached_property
    def _tasks(self) -> dict[int, Task]:
        """{batch's id: its task}, without those of checks."""
        rows = Batch.objects.filter(study=self.release.study_id, purpose=Batch.Purpose.WORK)
        definitions = {batch.pk: batch.task for batch in rows.select_related("task")}
        stop_below = self.frozen.get("stop_below", {})
        tasks = {task: Task.of(task, stop_below) for task in set(definitions.values())}
        return {batch: tasks[definition] for batch, definition in definitions.items()}

    def items(self) -> Iterator[records.Item]:
        """All items in the order of hand-out, each with its answers and votes."""
        return (item for chunk in self.chunks() for item in chunk.items)

    def chunks(self) -> Iterator[records.Chunk]:
        """``items``, some at a time, and their votes by column."""
        self._votes.rewind()
        rows = (
            self._items()
            .order_by("position")
            .values_list(*ITEM, named=True)
            .iterator(chunk_size=CHUNK)
        )
        for chunk in chunks(rows, CHUNK):
            self.alive()
            yield self._chunk(chunk)

    def _chunk(self, chunk: Sequence[Any]) -> records.Chunk:
        shown, rulings = self._answers(chunk), self._rulings(chunk)
        pairs, attributes = self._imported(chunk), self._attributes(chunk)
        personas = PersonaVersion.objects.in_bulk({item.persona_version_id for item in chunk})
        ids = [dict(enumerate((a.id for a in shown[item.position]), start=1)) for item in chunk]
        votes, collected = self._votes.of([item.position for item in chunk], ids)
        by_item = zip(chunk, ids, collected, votes.by_item(len(chunk)), strict=True)
        items = [
            self._item(
                item,
                personas.get(item.persona_version_id),
                names,
                number,
                rulings.get(item.position),
                answers=tuple(shown[item.position]),
                votes=of_item,
                attribute=attributes.get(item.attribute_id),
                imported=pairs.get(item.position),
            )
            for item, names, number, of_item in by_item
        ]
        return records.Chunk(items, votes)

    def label_votes(self) -> Iterator[records.LabelVotes]:
        """Every vote whose answer is one label, without texts: cheaper than ``items``."""
        positions = self._items().order_by("position").values_list("position", flat=True)
        return self._votes.labels(np.fromiter(positions.iterator(), np.int64))

    def attributes(self) -> Iterator[records.Attribute]:
        """Every attribute that an item of the release shows, with its conversations."""
        shown = self._items().filter(attribute=OuterRef("pk"))
        attributes = (
            Attribute.objects.filter(Exists(shown)).order_by("pk").prefetch_related("evidence")
        )
        for number, attribute in enumerate(attributes.iterator(chunk_size=CHUNK)):
            if number % CHUNK == 0:
                self.alive()
            yield self._attribute(
                attribute, [evidence.messages for evidence in attribute.evidence.all()]
            )

    def candidates(self) -> Iterator[Columns]:
        """Every answer that an item of the release shows, under the names of ``CANDIDATE``."""
        shown = ItemOption.objects.filter(candidate=OuterRef("pk"), item__in=self._items())
        rows = (
            Candidate.objects.filter(Exists(shown), study=self.release.study_id)
            .order_by("query_id", "pk")
            .annotate(**{f"{name}_": column for name, column in CANDIDATE.items()})
            .values_list(*(f"{name}_" for name in CANDIDATE))
        )
        for table in copied(rows, pa.schema(dict.fromkeys(CANDIDATE, pa.string()))):
            self.alive()
            texts = {name: table[name].combine_chunks() for name in CANDIDATE}
            texts["parameters"] = mapped(texts["parameters"], _public)
            yield Columns(texts)

    def _items(self) -> QuerySet[Item]:
        """Items that count: no checks, which are for the annotators, and nobody's who withdrew."""
        return Item.objects.filter(
            study=self.release.study_id,
            position__lte=self.frozen["position"],
            batch__purpose=Batch.Purpose.WORK,
        ).exclude(query__owner__in=self.withdrawn)

    def _of(self, chunk: Sequence[Any]) -> dict:
        """The condition on rows of items that takes those of the chunk, and of items between."""
        positions = chunk[0].position, chunk[-1].position
        return {"item__study": self.release.study_id, "item__position__range": positions}

    def _answers(self, chunk: Sequence[Any]) -> dict:
        """{item's position: its answers}."""
        out = defaultdict(list)
        options = ItemOption.objects.filter(**self._of(chunk)).order_by("number")
        fields = ("external_id", "text", "strategy", "model")
        rows = options.values_list("item__position", *(f"candidate__{name}" for name in fields))
        for position, *answer in rows:
            out[position].append(records.Answer(*answer))
        return out

    def _imported(self, chunk: Sequence[Any]) -> dict:
        """{item's position: the winner and tier of its imported pair}."""
        if self.frozen.get("choices", {}).get("rule") != "imported":
            return {}
        fields = "item__position", "option__candidate__external_id", "tier"
        rows = ImportedPair.objects.filter(**self._of(chunk)).values_list(*fields)
        return {position: (chosen, tier) for position, chosen, tier in rows}

    def _rulings(self, chunk: Sequence[Any]) -> dict:
        """{item's position: the newest ruling on it}."""
        last = self.frozen["adjudication"]
        rulings = Adjudication.objects.filter(**self._of(chunk), pk__lte=last).order_by("pk")
        return dict(rulings.values_list("item__position", "label"))

    def _attributes(self, chunk: Sequence[Any]) -> dict:
        """{attribute's id: the attribute} of those that the items show."""
        shown = {item.attribute_id for item in chunk} - {None}
        rows = Attribute.objects.filter(sql.among("pk", shown)) if shown else ()
        return {attribute.pk: self._attribute(attribute) for attribute in rows}

    def _attribute(self, attribute: Attribute, conversations: Iterable = ()) -> records.Attribute:
        return records.Attribute(
            id=attribute.external_id,
            user_id=self._users.get(attribute.persona_id, ""),
            text=attribute.text,
            confidence=attribute.confidence,
            model=attribute.model,
            conversations=list(conversations),
        )

    def _item(
        self,
        item: Any,
        shown: PersonaVersion | None,
        ids: dict[int, str],
        collected: int,
        adjudicated: str | None,
        **fields: Any,
    ) -> records.Item:
        task = self._tasks[item.batch_id]
        return records.Item(
            id=item.external_id,
            position=item.position,
            task=task.name,
            task_version=task.version,
            kind=task.kind.CODE,
            labels=tuple(str(task.kind.label_json(label, ids)) for label in task.labels),
            overlap=item.overlap,
            closed=is_closed(collected, item.overlap, item.batch_id in self.frozen["closed"]),
            stop_below=task.stop_below,
            query_id=item.query__external_id or "",
            query_version=item.query__version,
            question=item.query__text or "",
            need=item.query__need or "",
            type=item.query__type or "",
            scenario=item.query__scenario or "",
            user_id=self._users[shown.persona_id] if shown else "",
            persona_version=shown.version if shown else None,
            profile=shown.profile if shown else None,
            gold=item.gold__text or "",
            criteria=task.criteria,
            scale=task.scale,
            adjudicated=task.kind.label_json(adjudicated, ids) if adjudicated else None,
            topped=str(item.pk) in self.topped,
            **fields,
        )


def _public(parameters: str) -> str:
    """How an answer was made (JSON), without what it was shown of somebody's history."""
    public = {key: value for key, value in json.loads(parameters).items() if key not in OF_HISTORY}
    if "sources" in public:
        public["sources"] = [source for source in public["sources"] if source["kind"] != "history"]
    return json_text(public)
