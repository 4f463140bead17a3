"""Reads the items of a release by column, and makes objects of those that are asked for."""

from collections import defaultdict
from collections.abc import Iterable
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from django.db.models import QuerySet

from annotation.agreement.tiers.rules import is_closed
from annotation.core import sql
from annotation.core.copied import json_column, text_column, whole
from annotation.datasets import records
from annotation.datasets.columns import Columns, json_lists, json_text
from annotation.datasets.frozen_votes import FrozenVotes, Task
from annotation.datasets.models import ImportedPair, Release
from annotation.datasets.options import Options
from annotation.judging.models import Adjudication, Batch, Item, ItemOption
from annotation.personas.models import Attribute, PersonaVersion

_NUMBERS = {
    "position": "position",
    "batch": "batch_id",
    "shown": "persona_version_id",
    "about": "attribute_id",
}
# As JSON; null where an item has no such thing.
_TEXTS = {
    "pk": text_column("pk"),
    "item_id": json_column("external_id"),
    "query_id": json_column("query__external_id"),
    "query_version": text_column("query__version"),
    "question": json_column("query__text"),
    "messages": text_column("query__messages"),
    "need": json_column("query__need"),
    "type": json_column("query__type"),
    "scenario": json_column("query__scenario"),
    "attribute_id": json_column("attribute__external_id"),
    "attribute": json_column("attribute__text"),
    "gold": json_column("gold__text"),
    "overlap": text_column("overlap"),
}
_NUMBERED = {"query_version", "overlap"}
_SCHEMA = pa.schema([(n, pa.int64()) for n in _NUMBERS] + [(n, pa.string()) for n in _TEXTS])
_OPTIONS = pa.schema([("position", pa.int64()), ("id", pa.string()), ("strategy", pa.string())])
# Fields of an item that stand in the columns under the same name.
_SAME = (
    *(
        "task",
        "task_version",
        "kind",
        "overlap",
        "query_id",
        "query_version",
        "question",
        "messages",
    ),
    *("need", "type", "scenario", "user_id", "persona_version", "gold"),
)


def counted_items(release: Release) -> QuerySet[Item]:
    """Items that count: no checks, which are for the annotators, and nobody's who withdrew."""
    return Item.objects.filter(
        study=release.study_id,
        position__lte=release.frozen["position"],
        batch__purpose=Batch.Purpose.WORK,
    ).exclude(query__owner__in=release.frozen["withdrawn"])


