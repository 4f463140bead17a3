"""Reads what a release holds out of the database, a chunk of items at a time."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np
import pyarrow as pa
from django.db.models import Exists, OuterRef

from annotation.candidates.models import Candidate
from annotation.core.copied import copied, json_column, text_column
from annotation.datasets import owners, records
from annotation.datasets.columns import Columns, json_text, mapped
from annotation.datasets.frozen_items import FrozenItems, attribute_of, counted_items
from annotation.datasets.frozen_votes import FrozenVotes, Task
from annotation.datasets.models import Release
from annotation.judging.models import Batch, ItemOption
from annotation.personas.models import Attribute, Memory, PersonaVersion
from annotation.studies.models import TaskDefinition
from annotation.votes.counting import (
    judgments_as_of,
    measures_of,
    never_offered,
    withdrawn_from,
)

CHUNK = 2_000
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
# What a model wrote of somebody from their history; the history itself is in the rows of owners.
OF_HISTORY = ("static_profile", "aware_profile", "sessions")


class Reading:
    """The frozen rows of one release as plain records, in an order that never changes.

    ``alive`` is called once a chunk.
    """

    def __init__(self, release: Release, alive: Callable[[], None]) -> None:
        self.release, self.alive = release, alive
        self.frozen = release.frozen
        self._items = counted_items(release)
        self.withdrawn = frozenset(self.frozen["withdrawn"])

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
        batches = self._items.order_by().values_list("batch_id", flat=True).distinct()
        shown = [self._tasks[batch] for batch in batches]
        by_name = {(task.name, task.version): task for task in shown}
        return [by_name[key] for key in sorted(by_name)]

    @cached_property
    def _tasks(self) -> dict[int, Task]:
        """{batch's id: its task}, without those of checks."""
        rows = Batch.objects.filter(study=self.release.study_id, purpose=Batch.Purpose.WORK)
        definitions = {batch.pk: batch.task for batch in rows.select_related("task")}
        stop_below = self.frozen.get("stop_below", {})
        tasks = {
            task: Task.of(task, stop_below).without(self._never_offered(task))
            for task in set(definitions.values())
        }
        return {batch: tasks[definition] for batch, definition in definitions.items()}

    def _never_offered(self, task: TaskDefinition) -> set[str]:
        """A tie and "none" without a vote, where every vote was imported (as in agreement)."""
        judgments = judgments_as_of(self.release.study_id, self.frozen["judgment"])
        votes = judgments.filter(slot__item__batch__task__name=task.name)
        return never_offered(measures_of(task), votes)

    def items(self) -> Iterator[records.Item]:
        """All items in the order of hand-out, each with its answers and votes."""
        return (item for chunk in self.chunks() for item in chunk.items)

    def chunks(self) -> Iterator[records.Chunk]:
        """``items``, some at a time, by column."""
        self._votes.rewind()
        items = FrozenItems(self.release, self._tasks, self._users, self._votes)
        for start in range(0, len(self._positions), CHUNK):
            self.alive()
            yield items.chunk(self._positions[start : start + CHUNK])

    def label_votes(self) -> Iterator[records.LabelVotes]:
        """Every vote whose answer is one label, without texts: cheaper than ``items``."""
        return self._votes.labels(self._positions)

    @cached_property
    def _positions(self) -> np.ndarray:
        """Of all items, in the order of hand-out."""
        rows = self._items.order_by("position").values_list("position", flat=True)
        return np.fromiter(rows.iterator(), np.int64)

    def attributes(self) -> Iterator[records.Attribute]:
        """Every attribute that an item of the release shows, with its conversations."""
        shown = self._items.filter(attribute=OuterRef("pk"))
        attributes = (
            Attribute.objects.filter(Exists(shown)).order_by("pk").prefetch_related("evidence")
        )
        for number, attribute in enumerate(attributes.iterator(chunk_size=CHUNK)):
            if number % CHUNK == 0:
                self.alive()
            evidence = attribute.evidence.all()
            made = attribute_of(attribute, self._users, [row.messages for row in evidence])
            yield replace(made, sources=[row.source for row in evidence])

    def candidates(self) -> Iterator[Columns]:
        """Every answer that an item of the release shows, under the names of ``CANDIDATE``."""
        shown = ItemOption.objects.filter(candidate=OuterRef("pk"), item__in=self._items)
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


def _public(parameters: str) -> str:
    """How an answer was made (JSON), without what it was shown of somebody's history."""
    public = {key: value for key, value in json.loads(parameters).items() if key not in OF_HISTORY}
    if "sources" in public:
        public["sources"] = [source for source in public["sources"] if source["kind"] != "history"]
    return json_text(public)
