"""Makes a study out of a release in the bespoke layout, ours or the published one."""

import hashlib
import re
from collections import defaultdict
from pathlib import Path
from typing import Any, cast

from django.contrib.auth.hashers import make_password
from django.utils import timezone

from annotation.accounts.models import User
from annotation.candidates.models import Candidate
from annotation.core.errors import Conflict
from annotation.datasets.release_import import report
from annotation.histories import consent
from annotation.histories.models import HistoryConsent, Message, Session, Upload
from annotation.judging.batches.open import add_items
from annotation.judging.kinds import kind_of
from annotation.judging.models import Answer, Item, Judgment, Slot
from annotation.papers.bespoke import layout
from annotation.queries import author
from annotation.queries.models import Query
from annotation.studies.models import Membership, Role, Study, TaskDefinition

_SPEAKER = re.compile(r"\n\n(User|Assistant): ")
TASKS = {"score": "feedback", "claims": "claims"}
LACKS = (
    "kinds", "persons", "profiles", "memories", "attributes", "queries", "types", "strategies",
    "flags", "chips", "marks", "times",
)  # fmt: skip
REPEATED = "responses that stand in an earlier row of their query, too"


def store(folder: Path, slug: str, by: User | None) -> dict:
    """Make the study ``slug`` from a folder of the bespoke layout (Parquet or JSON lines).

    Its users become people who cannot log in. To the report of every import come counts of
    ``users``, ``queries``, ``judgments``, ``claims``, ``rubrics`` and ``sessions``. Raises
    DomainError where a table is missing or cannot be read, Conflict where the study exists.
    """
    release = layout.read_release(folder)
    if Study.objects.filter(slug=slug).exists():
        raise Conflict(f"There is a study “{slug}” already.", code="exists")
    study = Study.objects.create(slug=slug, title=slug, languages=[])
    counts = _Import(study, release).store()
    totals = {
        "votes": Judgment.objects.filter(slot__study=study).count(),
        "scores": Answer.objects.filter(judgment__slot__study=study, option__isnull=False).count(),
        "workers": counts["users"],
        "left_out": {REPEATED: release.repeated} if release.repeated else {},
    }
    return report("bespoke", study, release.faults, LACKS) | counts | totals


class _Import:
    def __init__(self, study: Study, release: layout.BespokeRelease) -> None:
        self.study, self.release = study, release
        self.shots: dict[tuple, list[str]] = defaultdict(list)
        self.tasks = {}
        for name, kind in TASKS.items():
            config = kind_of(kind).check_config({"owner_only": True})
            task = TaskDefinition(study=study, name=name, kind=kind, overlap=1, config=config)
            task.save()
            self.tasks[name] = task

    def store(self) -> dict:
        self.people = self._people()
        self.queries = self._queries()
        return {
            "users": len(self.people),
            "queries": len(self.queries),
            "judgments": sum(map(self._judge, self.queries)),
            "claims": sum(map(self._claims, self.queries)),
            "rubrics": sum(map(self._rubric, self.queries)),
            "sessions": self._sessions(),
        }

    def _people(self) -> dict[str, User]:
        people = {
            name: User.objects.create(
                worker=f"{self.study.slug}:{name}", password=make_password(None), is_active=False
            )
            for name in self.release.users
        }
        Membership.objects.bulk_create(
            Membership(study=self.study, user=user, role=Role.ANNOTATOR) for user in people.values()
        )
        return people

    def _queries(self) -> dict[tuple, Query]:
        queries = {}
        for key, (text, need) in self.release.queries.items():
            written = {"text": text, "need": need, "guide": {"want": need}}
            queries[key] = Query.objects.create(
                study=self.study, external_id="-".join(key), owner=self.people[key[0]], **written
            )
        return queries

    def _judge(self, key: tuple) -> int:
        """One item and judgment for every response to the query; how many."""
        query, responses = self.queries[key], self.release.responses.get(key, ())
        for number, (text, scores, shot) in enumerate(responses, start=1):
            name = f"{query.external_id}-{number}"
            answer = Candidate.objects.create(
                study=self.study, query=query, external_id=name, text=text
            )
            if shot:
                self.shots[key].append(str(answer.pk))
            slot = self._item("score", name, query=query, candidates=[answer.pk])
            judgment = Judgment.objects.create(**_common(slot))
            Answer.objects.bulk_create(
                Answer(judgment=judgment, question=name, option=1, value=score, text=text)
                for name, score, text in scores
            )
        return len(responses)

    def _claims(self, key: tuple) -> int:
        query, texts = self.queries[key], self.release.claims.get(key)
        if not texts:
            return 0
        response = author.save_response(query, cast(User, query.owner), "\n".join(texts))
        author.set_claims(response, texts)
        slot = self._item("claims", f"{query.external_id}-claims", query=query, gold=response)
        review = Judgment.objects.create(**_common(slot))
        Answer.objects.bulk_create(
            Answer(judgment=review, question="claims", part=claim.pk, label="keep")
            for claim in response.claims.all()
        )
        return len(texts)

    def _rubric(self, key: tuple) -> int:
        text = self.release.rubrics.get(key)
        if not text:
            return 0
        query = self.queries[key]
        author.save_rubric(query, text, author=query.owner, shots=self.shots[key])
        return 1

    def _item(self, task: str, name: str, **what: Any) -> Slot:
        """An item of ``task``, judged by its query's owner; its slot."""
        add_items(self.study, self.tasks[task], [{"external_id": name, "overlap": 1} | what])
        item = Item.objects.get(study=self.study, external_id=name)
        slot = item.slots.select_related("item").get()
        slot.status, slot.annotator_id = Slot.Status.DONE, slot.reserved_for_id
        slot.save(update_fields=["status", "annotator"])
        Item.objects.filter(pk=item.pk).update(done=1)
        return slot

    def _sessions(self) -> int:
        """Store published sessions as accepted ones, with consent to publish them again."""
        by_user = defaultdict(list)
        for user, kind, name, text in self.release.sessions:
            by_user[user].append((kind, name, text))
        for user, sessions in by_user.items():
            owner = self.people[user]
            upload = Upload.objects.create(owner=owner, size=0, status=Upload.Status.DONE)
            for session in sessions:
                _store_session(owner, upload, *session)
            consent.grant(owner, self.study, HistoryConsent.Purpose.PUBLISH)
        return len(self.release.sessions)


def _store_session(owner: User, upload: Upload, kind: str, name: str, text: str) -> None:
    session = Session.objects.create(
        owner=owner, upload=upload, kind=kind, provider="release", external_id=name,
        state=Session.State.RETAINED, marked_at=timezone.now(), length=1, characters=len(text),
    )  # fmt: skip
    turns = _turns(text) if kind == "chat" else [("user", text)]
    Message.objects.bulk_create(
        Message(session=session, position=position, role=role, text=text)
        for position, (role, text) in enumerate(turns)
    )


def _turns(transcript: str) -> list[tuple[str, str]]:
    """(role, text) of each turn of a chat, as ``histories.browse`` writes transcripts."""
    first, *parts = _SPEAKER.split(f"\n\n{transcript}")
    if first.strip() or not parts:
        return [("user", transcript)]
    return [(role.lower(), text) for role, text in zip(parts[::2], parts[1::2], strict=True)]


def _common(slot: Slot) -> dict:
    key = f"import-{slot.item.external_id}"
    return {
        "slot": slot,
        "annotator_id": slot.annotator_id,
        "key": key,
        "digest": hashlib.sha256(key.encode()).hexdigest(),
        "shown": [],
        "submitted_at": timezone.now(),
        "imported": True,
    }
