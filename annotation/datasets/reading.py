"""Reads what a release holds out of the database, a chunk of items at a time."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import islice

from django.db.models import Exists, OuterRef

from annotation.agreement.tiers import is_closed
from annotation.candidates.models import Candidate
from annotation.datasets import records
from annotation.judging.models import Batch, Item, ItemOption, Selection
from annotation.personas.models import PersonaVersion

CHUNK = 1_000


class Reading:
    """The frozen rows of one release as plain records, in an order that never changes.

    ``alive`` is called once a chunk.
    """

    def __init__(self, release, alive: Callable[[], None]):
        self.release, self.alive = release, alive
        self.frozen = release.frozen
        self.withdrawn = frozenset(self.frozen["withdrawn"])

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
        return set(self._selections().values_list("annotator", flat=True).distinct())

    def personas(self) -> Iterator[records.Persona]:
        """All personas, in the order of their numbers."""
        found = PersonaVersion.objects.in_bulk(self.frozen["personas"])
        for number, pk in enumerate(self._persona_order, start=1):
            yield records.Persona(str(number), found[pk].version, found[pk].profile)

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
        found = (
            Item.objects.filter(study=self.release.study_id, position__lte=self.frozen["position"])
            .select_related("query", "persona_version")
            .order_by("position")
            .iterator(chunk_size=CHUNK)
        )
        while chunk := list(islice(found, CHUNK)):
            self.alive()
            answers, votes = self._answers(chunk), self._votes(chunk)
            for item in chunk:
                yield self._item(item, answers[item.pk], votes[item.pk])

    def candidates(self) -> Iterator[records.Candidate]:
        """Every answer that an item of the release shows."""
        shown = ItemOption.objects.filter(
            candidate=OuterRef("pk"), item__position__lte=self.frozen["position"]
        )
        found = (
            Candidate.objects.filter(Exists(shown), study=self.release.study_id)
            .select_related("query")
            .order_by("query_id", "pk")
        )
        for number, one in enumerate(found.iterator(chunk_size=CHUNK)):
            if number % CHUNK == 0:
                self.alive()
            yield records.Candidate(
                id=one.external_id,
                query_id=one.query.external_id,
                query_version=one.query.version,
                text=one.text,
                urls=one.urls,
                strategy=one.strategy,
                model=one.model,
                template=one.template,
                prompt_digest=one.prompt_digest,
                parameters=one.parameters,
            )

    def _selections(self):
        return Selection.objects.filter(
            slot__study=self.release.study_id, pk__lte=self.frozen["selection"]
        )

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
        out = defaultdict(list)
        for vote in (
            self._selections()
            .filter(slot__item__in=[item.pk for item in chunk])
            .order_by("submitted_at", "pk")
            .values("slot__item_id", "annotator_id", "outcome", "choice__number", "shown",
                    "reason", "flags", "seconds", "submitted_at", "imported")
        ):  # fmt: skip
            out[vote["slot__item_id"]].append(vote)
        return out

    def _item(self, item, answers, votes) -> records.Item:
        task, query, shown = self._tasks[item.batch_id], item.query, item.persona_version
        return records.Item(
            id=item.external_id,
            task=task.name,
            task_version=task.version,
            kind=task.kind,
            extras=tuple(name for name in ("tie", "none") if task.config.get(name)),
            overlap=item.overlap,
            closed=is_closed(len(votes), item.overlap, item.batch_id in self.frozen["closed"]),
            query_id=query.external_id,
            query_version=query.version,
            question=query.text,
            need=query.need,
            type=query.type,
            scenario=query.scenario,
            user_id=self._users[shown.persona_id] if shown else "",
            persona_version=shown.version if shown else None,
            profile=shown.profile if shown else None,
            answers=tuple(answers),
            votes=tuple(
                self._vote(vote, answers)
                for vote in votes
                if vote["annotator_id"] not in self.withdrawn
            ),
        )

    def _vote(self, vote: dict, answers) -> records.Vote:
        chosen = vote["choice__number"]
        return records.Vote(
            worker=self.workers[vote["annotator_id"]],
            label=answers[chosen - 1].id if chosen else vote["outcome"],
            shown=[answers[number - 1].id for number in vote["shown"]],
            reason=vote["reason"],
            flags=vote["flags"],
            seconds=vote["seconds"],
            # To the day: exact times would join a person's votes across releases.
            submitted_at=vote["submitted_at"].date().isoformat(),
            imported=vote["imported"],
        )
