"""Reads what a release holds out of the database, a chunk of items at a time."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import islice

from django.contrib.postgres.aggregates import StringAgg
from django.db.models import Exists, F, Func, OuterRef, TextField, Value
from django.db.models.functions import Cast, Coalesce

from annotation.agreement.reading import withdrawn_from
from annotation.agreement.tiers.rules import is_closed
from annotation.candidates.models import Candidate
from annotation.core import sql
from annotation.datasets import owners, records
from annotation.datasets.models import ImportedPair
from annotation.datasets.writers import json_text
from annotation.judging.kinds import Kind, config_of_task, kind_of
from annotation.judging.models import Adjudication, Batch, Item, ItemOption, Judgment
from annotation.personas.models import Attribute, Memory, PersonaVersion

CHUNK = 1_000
VOTE = ("pk", "slot__item_id", "annotator_id", "reason", "seconds", "imported", "revision")
# What is read of an item and of an answer: rows, since models take several times as long to make.
ITEM = (
    "pk", "external_id", "batch_id", "overlap", "persona_version_id", "attribute_id", "gold__text",
    "query__external_id", "query__version", "query__text", "query__need", "query__type",
    "query__scenario",
)  # fmt: skip
CANDIDATE = (
    "external_id", "query__external_id", "query__version", "text", "urls", "strategy", "model",
    "template", "prompt_digest", "parameters",
)  # fmt: skip
# Columns whose few different values are parsed once each, not once a vote.
PARSED = ("shown", "flags", "chips", "marks")
# Between votes, and between the parts of a vote, in a text of several: JSON escapes both.
RECORD, UNIT = "\x1e", "\x1f"
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
            .order_by("position")
            .values_list(*ITEM, named=True)
            .iterator(chunk_size=CHUNK)
        )
        while chunk := list(islice(rows, CHUNK)):
            self.alive()
            shown, votes, rulings = self._answers(chunk), self._votes(chunk), self._rulings(chunk)
            pairs, attributes = self._imported(chunk), self._attributes(chunk)
            personas = PersonaVersion.objects.in_bulk({item.persona_version_id for item in chunk})
            for item in chunk:
                yield self._item(
                    item,
                    personas.get(item.persona_version_id),
                    shown[item.pk],
                    votes.get(item.pk, ()),
                    adjudicated=rulings.get(item.pk),
                    attribute=attributes.get(item.attribute_id),
                    imported=pairs.get(item.pk),
                )

    def label_votes(self) -> Iterator[records.LabelVotes]:
        """Every vote whose answer is one label, without texts: cheaper than ``items``."""
        batches = defaultdict(list)
        for batch, task in self._tasks.items():
            if kind_of(task.kind).SHAPE == "label":
                batches[task].append(batch)
        for task, batch_ids in batches.items():
            offered = tuple(_labels(task))
            texts = {"delimiter": ",", "order_by": "pk"}
            rows = (
                self._judgments()
                .filter(slot__item__batch__in=batch_ids, slot__item__in=self._items())
                .exclude(annotator__in=self.withdrawn)
                .annotate(given_label=kind_of(task.kind).label_column())
                # A label that the task does not offer is refused where the item is read.
                .filter(given_label__in=offered)
                .values_list("slot__item__external_id")
                .annotate(
                    workers=StringAgg(_text("annotator_id"), **texts),
                    labels=StringAgg("given_label", **texts),
                )
                .order_by("slot__item__position")
            )
            for number, (item, workers, labels) in enumerate(rows.iterator(chunk_size=5_000)):
                if number % 5_000 == 0:
                    self.alive()
                key = (task.name, task.version)
                yield records.LabelVotes(key, offered, item, workers.split(","), labels.split(","))

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
            .order_by("query_id", "pk")
            .values_list(*CANDIDATE)
        )
        for number, row in enumerate(candidates.iterator(chunk_size=CHUNK)):
            if number % CHUNK == 0:
                self.alive()
            *columns, parameters = row
            yield records.Candidate(*columns, _public(parameters))

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
        """{item: all its votes, of people who withdrew too}, in the order of submission."""
        by_kind = defaultdict(list)
        for item in chunk:
            by_kind[self._tasks[item.batch_id].kind].append(item.pk)
        votes = {}
        for code, items in by_kind.items():
            read = self._label_texts if kind_of(code).SHAPE == "label" else self._parted_votes
            votes |= read(code, items)
        return votes

    def _label_texts(self, code: str, items: list) -> dict:
        """Votes of a kind whose answer is a label, a text of ``VOTE_TEXT`` an item."""
        rows = (
            self._judgments()
            .filter(sql.among("slot__item_id", items))
            .values_list("slot__item_id")
            .annotate(texts=_vote_texts(kind_of(code)))
            .order_by()
        )
        return {item: [vote.split(UNIT) for vote in text.split(RECORD)] for item, text in rows}

    def _parted_votes(self, code: str, items: list) -> dict:
        rows = list(
            self._judgments()
            .filter(sql.among("slot__item_id", items))
            .order_by("submitted_at", "pk")
            .values(*VOTE, **_texts())
        )
        answers = kind_of(code).answers([row["pk"] for row in rows])
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

    def _attributes(self, chunk) -> dict:
        """{attribute's id: the attribute} of those that the items show."""
        shown = {item.attribute_id for item in chunk} - {None}
        rows = Attribute.objects.filter(sql.among("pk", shown)) if shown else ()
        return {attribute.pk: self._attribute(attribute) for attribute in rows}

    def _attribute(self, attribute, conversations=()) -> records.Attribute:
        return records.Attribute(
            id=attribute.external_id,
            user_id=self._users.get(attribute.persona_id, ""),
            text=attribute.text,
            confidence=attribute.confidence,
            model=attribute.model,
            conversations=list(conversations),
        )

    def _item(self, item, shown, answers, votes, adjudicated, **fields) -> records.Item:
        task = self._tasks[item.batch_id]
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
            query_id=item.query__external_id or "",
            query_version=item.query__version,
            question=item.query__text or "",
            need=item.query__need or "",
            type=item.query__type or "",
            scenario=item.query__scenario or "",
            user_id=self._users[shown.persona_id] if shown else "",
            persona_version=shown.version if shown else None,
            profile=shown.profile if shown else None,
            answers=tuple(answers),
            votes=self._made_votes(votes, kind, ids),
            gold=item.gold__text or "",
            criteria=tuple(config["criteria"]) if kind.SHAPE == "scores" else (),
            scale=tuple(kind.scale(config)) if kind.SHAPE == "scores" else (),
            adjudicated=kind.label_json(adjudicated, ids) if adjudicated else None,
            topped=str(item.pk) in self.topped,
            **fields,
        )

    def _made_votes(self, votes, kind: Kind, ids: dict) -> Sequence[records.Vote]:
        """What ``_votes`` read of an item, without those who withdrew."""
        if kind.SHAPE == "label":
            return self._with_ids(votes, kind, ids)
        return tuple(
            self._vote(vote, kind, answer, ids)
            for vote, answer in votes
            if vote["annotator_id"] not in self.withdrawn
        )

    def _with_ids(self, votes, kind: Kind, ids: dict) -> records.VoteTexts:
        """Votes with options under ``ids``; what few different votes share is made once."""
        names, orders = {}, {}
        workers, labels, texts = [], [], []
        for annotator, label, detail, shown, before, marks, after in votes:
            if (worker := self._worker_of_text.get(annotator)) is None:
                continue
            if label not in names:
                answer = kind.label_json(label, ids)
                names[label] = answer, json_text(answer)
            if shown not in orders:
                orders[shown] = json_text([ids[number] for number in _parsed(shown)])
            if marks != "[]":
                places = json.loads(marks)
                marks = json_text([mark | {"option": ids[mark["option"]]} for mark in places])
            answer, text = names[label]
            workers.append(worker)
            labels.append(answer)
            texts.append(
                records.VoteText(worker, text, detail, orders[shown], before, marks, after)
            )
        return records.VoteTexts(texts, workers, labels)

    @cached_property
    def _worker_of_text(self) -> dict[str, str]:
        return {str(annotator): worker for annotator, worker in self.workers.items()}

    def _vote(self, vote: dict, kind: Kind, answer, ids: dict) -> records.Vote:
        return records.Vote(
            worker=self.workers[vote["annotator_id"]],
            label=None,
            shown=[ids[number] for number in _parsed(vote["shown_text"])],
            reason=vote["reason"],
            flags=_parsed(vote["flags_text"]),
            seconds=vote["seconds"],
            submitted_at=vote["day"],
            imported=vote["imported"],
            answer=kind.answer_json(answer, ids),
            detail=answer.detail,
            chips=_parsed(vote["chips_text"]),
            marks=[mark | {"option": ids[mark["option"]]} for mark in _parsed(vote["marks_text"])],
            revision=vote["revision"],
        )


