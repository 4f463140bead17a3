"""Reads what a release holds out of the database, a chunk of items at a time."""

import hashlib
import hmac
import uuid
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from itertools import count
from operator import itemgetter
from typing import Any, cast

import numpy as np
from django.db.models import Exists, F, Manager, Max, OuterRef, Q, QuerySet

from annotation.accounts.models import User
from annotation.agreement.statistics.tiers import is_closed
from annotation.candidates.models import Candidate
from annotation.core.records import chunks
from annotation.core.sql import among
from annotation.datasets import records
from annotation.datasets.models import ImportedPair, Release
from annotation.histories import browse, consent
from annotation.histories.models import HistoryConsent, Session
from annotation.judging.kinds import (
    Answer,
    Kind,
    accepted,
    answers_of,
    claim_reviews,
    config_of_task,
    kind_of,
    score_rows,
)
from annotation.judging.models import Adjudication, Batch, Item, ItemOption, Judgment
from annotation.personas.models import Attribute, Memory, PersonaVersion
from annotation.queries import scenarios
from annotation.queries.models import GoldResponse, Query, Rubric
from annotation.questions.base import Measure
from annotation.studies.models import Study, TaskDefinition
from annotation.votes.counting import (
    are_scores,
    is_one_label,
    judgments_as_of,
    measures_of,
    never_offered,
    withdrawn_from,
)
from annotation.votes.stored import read_judgments

CHUNK = 500
# What a model wrote of somebody from their history; the history itself is in the rows of owners.
OF_HISTORY = ("static_profile", "aware_profile", "sessions")
# Fields of a candidate, by the names of a release's columns.
CANDIDATE = {
    "external_id": "candidate_id",
    "query__external_id": "query_id",
    "query__version": "query_version",
    **{name: name for name in ("text", "strategy", "model", "urls", "template", "prompt_digest")},
    "parameters": "parameters",
}
# Of a judgment, as its row has it.
AS_STORED = ("reason", "flags", "chips", "revision", "imported")
Judged = tuple[dict, Answer]
# An owner's responses to a query, by item, number of the option, and candidate.
Scored = dict[tuple, records.Response]
PUBLISH = HistoryConsent.Purpose.PUBLISH


@dataclass(frozen=True, eq=False)
class Task:
    """A version of a task; ``labels`` are all that an answer may have, () where it has parts."""

    name: str
    version: int
    kind: Kind
    config: dict
    measures: tuple[Measure, ...]
    labels: tuple[str, ...]
    criteria: tuple[str, ...]
    stop_below: str | None

    @classmethod
    def of(cls, task: TaskDefinition, stop_below: dict, unused: set[str]) -> "Task":
        """The task of the definition ``task``, without its labels that are ``unused``."""
        kind, config = kind_of(task.kind), config_of_task(task)
        measures = tuple(kind.measures(config))
        scores = measures if are_scores(measures) and "criteria" in config else ()
        labels = measures[0].labels if is_one_label(measures) else ()
        return cls(
            task.name,
            task.version,
            kind,
            config,
            measures,
            labels=tuple(label for label in labels if label not in unused),
            criteria=tuple(each.name for each in scores),
            stop_below=stop_below.get(task.name),
        )

    @cached_property
    def offered(self) -> dict[str, int]:
        """{label: the number of the answer that it stands for, 0 for a word}."""
        numbers: Any = {number: number for number in range(1, len(self.labels) + 1)}
        made = (self.kind.label_json(label, numbers, self.config) for label in self.labels)
        whole = (value if isinstance(value, int) else 0 for value in made)
        return dict(zip(self.labels, whole, strict=True))

    def as_json(self) -> dict:
        """Its name, version, kind and settings, by which an import makes it again."""
        about = {"name": self.name, "version": self.version, "kind": self.kind.code}
        return about | {"kind_version": self.kind.version, "config": self.config}