class FrozenItems:
    """The items of ``release`` with their ``votes``.

    ``tasks`` is {batch's id: its task}, ``users`` {persona's id: user_id}.
    """

    def __init__(
        self, release: Release, tasks: dict[int, Task], users: dict, votes: FrozenVotes
    ) -> None:
        self.release, self.batches, self.users, self.votes = release, tasks, users, votes
        self.tasks = list(dict.fromkeys(tasks.values()))
        self.frozen = release.frozen
        self.closed = frozenset(self.frozen["closed"])
        self.topped = frozenset(self.frozen.get("topped", ()))

    def chunk(self, positions: np.ndarray) -> records.Chunk:
        """The items at the ``positions``, which follow those of the chunk before."""
        read = self._read(positions)
        batches = read.pop("batch").to_pylist()
        numbers = {task: number for number, task in enumerate(self.tasks)}
        task = np.array([numbers[self.batches[batch]] for batch in batches])
        ids, strategies, ends = self._answers(positions)
        options = Options.of(ids, ends, [task.offered for task in self.tasks], task)
        votes, collected = self.votes.of(positions, options)
        topped = [pk in self.topped for pk in read.pop("pk").to_pylist()]
        overlaps = map(int, read["overlap"].to_pylist())
        ended = (batch in self.closed for batch in batches)
        closed = list(map(is_closed, collected.tolist(), overlaps, ended))
        facts = {"topped": topped, "closed": closed}
        facts |= {name: read.pop(name).to_pylist() for name in ("shown", "about")}
        columns = self._columns(read, facts["shown"], task, options)
        columns["adjudicated"] = self._adjudicated(positions, task, options)
        chances = self.frozen.get("chances", {})
        drawn = (chances.get(str(position)) for position in positions.tolist())
        columns["chance"] = pa.array(
            [None if chance is None else json_text(chance) for chance in drawn], pa.string()
        )
        return records.Chunk(
            columns=Columns(columns),
            options=options,
            votes=votes,
            position=positions,
            tasks=[(task.name, task.version) for task in self.tasks],
            task=task,
            alike=np.column_stack([task, strategies, closed, topped]),
            make=partial(self._made, facts),
        )

    def _read(self, positions: np.ndarray) -> dict[str, pa.Array]:
        """The rows of the items by column; texts are "" where an item has none."""
        rows = (
            counted_items(self.release)
            .filter(position__range=(positions[0].item(), positions[-1].item()))
            .order_by("position")
            .annotate(**{f"{name}_text": column for name, column in _TEXTS.items()})
            .values_list(*_NUMBERS.values(), *(f"{name}_text" for name in _TEXTS))
        )
        table = whole(rows, _SCHEMA)
        read = {name: table[name].combine_chunks() for name in table.column_names}
        empty = {name: pc.fill_null(read[name], '""') for name in _TEXTS.keys() - _NUMBERED}
        return read | empty | {"messages": _messages(read["messages"], empty["question"])}

    def _answers(self, positions: np.ndarray) -> tuple[pa.Array, np.ndarray, np.ndarray]:
        """The ids of the items' answers; a number of each item's strategies; where answers end."""
        rows = (
            ItemOption.objects.filter(**self._of(positions))
            .order_by("item__position", "number")
            .annotate(
                id_text=json_column("candidate__external_id"),
                strategy_text=json_column("candidate__strategy"),
            )
            .values_list("item__position", "id_text", "strategy_text")
        )
        table = whole(rows, _OPTIONS)
        # Checks may stand between the items.
        table = table.filter(pa.array(np.isin(table["position"].to_numpy(), positions)))
        at = table["position"].to_numpy()
        ends = np.append(np.searchsorted(at, positions), len(at))
        strategies = json_lists(table["strategy"].combine_chunks(), ends).dictionary_encode()
        return table["id"].combine_chunks(), strategies.indices.to_numpy(), ends

    def _columns(
        self, read: dict[str, pa.Array], shown: list, task: np.ndarray, options: Options
    ) -> dict[str, pa.Array]:
        """``read`` with the columns that follow from an item's task, persona and answers."""
        users = self._users(shown)

        def of_tasks(*values: object) -> pa.Array:
            return pa.array(map(json_text, values), pa.string()).take(pa.array(task))

        return read | {
            "task": of_tasks(*(task.name for task in self.tasks)),
            "task_version": of_tasks(*(task.version for task in self.tasks)),
            "kind": of_tasks(*(task.kind.code for task in self.tasks)),
            "criteria": of_tasks(*(task.criteria for task in self.tasks)),
            "user_id": pa.array([json_text(users[pk][0]) for pk in shown], pa.string()),
            "persona_version": pa.array([users[pk][1] for pk in shown], pa.string()),
            "candidates": options.answers(),
            "labels": options.offered(),
        }

    def _users(self, shown: Iterable[int | None]) -> dict:
        """{id of a version of a persona: its user_id, and its number as text}."""
        rows = PersonaVersion.objects.filter(sql.among("pk", set(shown) - {None}))
        versions = rows.values_list("pk", "persona_id", "version")
        users = {pk: (self.users[persona], str(version)) for pk, persona, version in versions}
        return users | {None: ("", None)}

    def _adjudicated(self, positions: np.ndarray, task: np.ndarray, options: Options) -> pa.Array:
        """The newest ruling on each item as the JSON of a text, null where there is none."""
        texts: list[str | None] = [None] * len(positions)
        for item, ruling in self._rulings(positions, task, options).items():
            texts[item] = json_text(ruling if isinstance(ruling, str) else json_text(ruling))
        return pa.array(texts, pa.string())

    def _rulings(
        self, positions: np.ndarray, task: np.ndarray, options: Options
    ) -> dict[int, str | dict]:
        """{item's place: the newest ruling on it}."""
        last = self.frozen["adjudication"]
        rows = Adjudication.objects.filter(**self._of(positions), pk__lte=last).order_by("pk")
        rulings = dict(rows.values_list("item__position", "label"))
        return {
            item: self.tasks[task[item]].kind.label_json(
                rulings[position], options.ids(item), self.tasks[task[item]].config
            )
            for item, position in enumerate(positions.tolist())
            if position in rulings
        }

    def _made(
        self, facts: dict[str, list], chunk: records.Chunk, items: np.ndarray
    ) -> list[records.Item]:
        """The items of these places in the chunk as objects."""
        positions = chunk.position[items]
        columns = chunk.columns.take(items)
        names = ("item_id", "labels", *_SAME)
        rows = zip(*map(columns.values, names), strict=True)
        shown, about = ({facts[name][item] for item in items} for name in ("shown", "about"))
        profiles = dict(PersonaVersion.objects.filter(pk__in=shown).values_list("pk", "profile"))
        attributes = self._attributes(about)
        answers, imported = self._full_answers(positions), self._imported(positions)
        rulings = self._rulings(chunk.position, chunk.task, chunk.options)
        ends = chunk.votes.ends(len(chunk))
        made = []
        for item, position, (name, labels, *same) in zip(
            items.tolist(), positions.tolist(), rows, strict=True
        ):
            task = self.tasks[chunk.task[item]]
            made.append(
                records.Item(
                    id=name,
                    position=position,
                    labels=tuple(labels),
                    criteria=task.criteria,
                    measures=task.measures,
                    stop_below=task.stop_below,
                    closed=facts["closed"][item],
                    topped=facts["topped"][item],
                    profile=profiles.get(facts["shown"][item]),
                    attribute=attributes.get(facts["about"][item]),
                    answers=tuple(answers[position]),
                    imported=imported.get(position),
                    adjudicated=rulings.get(item),
                    votes=records.Votes(chunk.votes, slice(*ends[item : item + 2].tolist())),
                    **dict(zip(_SAME, same, strict=True)),
                )
            )
        return made

    def _full_answers(self, positions: np.ndarray) -> dict[int, list[records.Answer]]:
        """{item's position: its answers}."""
        out = defaultdict(list)
        fields = ("external_id", "text", "strategy", "model")
        live = ("parameters__messages", "parameters__chance")
        options = ItemOption.objects.filter(
            sql.among("item__position", positions.tolist()), **self._of(positions)
        )
        rows = options.order_by("number").values_list(
            "item__position", *(f"candidate__{name}" for name in (*fields, *live))
        )
        for position, name, text, strategy, model, messages, chance in rows:
            answer = records.Answer(name, text, strategy, model, messages or (), chance)
            out[position].append(answer)
        return out

    def _imported(self, positions: np.ndarray) -> dict[int, tuple[str, str]]:
        """{item's position: the winner and tier of its imported pair}."""
        if self.frozen.get("choices", {}).get("rule") != "imported":
            return {}
        fields = "item__position", "option__candidate__external_id", "tier"
        rows = ImportedPair.objects.filter(**self._of(positions)).values_list(*fields)
        return {position: (chosen, tier) for position, chosen, tier in rows}

    def _attributes(self, about: set) -> dict[int, records.Attribute]:
        """{id of an attribute: the attribute}, without its conversations."""
        rows = Attribute.objects.filter(sql.among("pk", about - {None})) if any(about) else ()
        return {attribute.pk: attribute_of(attribute, self.users) for attribute in rows}

    def _of(self, positions: np.ndarray) -> dict:
        """The condition on rows of items that takes those of these, and of items between."""
        ends = positions.min().item(), positions.max().item()
        return {"item__study": self.release.study_id, "item__position__range": ends}


def _messages(stored: pa.Array, question: pa.Array) -> pa.Array:
    """What was asked as messages: the conversation that is stored, else the one question."""
    one = pc.binary_join_element_wise('[{"role": "user", "content": ', question, "}]", "")
    one = pc.if_else(pc.equal(question, '""'), "[]", one)
    return pc.if_else(pc.equal(pc.fill_null(stored, "[]"), "[]"), one, stored)


def attribute_of(
    attribute: Attribute, users: dict, conversations: Iterable = ()
) -> records.Attribute:
    """The record of an attribute; ``users`` is {persona's id: user_id}."""
    return records.Attribute(
        id=attribute.external_id,
        user_id=users.get(attribute.persona_id, ""),
        text=attribute.text,
        confidence=attribute.confidence,
        model=attribute.model,
        conversations=list(conversations),
    )
