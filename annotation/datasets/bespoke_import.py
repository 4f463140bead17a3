"""Makes a study out of a release in the bespoke layout, ours or the published one."""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.utils import timezone

from annotation.accounts.models import User
from annotation.candidates.models import Candidate
from annotation.core import audit
from annotation.core import text as core_text
from annotation.core.errors import Conflict, DomainError
from annotation.datasets.layouts.bespoke import COLUMNS
from annotation.histories import consent
from annotation.histories.models import HistoryConsent, Message, Session, Upload
from annotation.judging.batches.open import add_items
from annotation.judging.imports.bundles import check_slug
from annotation.judging.kinds import feedback, kind_of
from annotation.judging.models import ClaimReview, ClaimVerdict, Feedback, Item, Score, Slot
from annotation.queries import gold
from annotation.queries.models import Query
from annotation.studies.models import Membership, Role, Study, TaskDefinition

REQUIRED = ("queries/query_table", "meta_test/meta_test_set", "evaluation_shot/evaluation_shot")
_SPEAKER = re.compile(r"\n\n(User|Assistant): ")
TASKS = {"score": "feedback", "claims": "claims"}


def import_bespoke(folder: Path, slug: str, *, by=None) -> dict:
    """Make the study ``slug`` from a folder of the bespoke layout (Parquet or JSON lines).

    Its users become people who cannot log in. Returns counts of ``users``, ``queries``,
    ``judgments``, ``claims``, ``rubrics`` and ``sessions``. Raises DomainError with file and row
    where something is missing or cannot be read, Conflict where the study exists; then nothing was
    stored.
    """
    check_slug(slug)
    tables = {name: list(_rows(folder, name)) for name in COLUMNS}
    with transaction.atomic():
        if Study.objects.filter(slug=slug).exists():
            raise Conflict(f"There is a study “{slug}” already.", code="exists")
        study = Study.objects.create(slug=slug, title=slug, languages=[])
        made = _Making(study, tables)
        counts = made.all()
        audit.record(by, "study.import_bespoke", study, **counts)
    return counts


class _Making:
    """One import, table by table."""

    def __init__(self, study: Study, tables: dict):
        self.study, self.tables = study, tables
        self.tasks = {
            name: TaskDefinition.objects.create(
                study=study,
                name=name,
                kind=kind,
                overlap=1,
                config=kind_of(kind).check_config({"owner_only": True}),
            )
            for name, kind in TASKS.items()
        }

    def all(self) -> dict:
        """Everything, in order; the counts."""
        self.judged = set()
        self.people = self._people()
        self.queries = self._queries()
        judged = [
            row
            for name in ("meta_test/meta_test_set", "evaluation_shot/evaluation_shot")
            for row in self.tables[name]
        ]
        return {
            "users": len(self.people),
            "queries": len(self.queries),
            "judgments": sum(self._judge(row) for row in judged),
            "claims": sum(map(self._claims, self.tables["gold_information/gold_information"])),
            "rubrics": self._rubrics(),
            "sessions": self._sessions(),
        }

    def _people(self) -> dict[str, User]:
        names = {row["user"] for rows in self.tables.values() for row in rows}
        people = {
            name: User.objects.create(
                worker=f"{self.study.slug}:{name}", password=make_password(None), is_active=False
            )
            for name in sorted(names)
        }
        Membership.objects.bulk_create(
            Membership(study=self.study, user=user, role=Role.ANNOTATOR) for user in people.values()
        )
        return people

    def _queries(self) -> dict[tuple, Query]:
        found = {}
        rows = self.tables["queries/query_table"]
        for row in sorted(rows, key=lambda row: (row["user"], row["query-id"])):
            found[row["user"], row["query-id"]] = Query.objects.create(
                study=self.study,
                external_id=f"{row['user']}-{row['query-id']}",
                owner=self.people[row["user"]],
                text=row["query"],
                need=row["gold_information_need"],
                guide={"want": row["gold_information_need"]},
            )
        return found

    def _query(self, row) -> Query:
        query = self.queries.get((row["user"], row["query-id"]))
        if query is None:
            raise DomainError(f"{row['user']} has no query {row['query-id']} in the query table.")
        return query

    def _judge(self, row) -> int:
        """One item and judgment for every response; how many."""
        query = self._query(row)
        if query in self.judged:
            raise DomainError(f"{row['user']} judges query {row['query-id']} in two tables.")
        self.judged.add(query)
        said = _value(row, "meta_test_set_value", "evaluation_shot_value")
        for number, response in enumerate(said["response_list"], start=1):
            name = f"{query.external_id}-{number}"
            answer = Candidate.objects.create(
                study=self.study, query=query, external_id=name, text=response["contents"]
            )
            slot = self._item("score", name, query=query, candidates=[answer.pk])
            judgment = Feedback.objects.create(**_common(slot))
            option = slot.item.options.get()
            Score.objects.bulk_create(
                Score(
                    feedback=judgment,
                    option=option,
                    criterion=criterion,
                    score=response[key]["score"],
                    text=response[key]["feedback"],
                )
                for criterion in feedback.CRITERIA
                if (key := criterion.lower().replace(" ", "_")) in response
            )
        return len(said["response_list"])

    def _claims(self, row) -> int:
        query = self._query(row)
        texts = _value(row, "gold_information_value")["gold_information"]
        if not texts:
            return 0
        response = gold.save(query, query.owner, "\n".join(texts))
        gold.set_claims(response, texts)
        slot = self._item("claims", f"{query.external_id}-claims", query=query, gold=response)
        review = ClaimReview.objects.create(**_common(slot))
        ClaimVerdict.objects.bulk_create(
            ClaimVerdict(review=review, claim=claim, verdict="keep")
            for claim in response.claims.all()
        )
        return len(texts)

    def _rubrics(self) -> int:
        rows = self.tables["personalized_rubric/personalized_rubric"]
        for row in rows:
            query = self._query(row)
            gold.save_rubric(query, row["personalized_rubric_value"], author=query.owner)
        return len(rows)

    def _item(self, task: str, name: str, **what) -> Slot:
        """An item of ``task``, judged by its query's owner; its slot."""
        add_items(self.study, self.tasks[task], [{"external_id": name, "overlap": 1} | what])
        item = Item.objects.get(study=self.study, external_id=name)
        slot = item.slots.select_related("item").get()
        slot.status, slot.annotator_id = Slot.Status.DONE, slot.reserved_for_id
        slot.save(update_fields=["status", "annotator"])
        Item.objects.filter(pk=item.pk).update(done=1)
        return slot

    def _sessions(self) -> int:
        """Sessions as they were published, kept, and agreed to be published again."""
        rows = defaultdict(list)
        for name, kind in (("chat_history", "chat"), ("search_history", "search")):
            for row in self.tables[f"{name}/{name}"]:
                rows[row["user"]].append((kind, row))
        now = timezone.now()
        for name, sessions in rows.items():
            owner = self.people[name]
            upload = Upload.objects.create(owner=owner, size=0, status=Upload.Status.DONE)
            for kind, row in sessions:
                session = Session.objects.create(
                    owner=owner,
                    upload=upload,
                    kind=kind,
                    provider="release",
                    external_id=row["id"],
                    state=Session.State.KEPT,
                    marked_at=now,
                    length=1,
                    characters=len(row["history"]),
                )
                turns = _turns(row["history"]) if kind == "chat" else [("user", row["history"])]
                Message.objects.bulk_create(
                    Message(session=session, position=position, role=role, text=text)
                    for position, (role, text) in enumerate(turns)
                )
            consent.grant(owner, self.study, HistoryConsent.Purpose.PUBLISH)
        return sum(map(len, rows.values()))


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