class Reading:
    """The frozen rows of one release as plain records, in an order that never changes.

    ``alive`` is called once a chunk.
    """

    def __init__(self, release: Release, alive: Callable[[], None]) -> None:
        self.release, self.alive = release, alive
        self.frozen = release.frozen
        self.withdrawn = frozenset(self.frozen["withdrawn"])
        # No checks, which are for the annotators, and nothing of owners who withdrew.
        self.shown = Item.objects.filter(
            study=release.study_id,
            position__lte=self.frozen["position"],
            batch__purpose=Batch.Purpose.WORK,
        ).exclude(query__owner__in=self.withdrawn)
        counted = judgments_as_of(release.study_id, self.frozen["judgment"], self.frozen["void"])
        self._judgments = counted.filter(slot__item__batch__purpose=Batch.Purpose.WORK)
        # Of those whose votes are released, in no order.
        self.counted = self._judgments.exclude(annotator__in=self.withdrawn).order_by()

    @cached_property
    def _voters(self) -> frozenset[int]:
        rows = self._judgments.order_by().values_list("annotator", flat=True)
        return frozenset(rows.distinct())

    @cached_property
    def workers(self) -> dict:
        """{annotator's id: pseudonym} of everybody with a vote in the release."""
        return records.workers(self.release.salt, self._voters - self.withdrawn)

    @property
    def left(self) -> int:
        """How many people with votes withdrew their consent: they are not in the release."""
        return len(self._voters & self.withdrawn)

    def personas(self) -> Iterator[records.Persona]:
        """All personas, in the order of their numbers."""
        versions = PersonaVersion.objects.in_bulk(self.frozen["personas"])
        memories = self._memories()
        for number, pk in enumerate(self._persona_order, start=1):
            shown = versions[pk]
            texts = tuple(memories[shown.persona_id])
            yield records.Persona(str(number), shown.version, shown.profile, texts)

    def _memories(self) -> dict[int, list[dict]]:
        """{persona's id: its memories}, as they were at the freeze."""
        texts = defaultdict(list)
        rows = Memory.objects.filter(
            persona__versions__in=self.frozen["personas"], pk__lte=self.frozen["memory"]
        )
        fields = ("persona_id", "text", "since", "until")
        for persona, text, since, until in rows.order_by("pk").values_list(*fields):
            texts[persona].append({"text": text, "since": _day(since), "until": _day(until)})
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
        batches = self.shown.order_by().values_list("batch_id", flat=True).distinct()
        shown = [self._tasks[batch] for batch in batches]
        by_name = {(task.name, task.version): task for task in shown}
        return [by_name[key] for key in sorted(by_name)]

    @cached_property
    def _tasks(self) -> dict[int, Task]:
        """{batch's id: its task}, without those of checks."""
        rows = Batch.objects.filter(study=self.release.study_id, purpose=Batch.Purpose.WORK)
        definitions = {batch.pk: batch.task for batch in rows.select_related("task")}
        tasks = {
            task: Task.of(task, self.frozen["stop_below"], self._never_offered(task))
            for task in set(definitions.values())
        }
        return {batch: tasks[definition] for batch, definition in definitions.items()}

    def _never_offered(self, task: TaskDefinition) -> set[str]:
        """A tie and "none" without a vote, where every vote was imported (as in agreement)."""
        judgments = judgments_as_of(self.release.study_id, self.frozen["judgment"])
        votes = judgments.filter(slot__item__batch__task__name=task.name)
        return never_offered(measures_of(task), votes)

    def label_votes(self) -> Iterator[records.LabelVotes]:
        """Every vote whose answer is one label, a version of a task at a time, without texts."""
        positions = np.array(self.shown.order_by().values_list("position", flat=True), np.int64)
        voters, batches = np.array(sorted(self._voters), np.int64), defaultdict(list)
        for batch, task in self._tasks.items():
            batches[task].append(batch)
        for task, of_task in batches.items():
            if task.labels:
                judged = self._judgments.filter(slot__item__batch__in=of_task)
                votes = read_judgments(judged, task.measures[0])
                label = votes.coded(task.labels)
                # A label that the task does not offer is refused where the item is read.
                counts = np.isin(votes.item, positions) & (label >= 0)
                counts &= ~np.isin(votes.rater, list(self.withdrawn))
                yield records.LabelVotes(
                    (task.name, task.version),
                    task.labels,
                    votes.item[counts].astype(np.int32),
                    np.searchsorted(voters, votes.rater[counts]).astype(np.int32),
                    label[counts].astype(np.int32),
                )

    def items(self) -> Iterator[records.Item]:
        """All items in the order of hand-out, each with its answers and votes."""
        places = self.shown.order_by("position").values_list("pk", flat=True)
        for ids in chunks(list(places), CHUNK):
            self.alive()
            yield from self._chunk(ids)

    def _chunk(self, ids: list) -> Iterator[records.Item]:
        rows = Item.objects.filter(among("pk", ids)).order_by("position")
        rows = rows.select_related("query", "gold")
        rows = rows.prefetch_related("persona_version", "attribute", "gold__claims")
        judged, answers = self._judged(ids), self._answers(ids)
        rulings, imported = self._rulings(ids), self._imported(ids)
        for item in rows:
            about = answers[item.pk], rulings.get(item.pk), imported.get(item.pk)
            yield self._item(item, judged[item.pk], *about)

    def _item(
        self,
        item: Item,
        judged: list[Judged],
        answers: list[records.Answer],
        ruling: Any,
        imported: tuple[str, str] | None,
    ) -> records.Item:
        task, query, persona = self._tasks[item.batch_id], item.query, item.persona_version
        # Of a release that was frozen before overlaps were noted it is what it is now.
        runs = self.frozen.get("overlaps") or [[0, item.overlap]]
        overlap = runs[bisect_right(runs, item.position, key=itemgetter(0)) - 1][1]
        ids = {number: answer.id for number, answer in enumerate(answers, start=1)}
        ruled = None if ruling is None else task.kind.label_json(ruling, ids, task.config)
        asked = [{"role": "user", "content": query.text}] if query and query.text else []
        return records.Item(
            id=item.external_id,
            position=cast(int, item.position),
            task=task.name,
            task_version=task.version,
            kind=task.kind.code,
            labels=tuple(
                ids.get(cast(int, number), label) for label, number in task.offered.items()
            ),
            criteria=task.criteria,
            measures=task.measures,
            stop_below=task.stop_below,
            overlap=overlap,
            closed=is_closed(len(judged), overlap, item.batch_id in self.frozen["closed"]),
            topped=str(item.pk) in self.frozen["topped"],
            chance=self.frozen.get("chances", {}).get(str(item.position)),
            query_id=query.external_id if query else "",
            query_version=query.version if query else None,
            question=query.text if query else "",
            messages=(query and query.messages) or asked,
            need=query.need if query else "",
            type=query.type if query else "",
            scenario=query.scenario if query else "",
            asked_on=_day(query.asked_on) if query else None,
            language=query.language if query else "",
            user_id=self._users[persona.persona_id] if persona else "",
            persona_version=persona.version if persona else None,
            profile=persona.profile if persona else None,
            attribute=self._attribute(item.attribute) if item.attribute else None,
            gold=item.gold.text if item.gold else "",
            claims=[
                {"number": claim.number, "text": claim.text}
                for claim in (item.gold.claims.all() if item.gold else ())
            ],
            answers=tuple(answers),
            imported=imported,
            adjudicated=ruled,
            votes=[
                self._vote(row, answer, task, ids)
                for row, answer in judged
                if row["annotator"] not in self.withdrawn
            ],
        )

    def _vote(self, row: dict, answer: Answer, task: Task, ids: dict[int, str]) -> records.Vote:
        label: Any = answer.label
        if task.labels:
            # A label that the task does not offer stays as it is, and is refused with its item.
            label = ids.get(task.offered.get(label, 0), label)
        seconds = row["seconds"]
        return records.Vote(
            worker=self.workers[row["annotator"]],
            label=label if task.labels else None,
            parts={} if task.labels else label,
            answers=task.kind.released(answer, ids, task.config),
            detail=answer.detail,
            shown=[ids[number] for number in row["shown"]],
            marks=[mark | {"option": ids[mark["option"]]} for mark in row["marks"]],
            seconds=int(seconds) if seconds and seconds.is_integer() else seconds,
            # The day in UTC; exact times would join a person's votes across releases.
            submitted_at=f"{row['submitted_at']:%Y-%m-%d}" if row["dated"] else "",
            **{name: row[name] for name in AS_STORED},
        )

    def _judged(self, items: list) -> dict[Any, list[Judged]]:
        """{item: everybody's judgments with their answers, in the order of submission}."""
        fields = ("pk", "annotator", "shown", "marks", "seconds", "submitted_at", "dated")
        about = {"item": F("slot__item"), "kind": F("slot__item__batch__task__kind")}
        rows = self._judgments.filter(among("slot__item", items)).order_by("submitted_at", "pk")
        judgments = list(rows.values(*fields, *AS_STORED, **about))
        answers = answers_of({row["pk"]: row["kind"] for row in judgments})
        judged = defaultdict(list)
        for row in judgments:
            judged[row["item"]].append((row, answers[row["pk"]]))
        return judged

    def _answers(self, items: list) -> dict[Any, list[records.Answer]]:
        """{item: its answers}."""
        fields = ("external_id", "text", "strategy", "model")
        live = ("parameters__messages", "parameters__chance")
        options = ItemOption.objects.filter(among("item", items)).order_by("number")
        shown = defaultdict(list)
        for item, name, text, strategy, model, messages, chance in options.values_list(
            "item", *(f"candidate__{name}" for name in (*fields, *live))
        ):
            answer = records.Answer(name, text, strategy, model, messages or (), chance)
            shown[item].append(answer)
        return shown

    def _rulings(self, items: list) -> dict:
        """{item: the newest ruling on it}."""
        last = self.frozen["adjudication"]
        rows = Adjudication.objects.filter(among("item", items), pk__lte=last).order_by("pk")
        return dict(rows.values_list("item", "label"))

    def _imported(self, items: list) -> dict[Any, tuple[str, str]]:
        """{item: the winner and tier of its imported pair}."""
        if self.frozen["choices"]["rule"] != "imported":
            return {}
        rows = ImportedPair.objects.filter(among("item", items))
        named = rows.values_list("item", "option__candidate__external_id", "tier")
        return {item: (chosen, tier) for item, chosen, tier in named}

    def attributes(self) -> Iterator[records.Attribute]:
        """Every attribute that an item of the release shows, with its conversations."""
        shown = self.shown.filter(attribute=OuterRef("pk"))
        attributes = Attribute.objects.filter(Exists(shown)).order_by("pk")
        for attribute in self._streamed(attributes.prefetch_related("evidence")):
            evidence = attribute.evidence.all()
            yield replace(
                self._attribute(attribute),
                conversations=[row.messages for row in evidence],
                sources=[row.source for row in evidence],
            )

    def _attribute(self, attribute: Attribute) -> records.Attribute:
        """The record of an attribute, without its conversations."""
        return records.Attribute(
            id=attribute.external_id,
            user_id=self._users.get(attribute.persona_id, ""),
            text=attribute.text,
            confidence=attribute.confidence,
            model=attribute.model,
            since=_day(attribute.since),
            until=_day(attribute.until),
            turn=attribute.turn,
        )

    def candidates(self) -> Iterator[dict]:
        """Every answer that an item of the release shows, and how it was made."""
        shown = ItemOption.objects.filter(candidate=OuterRef("pk"), item__in=self.shown)
        rows = Candidate.objects.filter(Exists(shown), study=self.release.study_id)
        rows = rows.order_by("query", "pk").values(*CANDIDATE)
        for row in self._streamed(rows):
            named = {CANDIDATE[name]: value for name, value in row.items()}
            yield named | {"parameters": _public(row["parameters"])}

    def _streamed(self, rows: QuerySet) -> Iterator[Any]:
        for number, row in enumerate(rows.iterator(chunk_size=CHUNK)):
            if number % CHUNK == 0:
                self.alive()
            yield row

    def owners(self) -> Iterator[records.Owner]:
        """Everybody who owns a query of the release, under a pseudonym; nobody who withdrew since.

        That is what they gave to the study, from queries to sessions they publish.
        """
        withdrawn = self.withdrawn | frozenset(withdrawn_from(self.release.study))
        order = records.shuffled(self.release.salt, self.frozen.get("owners", []))
        people, numbers = User.objects.in_bulk(order), count(1)
        for number, pk in enumerate(order, start=1):
            self.alive()
            if pk not in withdrawn:
                owner = people[pk]
                queries = self._queries(owner, numbers)
                yield records.Owner(f"user{number}", self._sessions(owner), queries)

    def _sessions(self, owner: User) -> tuple[records.OwnSession, ...]:
        """The sessions that were to be published at the freeze, and still may be."""
        study = self.release.study
        if not consent.allows(owner, study, PUBLISH):
            return ()
        held = Session.objects.filter(owner=owner, pk__in=self.frozen["sessions"])
        entries = browse.context(owner, study, PUBLISH, only=held.values_list("pk", flat=True))
        sessions = [
            records.OwnSession(self._uuid(entry.session), entry.kind, entry.text)
            for entry in entries
        ]
        return tuple(sorted(sessions, key=lambda session: session.id))

    def _queries(self, owner: User, numbers: Iterator[int]) -> tuple[records.OwnQuery, ...]:
        """Their queries that were judged or may be, each with the judgments of its answers."""
        judged = Judgment.objects.filter(
            slot__item__query=OuterRef("pk"), annotator=owner, answers__option__isnull=False
        )
        asked = Query.objects.filter(study=self.release.study_id, owner=owner)
        asked = asked.filter(Q(ready=True, replaced_at=None) | Exists(judged))
        asked = asked.filter(pk__lte=self.frozen["query"]).order_by("pk")
        responses = self._scored(owner)
        return tuple(
            self._query(owner, query, responses.get(query.pk, {}), str(next(numbers)))
            for query in asked
        )

    def _query(self, owner: User, query: Query, responses: Scored, number: str) -> records.OwnQuery:
        written = query.rubrics.filter(pk__lte=self.frozen["rubric"])
        rubric = written.order_by("-version").first()
        shown = (rubric and rubric.shots) or ()
        held = [option for option in responses if str(option[-1]) in shown]
        texts = {option: response.text for option, response in responses.items()}
        drawn = scenarios.draw(query.text, texts, self.frozen["choices"]["shots"], held)
        # A judge is shown the rubric: one that may know the responses under test would tell it.
        unsure = bool(rubric and rubric.shots is None and len(drawn) < len(responses))
        return records.OwnQuery(
            id=number,
            text=query.text,
            need=query.need,
            responses=tuple(
                replace(response, shot=option in drawn) for option, response in responses.items()
            ),
            information=self._information(query, owner),
            rubric=rubric.text if rubric and not unsure else "",
            ids={name: self._uuid(name, query.pk) for name in records.OWN_TABLES},
            unsure=unsure,
        )

    def _standing(self) -> QuerySet[Judgment]:
        return Judgment.objects.standing(self.frozen["judgment"])

    def _scored(self, owner: User) -> dict[int, Scored]:
        """{query's id: its responses}, in the order of judging."""
        standing = self._standing().filter(
            annotator=owner, slot__study=self.release.study_id, slot__item__batch__purpose="work"
        )
        scored: dict[int, Scored] = defaultdict(dict)
        rows = score_rows(standing).order_by("pk", "part").values_list(
            *("slot__item__query", "slot__item", "number", "candidate"),
            *("slot__item__options__candidate__text", "criterion", "score", "feedback_text"),
        )  # fmt: skip
        for query, item, number, candidate, text, *score in rows:
            answer = item, number, candidate
            response = scored[query].get(answer, records.Response(text))
            scores = (*response.scores, tuple(score))
            scored[query][answer] = replace(response, scores=scores)
        return scored

    def _information(self, query: Query, owner: User) -> tuple[str, ...]:
        """The claims accepted in the newest version that was reviewed by then."""
        reviews = claim_reviews().filter(
            pk__in=self._standing().values("pk"), annotator=owner, slot__item__gold__query=query
        )
        review = reviews.order_by("-slot__item__gold__version", "-pk").first()
        return tuple(accepted(review)) if review else ()

    def _uuid(self, *parts: Any) -> str:
        """An id that is fresh in each release, and the same whenever this one is written."""
        salt = bytes.fromhex(self.release.salt)
        digest = hmac.digest(salt, repr(parts).encode(), hashlib.sha256)
        return str(uuid.UUID(bytes=digest[:16], version=4))