def _vote_texts(kind: Kind) -> StringAgg:
    """All votes of an item as one text: RECORD between votes, UNIT between the parts of a vote.

    JSON escapes both signs. The parts are the annotator's id, the label, and those of
    records.VoteText after it, with options by number.
    """
    parts = (
        _text("annotator_id"),
        kind.label_column(),
        _json(kind.detail_column()),
        _text("shown"),
        _joined(
            Value('"reason": '),
            _json(F("reason")),
            Value(', "flags": '),
            _text("flags"),
            Value(', "chips": '),
            _text("chips"),
            Value(', "marks": '),
        ),
        _text("marks"),
        _joined(
            Value(', "seconds": '),
            Coalesce(_text("seconds"), Value("null")),
            Value(', "submitted_at": '),
            _day('"YYYY-MM-DD"'),
            Value(', "revision": '),
            _text("revision"),
            Value(', "imported": '),
            _text("imported"),
            Value("}"),
        ),
    )
    units = [entry for part in parts for entry in (Value(UNIT), part)][1:]
    return StringAgg(_joined(*units), RECORD, order_by=("submitted_at", "pk"))


def _text(column: str) -> Cast:
    return Cast(column, TextField())


def _json(expression) -> Func:
    template = "to_json(%(expressions)s::text)::text"
    return Func(expression, template=template, output_field=TextField())


def _joined(*parts) -> Func:
    """The texts ``parts`` one after the other."""
    template = {"template": "(%(expressions)s)", "arg_joiner": " || "}
    return Func(*parts, **template, output_field=TextField())


def _texts() -> dict:
    """JSON columns of a vote as text, and its day in UTC."""
    columns = {f"{name}_text": _text(name) for name in PARSED}
    return columns | {"day": _day("YYYY-MM-DD")}


def _day(pattern: str) -> Func:
    """The day of submission in UTC; exact times would join a person's votes across releases."""
    # In a pattern of to_char, what is quoted stands for itself: a quote needs a backslash.
    pattern = pattern.replace('"', r"\"")
    return Func("submitted_at", Value(pattern), function="to_char", output_field=TextField())


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
