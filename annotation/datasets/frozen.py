"""Reads what a release holds out of the database, a chunk of items at a time."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import islice

from django.db.models import Exists, Func, OuterRef, TextField, Value
from django.db.models.functions import Cast

from annotation.agreement.reading import withdrawn_from
from annotation.agreement.tiers.rules import is_closed
from annotation.candidates.models import Candidate
from annotation.datasets import owners, records
from annotation.datasets.models import ImportedPair
from annotation.judging.kinds import Kind, answers_of, config_of_task, kind_of
from annotation.judging.models import Adjudication, Batch, Item, ItemOption, Judgment
from annotation.personas.models import Attribute, Memory, PersonaVersion

CHUNK = 1_000
VOTE = ("pk", "slot__item_id", "annotator_id", "reason", "seconds", "imported", "revision")
# Columns whose few different values are parsed once each, not once a vote.
PARSED = ("shown", "flags", "chips", "marks")
# What a model wrote of somebody from their history; the history itself is in no layout but bespoke.
OF_HISTORY = ("static_profile", "aware_profile", "sessions")


class Reading:
    """The frozen rows of one release as plain records, in an order that never changes.

    ``alive`` is called once a chunk.
    """

    def __init__(self, release, alive: Callable[[], None]):
        self.release, self.alive = release, alive
        self.frozen = release.frozen
        self.withdrawn = frozenset(self.frozen["withdrawn"])
        self.topped = frozenset(self.frozen.get("topped", ()))

    @cached_property
    def workers(self) -> dict:
        """{annotator's id: pseudonym} of everybody with a vote in the release."""
        return records.workers(self.release.salt, self._voters - self.withdrawn)

    @property
    def left(self) -> int:
        """How many people with votes withdrew their consent: they are not in the release."""
        return len(self._voters & self.withdrawn)

    @cached_property
    def _voters(self) -> set[int]:
        return set(self._judgments().values_list("annotator", flat=True).distinct())

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

    @cached_property
    def _tasks(self) -> dict:
        """{batch's id: its task}."""
        batches = Batch.objects.filter(study=self.release.study_id).select_related("task")
        return {batch.pk: batch.task for batch in batches}

    def items(self) -> Iterator[records.Item]:
        """All items in the order of hand-out, each with its answers and votes."""
        rows = (
            self._items()
            .select_related("query", "persona_version", "attribute", "gold")
            .order_by("position")
            .iterator(chunk_size=CHUNK)
        )
        while chunk := list(islice(rows, CHUNK)):
            self.alive()
            shown, votes, rulings = self._answers(chunk), self._votes(chunk), self._rulings(chunk)
            pairs = self._imported(chunk)
            for item in chunk:
                record = self._item(item, shown[item.pk], votes[item.pk], rulings.get(item.pk))
                yield replace(record, imported=pairs[item.pk]) if item.pk in pairs else record

    def label_votes(self) -> Iterator[records.LabelVote]:
        """Every vote whose answer is one label, without texts: cheaper than ``items``."""
        batches = defaultdict(list)
        for batch, task in self._tasks.items():
            batches[task.kind].append(batch)
        for code, batch_ids in batches.items():
            kind = kind_of(code)
            if kind.SHAPE != "label":
                continue
            places = {
                batch: {label: place for place, label in enumerate(_labels(self._tasks[batch]))}
                for batch in batch_ids
            }
            rows = (
                self._judgments()
                .filter(slot__item__batch__in=batch_ids, slot__item__in=self._items())
                .exclude(annotator__in=self.withdrawn)
                .annotate(given_label=kind.label_column())
                .order_by("pk")
                .values_list("slot__item__batch_id", "slot__item__external_id", "annotator_id",
                             "given_label")
            )  # fmt: skip
            for number, (batch, item, worker, label) in enumerate(rows.iterator(chunk_size=20_000)):
                if number % 20_000 == 0:
                    self.alive()
                # A label that the task does not offer is refused where the item is read.
                if label in places[batch]:
                    task = self._tasks[batch]
                    yield records.LabelVote(
                        (task.name, task.version),
                        len(places[batch]),
                        item,
                        worker,
                        places[batch][label],
                    )

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

    def candidates(self) -> Iterator[records.Candidate]:
        """Every answer that an item of the release shows."""
        shown = ItemOption.objects.filter(candidate=OuterRef("pk"), item__in=self._items())
        candidates = (
            Candidate.objects.filter(Exists(shown), study=self.release.study_id)
            .select_related("query")
            .order_by("query_id", "pk")
        )
        for number, candidate in enumerate(candidates.iterator(chunk_size=CHUNK)):
            if number % CHUNK == 0:
                self.alive()
            yield records.Candidate(
                id=candidate.external_id,
                query_id=candidate.query.external_id,
                query_version=candidate.query.version,
                text=candidate.text,
                urls=candidate.urls,
                strategy=candidate.strategy,
                model=candidate.model,
                template=candidate.template,
                prompt_digest=candidate.prompt_digest,
                parameters=_public(candidate.parameters),
            )

    def _items(self):
        """Items that count: no checks, which are for the annotators, and nobody's who withdrew."""
        return Item.objects.filter(
            study=self.release.study_id,
            position__lte=self.frozen["position"],
            batch__purpose=Batch.Purpose.WORK,
        ).exclude(query__owner__in=self.withdrawn)

    def _judgments(self):
        """Judgments as they stood when the release was frozen."""
        last = self.frozen["judgment"]
        newer = Judgment.objects.filter(replaces=OuterRef("pk"), pk__lte=last)
        work = Judgment.objects.filter(
            slot__study=self.release.study_id, slot__item__batch__purpose=Batch.Purpose.WORK
        )
        return work.filter(~Exists(newer), pk__lte=last).exclude(pk__in=self.frozen["void"])

    def _answers(self, chunk) -> dict:
        out = defaultdict(list)
        options = ItemOption.objects.filter(item__in=[item.pk for item in chunk])
        fields = ("external_id", "text", "strategy", "model")
        rows = options.order_by("number").values_list(
            "item_id", *(f"candidate__{name}" for name in fields)
        )
        for item, *answer in rows:
            out[item].append(records.Answer(*answer))
        return out

    def _votes(self, chunk) -> dict:
        kinds = {item.pk: self._tasks[item.batch_id].kind for item in chunk}
        rows = list(
            self._judgments()
            .filter(slot__item__in=kinds)
            .order_by("submitted_at", "pk")
            .values(*VOTE, **_texts())
        )
        answers = answers_of({row["pk"]: kinds[row["slot__item_id"]] for row in rows})
        votes = defaultdict(list)
        for row in rows:
            votes[row["slot__item_id"]].append((row, answers[row["pk"]]))
        return votes

    def _imported(self, chunk) -> dict:
        """{item: the winner and tier of its imported pair}."""
        if self.frozen.get("choices", {}).get("rule") != "imported":
            return {}
        rows = ImportedPair.objects.filter(item__in=[item.pk for item in chunk])
        fields = "item_id", "option__candidate__external_id", "tier"
        return {item: (chosen, tier) for item, chosen, tier in rows.values_list(*fields)}

    def _rulings(self, chunk) -> dict:
        """{item: the newest ruling on it}."""
        rulings = Adjudication.objects.filter(
            item__in=[item.pk for item in chunk], pk__lte=self.frozen["adjudication"]
        )
        return dict(rulings.order_by("pk").values_list("item_id", "label"))

    def _attribute(self, attribute, conversations=()) -> records.Attribute:
        return records.Attribute(
            id=attribute.external_id,
            user_id=self._users.get(attribute.persona_id, ""),
            text=attribute.text,
            confidence=attribute.confidence,
            model=attribute.model,
            conversations=list(conversations),
        )

    def _item(self, item, answers, votes, ruling) -> records.Item:
        task, query, shown = self._tasks[item.batch_id], item.query, item.persona_version
        kind, config = kind_of(task.kind), config_of_task(task)
        ids = {number: answer.id for number, answer in enumerate(answers, start=1)}
        return records.Item(
            id=item.external_id,
            task=task.name,
            task_version=task.version,
            kind=task.kind,
            labels=released_labels(kind, config, ids),
            overlap=item.overlap,
            closed=is_closed(len(votes), item.overlap, item.batch_id in self.frozen["closed"]),
            stop_below=self.frozen.get("stop_below", {}).get(task.name),
            query_id=query.external_id if query else "",
            query_version=query.version if query else None,
            question=query.text if query else "",
            need=query.need if query else "",
            type=query.type if query else "",
            scenario=query.scenario if query else "",
            user_id=self._users[shown.persona_id] if shown else "",
            persona_version=shown.version if shown else None,
            profile=shown.profile if shown else None,
            answers=tuple(answers),
            votes=tuple(
                self._vote(vote, kind, answer, ids)
                for vote, answer in votes
                if vote["annotator_id"] not in self.withdrawn
            ),
            attribute=self._attribute(item.attribute) if item.attribute else None,
            gold=item.gold.text if item.gold else "",
            criteria=tuple(config["criteria"]) if kind.SHAPE == "scores" else (),
            adjudicated=kind.label_json(ruling, ids) if ruling else None,
            topped=str(item.pk) in self.topped,
        )

    def _vote(self, vote: dict, kind: Kind, answer, ids: dict) -> records.Vote:
        return records.Vote(
            worker=self.workers[vote["annotator_id"]],
            label=kind.label_json(answer.label, ids) if kind.SHAPE == "label" else None,
            shown=[ids[number] for number in _parsed(vote["shown_text"])],
            reason=vote["reason"],
            flags=_parsed(vote["flags_text"]),
            seconds=vote["seconds"],
            # To the day: exact times would join a person's votes across releases.
            submitted_at=vote["day"],
            imported=vote["imported"],
            answer=kind.answer_json(answer, ids),
            detail=answer.detail,
            chips=_parsed(vote["chips_text"]),
            marks=[mark | {"option": ids[mark["option"]]} for mark in _parsed(vote["marks_text"])],
            revision=vote["revision"],
        )


def _texts() -> dict:
    """JSON columns of a vote as text, and its day in UTC."""
    text = TextField()
    day = Func("submitted_at", Value("YYYY-MM-DD"), function="to_char", output_field=text)
    return {f"{name}_text": Cast(name, text) for name in PARSED} | {"day": day}


@lru_cache(maxsize=1_000)
def _parsed(text: str) -> list:
    """The value of a JSON text. Votes share it: it is only read."""
    return json.loads(text)


def released_labels(kind: Kind, config: dict, ids: dict[int, str]) -> tuple[str, ...]:
    """Every label of an answer with options under ``ids``; none where it has several parts."""
    labels = kind.labels(config) if kind.SHAPE == "label" else ()
    return tuple(kind.label_json(label, ids) for label in labels)


def _labels(task) -> list[str]:
    return kind_of(task.kind).labels(config_of_task(task))


def _public(parameters: dict) -> dict:
    """How an answer was made, without what it was shown of somebody's history."""
    public = {key: value for key, value in parameters.items() if key not in OF_HISTORY}
    if "sources" in public:
        public["sources"] = [source for source in public["sources"] if source["kind"] != "history"]
    return public