def _value(row: dict, *names: str) -> dict:
    """The JSON text in the first of these columns that the row has."""
    name = next(name for name in names if name in row)
    where = f"{name} of {row['user']}, query {row['query-id']}"
    try:
        value = json.loads(row[name])
    except (ValueError, RecursionError):
        raise DomainError(f"{where}: this is no JSON.") from None
    key = "gold_information" if name == "gold_information_value" else "response_list"
    if not isinstance(value, dict) or not isinstance(value.get(key), list):
        raise DomainError(f"{where}: there is no list “{key}”.")
    if key == "response_list":
        _check_responses(value[key], where)
    return value


def _check_responses(responses: list, where: str) -> None:
    keys = [criterion.lower().replace(" ", "_") for criterion in feedback.CRITERIA]
    for response in responses:
        said = [response.get(key) for key in keys] if isinstance(response, dict) else []
        fits = said and isinstance(response.get("contents"), str)
        for one in said:
            fits = (
                fits
                and isinstance(one, dict)
                and one.get("score") in range(1, 6)
                and isinstance(one.get("feedback"), str)
            )
        if not fits:
            raise DomainError(f"{where}: a response lacks its text, a score or its feedback.")


def _rows(folder: Path, name: str) -> Iterator[dict]:
    """The rows of one table, checked for its columns."""
    paths = [folder / f"{name}.{ending}" for ending in ("parquet", "jsonl")]
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        if name in REQUIRED:
            raise DomainError(f"{paths[0]} is missing.")
        return
    seen = set()
    for number, row in enumerate(_read(path), start=1):
        where = f"{path}, row {number}"
        known = row if isinstance(row, dict) else {}
        cells = {key: _cell(where, known, key, kind) for key, kind in COLUMNS[name].items()}
        # A person's query or session is in a table once.
        key = (cells["user"], cells.get("query-id", cells.get("id")))
        if key in seen:
            raise DomainError(f"{where}: {key[0]}, {key[1]} was in an earlier row.")
        seen.add(key)
        yield cells


def _cell(where: str, row: dict, key: str, kind: str) -> str | int:
    """The text or whole number that a column must have; numbers may be written as text."""
    if key not in row:
        raise DomainError(f"{where}: there is no “{key}”.")
    value = row[key]
    if kind == "text" and isinstance(value, str):
        return core_text.clean(value)
    digits = str(value).removesuffix(".0")
    if kind == "integer" and re.fullmatch("[0-9]{1,9}", digits):
        return int(digits)
    raise DomainError(f"{where}: “{key}” is no {kind}.")


def _read(path: Path) -> list:
    try:
        if path.suffix == ".parquet":
            return pq.read_table(path).to_pylist()
        # Not `splitlines`: a string of JSON may hold other ends of lines, U+2028 for one.
        lines = path.read_text(encoding="utf-8").split("\n")
        return [json.loads(line) for line in lines if line.strip()]
    except (OSError, ValueError, RecursionError, pa.ArrowException) as error:
        raise DomainError(f"{path} cannot be read: {type(error).__name__}.") from error