def _day(day: date | None) -> str | None:
    return day.isoformat() if day else None


def _public(parameters: dict) -> dict:
    """How an answer was made, without what it was shown of somebody's history."""
    public = {key: value for key, value in parameters.items() if key not in OF_HISTORY}
    if "sources" in public:
        public["sources"] = [source for source in public["sources"] if source["kind"] != "history"]
    return public


def frozen_of_owners(study: Study, withdrawn: list[int]) -> dict:
    """What of the owners a release of now holds, by id."""
    queries = Query.objects.filter(study=study, owner__isnull=False).exclude(owner__in=withdrawn)
    owners = sorted(set(queries.values_list("owner", flat=True)))
    published = [
        owner
        for owner in User.objects.filter(pk__in=owners).order_by("pk")
        if consent.allows(owner, study, PUBLISH)
    ]
    return {
        "owners": owners,
        "sessions": [
            str(pk)
            for owner in published
            for pk in browse.sessions(owner, study).order_by("pk").values_list("pk", flat=True)
        ],
        "gold": last(GoldResponse.objects.filter(query__study=study)),
        "rubric": last(Rubric.objects.filter(query__study=study)),
        "query": last(queries),
    }


def last(rows: QuerySet | Manager, field: str = "pk") -> int:
    """The highest value of ``field``; 0 without rows."""
    return rows.aggregate(last=Max(field))["last"] or 0
