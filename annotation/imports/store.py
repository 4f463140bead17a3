"""Stores what the rows of a table bring in: staged by COPY, then stored by a few statements.

A file is checked whole before anything of it is stored. Then everything is stored in one
transaction, or, where a job keeps marks (``Progress``), the judgments of a long file by chunks, so
that it goes on after the last one. Ids are the file's own or are computed from the texts: the same
file again changes nothing.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.db import connection, models, transaction
from django.db.models import Max
from django.utils.translation import gettext as _
from psycopg.types.json import Json, Jsonb

from annotation.accounts.models import User
from annotation.candidates.models import Candidate
from annotation.core import audit, sql
from annotation.core.errors import Conflict, DomainError
from annotation.core.records import Rows, chunks
from annotation.imports import mapping as mappings
from annotation.imports import shape, votes
from annotation.imports.mapping import Mapping, MappingError
from annotation.imports.shape import Row, RowError
from annotation.imports.votes import Faults, FaultsError, VoteRow
from annotation.judging.imports import judgments
from annotation.judging.kinds import config_of_task, kind_of
from annotation.judging.kinds.files import wider
from annotation.judging.models import Batch, Item, ItemOption, Slot
from annotation.personas import conversations, curate
from annotation.personas.models import Attribute, Memory
from annotation.queries.models import Query
from annotation.questions.base import Question
from annotation.studies.models import Membership, Provenance, Study, TaskDefinition

CHUNK = 2_000
# The share of the work that is done before judgments are stored.
BEFORE_VOTES = 0.3
# From so many rows on, joins read what the study has once instead of looking up row by row.
MANY = 500
# Judgments of an item of a new task that brings no votes of its own.
OVERLAP = 3
# Columns of the staged rows by their types; they outlast a transaction.
_ROW = {
    "int": ("line", "turn"),
    "date": ("since", "until"),
    "text": (
        *("persona", "memory", "attribute", "attribute_text", "query", "prompt", "need", "type"),
        *("scenario", "language", "item", "model"),
    ),
    "text[]": ("answers", "texts", "models", "strategies"),
    "json": ("profile",),
    "jsonb": ("messages", "keys"),
}
_COLUMNS = [name for names in _ROW.values() for name in names]
_DROP = "DROP TABLE IF EXISTS import_row, import_vote, import_item"
_TABLES = f"""
    {_DROP};
    CREATE TEMPORARY TABLE import_row (
        {", ".join(f"{name} {type}" for type, names in _ROW.items() for name in names)});
    CREATE TEMPORARY TABLE import_vote (
        line int, item text, answers text[], worker text, label text, scores jsonb, reason text,
        submitted_at timestamptz, seconds float)"""


@dataclass
class Result:
    """What of a file the study has now, what was left out, and columns that were not read."""

    counts: dict[str, int]
    faults: Faults = field(default_factory=Faults)
    unknown: list[str] = field(default_factory=list)
    # Questions whose numbers became classes without an order, though nothing said so.
    unordered: list[str] = field(default_factory=list)


class Progress:
    """How an import is followed; what a job keeps of it, to go on from there (`run`).

    ``mark`` is the last item whose judgments are stored, "" before the first one, and None while
    nothing is stored.
    """

    keeps = False
    mark: str | None = None
    counts: dict[str, int] = {}

    def tell(self, rows: int, stored: int) -> None:
        """Say how many rows are read and stored; may raise to end the import."""

    def checked(self, result: Result) -> None:
        """Keep that the file was found good, in the transaction that stores all but judgments."""

    def stored(self, mark: str) -> None:
        """Keep a mark, in the transaction that stores the judgments before it."""

    def done(self, result: Result) -> None:
        """Keep the end, in the transaction that stores the rest."""


def store(
    study: Study,
    rows: Rows,
    mapping: Mapping,
    *,
    task: str = "",
    open_items: bool = True,
    by: User | None = None,
    skip_faults: bool = False,
    repeats: bool = False,
    allow: Collection[str] = (),
    provenance: dict | None = None,
    dry_run: bool = False,
    beyond: bool = True,
    sample: Sequence[dict] = (),
    progress: Progress | None = None,
) -> Result:
    """Store ``rows`` (line and record) read by ``mapping`` in ``study``.

    Items and votes belong to the task called ``task``, which is made where the study has none.
    Without ``open_items`` questions and answers alone are stored, unless the rows have votes.
    A person's further judgments of an item are faults, or ``repeats``; those ``beyond`` an item's
    open slots are stored, or faults, and then no item is made. A task that does not fit the
    file is changed as ``allow`` says (names of WIDER). ``provenance`` has the fields of
    studies.Provenance; ``sample`` are rows in which unread places are looked for. Raises
    FaultsError where lines are faulty and ``skip_faults`` is false, MappingError where nothing at
    all came in, Conflict where the study is closed; then nothing was stored.
    """
    if study.status == Study.Status.CLOSED:
        raise Conflict(_("The study is closed: an administrator can open it again."), code="closed")
    progress = progress or Progress()
    try:
        with transaction.atomic():
            study = judgments.take_turn(study)
            job = _Storing(study, mapping, task, by, progress, beyond, repeats, allow)
            if provenance:
                job.provenance = Provenance.objects.get_or_create(study=study, **provenance)[0].pk
            if mapping.has("conversation"):
                result = job.pool(rows)
            else:
                result = job.all(rows, (open_items or mapping.votes) and beyond, sample)
            result.faults.rows.sort()
            if not any(result.counts.values()):
                raise nothing_came(result.faults)
            if result.faults.count and not skip_faults:
                raise FaultsError(result.faults)
            if dry_run:
                transaction.set_rollback(True)
            elif not job.later:
                job.end(result)
            elif progress.mark is None:
                progress.checked(result)
        if job.later:
            job.store_later(result)
    finally:
        if not connection.needs_rollback and connection.is_usable():
            _execute(_DROP)
    return result


def nothing_came(faults: Faults) -> DomainError:
    """The refusal of a file of which no line can be imported, with the first reason."""
    if not faults.count:
        return MappingError(_("Nothing came in: the file has no rows."))
    line, reason = faults.rows[0]
    words = {"n": faults.count, "line": line, "reason": reason}
    return FaultsError(
        faults,
        _("No line can be imported (faulty: %(n)d). Line %(line)d: %(reason)s.") % words,
    )


@dataclass
class _Storing:
    """One import of rows into one study, with options of ``store``."""

    study: Study
    mapping: Mapping
    task_name: str
    by: User | None
    progress: Progress
    beyond: bool
    repeats: bool
    allow: Collection[str]
    provenance: int | None = None
    # Whether the judgments are stored after the first transaction, by chunks.
    later: bool = False
    # Questions that the study had, of which the file says what was not known.
    described: int = 0
    # Rows that are read, and of them those that are stored.
    read: int = 0
    stored: int = 0

    def __post_init__(self) -> None:
        # What is found before anything is stored, and while judgments are stored.
        self.faults, self.late = Faults(), Faults()
        self.columns: dict[str, None] = {}
        # Numbers of answers, labels and criteria seen: a new task is made to fit them.
        self.sizes: Counter = Counter()
        self.seen = votes.Seen()
        self.unordered: list[str] = []

    def store_later(self, result: Result) -> None:
        """Store the judgments by chunks, each with its mark, after the one that came last."""
        for names in votes.items_of_votes(self.progress.mark or ""):
            with transaction.atomic():
                judgments.take_turn(self.study)
                self.store_votes(names)
                self.progress.stored(names[-1])
        with transaction.atomic():
            self.end(result)

    def end(self, result: Result) -> None:
        """What ends an import, in the transaction that stores the last of it."""
        result.faults.add_all(self.late)
        audit.record(self.by, "study.import_data", self.study, **result.counts)
        # The hand-out reads these tables at once; the planner must not take them for empty. After
        # the commit: until its transaction ends, ANALYZE keeps that of every other import waiting.
        tables = (Slot, Item, ItemOption, Batch, Candidate, TaskDefinition, Study, Membership)
        transaction.on_commit(partial(sql.analyze_grown, self.read, *tables), robust=True)
        if self.mapping.votes:
            transaction.on_commit(judgments.analyze, robust=True)
        self.progress.done(result)

    def pool(self, rows: Rows) -> Result:
        """Add conversations to the study's pool; one that it has already is left as it is."""
        count = 0
        read = partial(shape.conversation, salt=self.study.slug)
        for chunk in chunks(self.without_faults(rows, read), CHUNK // 4):
            self.read += len(chunk)
            self.progress.tell(self.read, self.read - len(chunk))
            good = [conversation for _line, conversation in chunk if conversation]
            count += conversations.add_conversations(self.study, good)
        return Result({"conversations": count}, self.faults)

    def without_faults(self, rows: Rows, read: Callable) -> Iterator[tuple[int, Any]]:
        """Line, and record as ``read`` takes it; None in place of one that is faulty."""
        for line, record in rows:
            try:
                if isinstance(record, str):
                    raise RowError(record)
                if record.keys() - self.columns.keys():
                    self.columns |= dict.fromkeys(record)
                yield line, read(record)
            except RowError as fault:
                self.faults.add(line, fault.sentence)
                yield line, None

    # Staging

    def stage(self, rows: Rows) -> None:
        """Shape the rows and copy them into temporary tables."""
        # Sorts and joins of a large file stay in memory; it ends with the transaction.
        _execute(f"SET LOCAL work_mem = '64MB'; {_TABLES}")
        read = partial(shape.shape, mapping=self.mapping)
        for chunk in chunks(self.without_faults(rows, read), CHUNK):
            self.read += len(chunk)
            self.check()
            good: list[tuple[int, Row]] = [(line, row) for line, row in chunk if row is not None]
            _copy("import_row", _COLUMNS, [_staged(line, row) for line, row in good])
            votes_of_lines = [(line, row, vote) for line, row in good for vote in row.votes]
            _copy("import_vote", VoteRow._fields, [votes.staged(*each) for each in votes_of_lines])
            self.sizes.update(len(row.answers) for _line, row in good if row.answers)
            for _line, _row, vote in votes_of_lines:
                self.seen.add(vote)
        _execute("ANALYZE import_row (line, persona, query, item), import_vote (line, item)")
        # Rows of this transaction are not in the statistics: the planner takes the study for an
        # empty one, and the nested loops it chooses then compare every row with every other.
        self.joined_by_loops(self.read < MANY)

    # Storing

    def all(self, rows: Rows, open_items: bool, sample: Sequence[dict]) -> Result:
        """Store everything, or all but the judgments (``later``); what the study has of it."""
        self.stage(rows)
        steps = (self.personas, self.memories, self.attributes, self.queries, self.candidates)
        # Where there are judgments, they take most of the time.
        share = BEFORE_VOTES if self.mapping.votes else 1
        for number, step in enumerate(steps):
            self.check(share * number / (len(steps) + 1))
            step()
        self.check(share * len(steps) / (len(steps) + 1))
        counts = {"personas": self.count("persona")}
        counts["queries"] = self.count("query") if self.mapping.has("prompt") else 0
        counts["described"] = self.described
        counts["candidates"] = self.scalar(
            "SELECT count(DISTINCT a) FROM import_row, unnest(answers) a"
        )
        last = self.scalar(
            "SELECT coalesce(max(position), 0) FROM judging_item WHERE study_id = %(study)s"
        )
        if open_items:
            self.items()
        if self.mapping.has("key"):
            self.keys()
        counts["items"] = self.scalar(
            """SELECT count(*) FROM judging_item i WHERE i.study_id = %(study)s
               AND i.external_id IN (SELECT item FROM import_row WHERE item <> '')"""
        )
        counts["new_items"] = self.study.items.filter(position__gt=last).count()
        if open_items and self.task_name and not counts["items"] and not self.mapping.votes:
            raise MappingError(
                _(
                    "No item can be opened in the task “%s”: the rows have nothing to judge in it. "
                    "Store them without items; a batch opens items once there are answers."
                )
                % self.task_name
            )
        counts |= {"votes": 0, "scores": 0, "workers": 0}
        self.joined_by_loops(True)
        if self.mapping.votes:
            self.fit()
            counts |= self.all_votes()
        unknown = mappings.unknown(self.mapping, self.columns, sample)
        return Result(counts, self.faults, unknown, self.unordered)

    def all_votes(self) -> dict[str, int]:
        """Store the judgments, or check them alone where they are stored ``later``."""
        _execute("CREATE INDEX ON import_vote (item)")
        self.many = self.scalar("SELECT count(DISTINCT item) FROM import_vote")
        self.later = self.progress.keeps and self.many > votes.ITEMS_AT_ONCE
        self.judged = 0
        reader = partial(
            votes.Votes,
            self.study,
            signed=self.seen.low < 0,
            repeats=self.repeats,
            beyond=self.beyond,
            provenance=self.provenance,
        )
        self.votes = reader(self.late)
        if self.progress.mark is not None:  # they were checked
            done = "SELECT count(DISTINCT item) FROM import_vote WHERE item <= %(mark)s"
            self.judged = self.scalar(done, {"mark": self.progress.mark})
            return self.progress.counts
        if not self.later:
            for names in votes.items_of_votes():
                self.store_votes(names)
            self.faults.add_all(self.late)
            return self.votes.counts()
        checking = reader(self.faults)
        for names in votes.items_of_votes():
            checking.store(names, write=False)
            self.check()
        return checking.counts()

    def store_votes(self, names: list[str]) -> None:
        """Store the judgments of these items, and open what is still wanted of them."""
        self.votes.store(names)
        self.slots("SELECT unnest(%(names)s::text[])", {"names": names})
        self.judged += len(names)
        self.check(BEFORE_VOTES + (1 - BEFORE_VOTES) * self.judged / self.many)

    def fit(self) -> None:
        """Change the tasks of the votes' items as ``allow`` says; note what else they need."""
        named = self.run(
            """SELECT DISTINCT b.task_id FROM judging_item i
               JOIN judging_batch b ON b.id = i.batch_id
               WHERE i.study_id = %(study)s AND i.external_id IN (SELECT item FROM import_vote)"""
        )
        for task in self.study.tasks.filter(pk__in=[pk for (pk,) in named]):
            kind, config = kind_of(task.kind), config_of_task(task)
            self.check_classes(task, kind.questions(config))
            low, _high = kind.options_range(config)
            size = config["options"] if "questions" in config else low
            file = votes.file_of(self.mapping, size, self.seen)
            chosen: dict = {}
            for name in self.allow:
                chosen |= wider(kind.files, config | chosen, file).get(name, {})
            if chosen:
                judgments.widen(task, chosen, self.by)
                self.unordered += votes.unordered(self.mapping, task.config)
            left = wider(kind.files, config | chosen, file)
            self.faults.wider |= dict.fromkeys(left, task.name)

    def check_classes(self, task: TaskDefinition, questions: Sequence[Question]) -> None:
        """Refuse declared classes that are not those of the task."""
        for name, classes in self.mapping.classes.items():
            asked = [each for each in questions if each.type == "label" and name in ("", each.name)]
            names = tuple(asked[0].labels(0)) if asked else ()
            if classes and names != classes:
                words = {"task": task.name, "classes": ", ".join(names) or "–"}
                raise DomainError(
                    _(
                        "The task “%(task)s” has other classes (%(classes)s): name a new task for "
                        "this file, or declare none."
                    )
                    % words
                )

    def personas(self) -> None:
        """Personas with a profile, and those that are only named and not there yet."""
        self.reject(
            """DELETE FROM import_row s USING (
                   SELECT persona, min(profile::jsonb::text) AS profile FROM import_row
                   WHERE profile IS NOT NULL GROUP BY persona
                   HAVING count(DISTINCT profile::jsonb) > 1
               ) twice WHERE s.persona = twice.persona AND s.profile::jsonb::text <> twice.profile
               RETURNING s.line, s.persona""",
            lambda name: _("the persona “%s” has another profile in another line") % name[:80],
        )
        rows = self.run(
            """SELECT persona, (array_agg(profile::text) FILTER (WHERE profile IS NOT NULL))[1]
               FROM import_row s WHERE persona <> '' GROUP BY persona
               HAVING count(profile) > 0 OR NOT EXISTS (
                   SELECT 1 FROM personas_persona p
                   WHERE p.study_id = %(study)s AND p.external_id = s.persona)
               ORDER BY min(line)"""
        )
        for chunk in chunks(rows, CHUNK):
            records = [
                {"id": name, "profile": json.loads(profile) if profile else {"Name": name}}
                for name, profile in chunk
            ]
            curate.save_all(self.study, records, by=self.by)

    def memories(self) -> None:
        _insert(
            Memory,
            {"persona_id": "p.id", "text": "s.memory"},
            """(SELECT DISTINCT persona, memory FROM import_row WHERE memory <> '') s
               JOIN personas_persona p ON p.study_id = %(study)s AND p.external_id = s.persona
               WHERE NOT EXISTS (SELECT 1 FROM personas_memory m
                                 WHERE m.persona_id = p.id AND m.text = s.memory)""",
            {"study": self.study.pk},
        )

    def attributes(self) -> None:
        _insert(
            Attribute,
            {"persona_id": "p.id", "external_id": "s.attribute", "text": "s.attribute_text"}
            | {name: f"s.{name}" for name in ("since", "until", "turn")},
            """import_row s
               JOIN personas_persona p ON p.study_id = %(study)s AND p.external_id = s.persona
               WHERE s.attribute <> '' ON CONFLICT DO NOTHING""",
            {"study": self.study.pk},
        )

    def queries(self) -> None:
        last = self.study.queries.aggregate(last=Max("pk"))["last"] or 0
        columns = ("need", "type", "scenario", "language")
        _insert(
            Query,
            {name: f"s.{name}" for name in columns}
            | {
                "study_id": "%(study)s",
                "provenance_id": "%(provenance)s::bigint",
                "external_id": "s.query",
                "persona_id": "p.id",
                "text": "s.prompt",
                "messages": "s.messages",
            },
            """import_row s
               LEFT JOIN personas_persona p ON p.study_id = %(study)s AND p.external_id = s.persona
               WHERE s.query <> '' AND s.prompt <> '' ORDER BY s.language = '', s.line
               ON CONFLICT DO NOTHING""",
            {"study": self.study.pk, "provenance": self.provenance},
        )
        self.reject(
            """DELETE FROM import_row s USING queries_query q
               LEFT JOIN personas_persona p ON p.id = q.persona_id
               WHERE q.study_id = %(study)s AND q.external_id = s.query AND q.replaced_at IS NULL
               AND s.prompt <> ''
               AND (q.text, q.need, coalesce(p.external_id, '')) <> (s.prompt, s.need, s.persona)
               RETURNING s.line, s.query""",
            lambda name: (
                _("the study has another question “%s”: give this one its own id") % name[:80]
            ),
        )
        known = {pk for column in ("scenario", "language") for pk in self.describe(column)}
        self.described = sum(pk <= last for pk in known)
        for column in ("type", "scenario", "language"):
            self.reject_others(column)
        self.reject(
            """DELETE FROM import_row s WHERE s.prompt = '' AND s.answers <> '{}'
               AND NOT EXISTS (SELECT 1 FROM queries_query q WHERE q.study_id = %(study)s
                               AND q.external_id = s.query AND q.replaced_at IS NULL)
               RETURNING s.line, s.query""",
            lambda name: _("the study has no question “%s”") % name[:80],
        )

    def describe(self, column: str) -> list[int]:
        """Let questions whose ``column`` is not known have what the first line says: their keys.

        What was not known contradicts nothing, and no version of the text changes by it.
        """
        if not self.mapping.has(column):
            return []
        rows = self.run(
            f"""UPDATE queries_query q SET {column} = s.{column} FROM (
                    SELECT DISTINCT ON (query) query, {column} FROM import_row
                    WHERE {column} <> '' AND prompt <> '' ORDER BY query, line
                ) s WHERE q.study_id = %(study)s AND q.external_id = s.query
                AND q.replaced_at IS NULL AND q.{column} = '' RETURNING q.id"""  # noqa: S608
        )
        return [pk for (pk,) in rows]

    def reject_others(self, column: str) -> None:
        """Refuse lines whose question has another value of ``column``; an empty cell says none."""
        if not self.mapping.has(column):
            return
        in_file = _(
            "the %(name)s of the question is “%(here)s” here and “%(there)s” in line %(line)s"
        )
        stored = _("the %(name)s of the question is “%(here)s” here and “%(there)s” in the study")
        self.reject(
            f"""DELETE FROM import_row s USING queries_query q LEFT JOIN (
                    SELECT query, {column}, min(line) AS line FROM import_row GROUP BY 1, 2
                ) f ON f.query = q.external_id AND f.{column} = q.{column}
                WHERE q.study_id = %(study)s AND q.external_id = s.query
                AND q.replaced_at IS NULL AND s.prompt <> '' AND s.{column} NOT IN ('', q.{column})
                RETURNING s.line, ARRAY[s.{column}, q.{column}, f.line::text]""",  # noqa: S608
            lambda values: (
                (in_file if values[2] else stored)
                % dict(zip(("here", "there", "line"), values, strict=True), name=column)
            ),
        )

    def candidates(self) -> None:
        _insert(
            Candidate,
            {
                "study_id": "%(study)s",
                "provenance_id": "%(provenance)s::bigint",
                "query_id": "q.id",
                "external_id": "a.id",
                "text": "a.text",
                "model": "a.model",
                "strategy": "a.strategy",
            },
            """import_row s JOIN queries_query q ON q.study_id = %(study)s
                   AND q.external_id = s.query AND q.replaced_at IS NULL
               CROSS JOIN unnest(s.answers, s.texts, s.models, s.strategies)
                   a (id, text, model, strategy)
               ON CONFLICT DO NOTHING""",
            {"study": self.study.pk, "provenance": self.provenance},
        )

    # Items

    def items(self) -> None:
        """Open the rows' items in the task, where the study does not have them."""
        if not (self.mapping.votes or self.mapping.wide or self.task_name):
            return
        if self.mapping.refers:
            self.complete()
        task = self.task()
        if task is None:
            return
        self.check_sizes(task)
        self.run(
            """CREATE TEMPORARY TABLE import_item AS
               SELECT s.*, coalesce(v.votes, %(overlap)s) AS overlap FROM import_row s
               JOIN (SELECT min(ctid) AS place FROM import_row WHERE item <> '' GROUP BY item) f
                   ON f.place = s.ctid
               LEFT JOIN (SELECT item, count(DISTINCT worker) AS votes FROM import_vote
                          GROUP BY item) v ON v.item = s.item
               WHERE (s.answers <> '{}' OR s.attribute <> '')
               AND NOT EXISTS (SELECT 1 FROM judging_item i
                               WHERE i.study_id = %(study)s AND i.external_id = s.item)""",
            {"overlap": task.overlap},
        )
        size = self.scalar("SELECT count(*) FROM import_item")
        if size:
            self.open(task, size)
        self.check_same()

    def complete(self) -> None:
        """Let rows that only name a question stand for its answers, where there is no such item."""
        self.run(
            """UPDATE import_row s SET answers = c.answers FROM (
                   SELECT q.external_id AS query, coalesce(c.model, '') AS model,
                          array_agg(c.external_id::text ORDER BY c.external_id) AS answers
                   FROM candidates_candidate c JOIN queries_query q ON q.id = c.query_id
                   WHERE q.study_id = %(study)s AND q.replaced_at IS NULL
                   AND c.purpose = 'answer' AND q.external_id IN (SELECT query FROM import_row)
                   GROUP BY GROUPING SETS ((q.id), (q.id, c.model))
                   HAVING grouping(c.model) = 1 OR c.model <> ''
               ) c WHERE c.query = s.query AND c.model = s.model
               AND NOT EXISTS (SELECT 1 FROM judging_item i
                               WHERE i.study_id = %(study)s AND i.external_id = s.item)"""
        )
        if not self.sizes:
            rows = self.run(
                "SELECT cardinality(answers), count(DISTINCT item) FROM import_row "
                "WHERE answers <> '{}' GROUP BY 1"
            )
            self.sizes.update(dict(rows))

    def task(self) -> TaskDefinition | None:
        """The task that the items belong to, made where there is none; None where there is no need.

        Votes on items that are all there need no task.
        """
        tasks = self.study.tasks.order_by("-version")
        if self.task_name:
            task = tasks.filter(name=self.task_name).first()
            if task and task.config.get("owner_only"):
                raise DomainError(_("In this task only a question's owner judges."), code="owner")
            if task:
                return task
        if not self.sizes and not self.mapping.has("attribute"):
            return None
        size = self.sizes.most_common(1)[0][0] if self.sizes else 0
        made = votes.task_for(self.mapping, size, self.seen)
        # Without votes requests with more or fewer answers wait for a batch, which picks some.
        if made is None or (self.mapping.listed and len(self.sizes) > 1):
            return None
        kind, config = made
        name = self.task_name or kind
        task = tasks.filter(name=name).first()
        if task:
            return task
        if not self.task_name:
            self.check_scales(kind_of(kind).questions(kind_of(kind).check_config(config)))
        TaskDefinition._meta.get_field("name").clean(name, None)
        config = kind_of(kind).check_config(config)
        self.unordered += votes.unordered(self.mapping, config)
        return TaskDefinition.objects.create(
            study=self.study, name=name, kind=kind, overlap=OVERLAP, config=config
        )

    def check_scales(self, asked: Sequence[Question]) -> None:
        """Refuse to make a task, which nobody named, for scores that another task has on its scale.

        ``asked`` are the questions that it would have.
        """
        scales = {each.name: ends for each in asked if (ends := _ends(each))}
        for task in self.study.tasks.order_by("name", "-version").distinct("name"):
            for question in kind_of(task.kind).questions(config_of_task(task)):
                own, ends = scales.get(question.name), _ends(question)
                if own and ends and own != ends:
                    words = {"task": task.name, "name": question.name}
                    words |= {"scores": "–".join(own), "scale": "–".join(ends)}
                    sentence = _(
                        "Scores of %(scores)s on “%(name)s” do not fit the task “%(task)s” of "
                        "%(scale)s: name a task for this file."
                    )
                    raise MappingError(sentence % words)

    def check_sizes(self, task: TaskDefinition) -> None:
        """Refuse rows with another number of answers than the task shows."""
        low, high = kind_of(task.kind).options_range(config_of_task(task))
        self.reject(
            f"""DELETE FROM import_row s WHERE item <> '' AND answers <> '{{}}'
                AND cardinality(answers) NOT BETWEEN {int(low)} AND {int(high)}
                RETURNING s.line, cardinality(answers)""",  # noqa: S608 - whole numbers
            lambda size: (
                _("the task shows %(n)s answers, and this row has %(size)d")
                % {"n": str(low) if low == high else f"{low}-{high}", "size": size}
            ),
        )

    def open(self, task: TaskDefinition, size: int) -> None:
        """Insert the items of ``import_item``, with their options and slots."""
        batch = Batch.objects.create(
            study=self.study, task=task, size=size, provenance_id=self.provenance
        )
        last = Item.objects.filter(study=self.study).aggregate(last=Max("position"))["last"] or 0
        values = {"study": self.study.pk, "batch": batch.pk, "last": last}
        _insert(
            Item,
            {
                "study_id": "%(study)s",
                "batch_id": "%(batch)s",
                "external_id": "s.item",
                "query_id": "q.id",
                "attribute_id": "t.id",
                "persona_version_id": """(
                    SELECT v.id FROM personas_personaversion v
                    WHERE v.persona_id = coalesce(q.persona_id, t.persona_id)
                    ORDER BY v.version DESC LIMIT 1)""",
                "position": "%(last)s + row_number() OVER (ORDER BY s.line)",
                "overlap": "s.overlap",
                "keys": "s.keys",
            },
            """import_item s
               LEFT JOIN queries_query q ON q.study_id = %(study)s AND q.external_id = s.query
                   AND q.replaced_at IS NULL
               LEFT JOIN (SELECT t.*, p.external_id AS persona FROM personas_attribute t
                          JOIN personas_persona p ON p.id = t.persona_id
                          WHERE p.study_id = %(study)s) t
                   ON t.external_id = s.attribute AND t.persona = s.persona""",
            values,
        )
        _insert(
            ItemOption,
            {"item_id": "i.id", "number": "a.number", "candidate_id": "c.id"},
            """import_item s
               JOIN judging_item i ON i.batch_id = %(batch)s AND i.external_id = s.item
               CROSS JOIN unnest(s.answers) WITH ORDINALITY a (id, number)
               JOIN candidates_candidate c ON c.study_id = %(study)s AND c.external_id = a.id""",
            values,
        )
        # Items with votes of their own wait for them: nobody may be given what a file answers.
        self.slots(
            """SELECT item FROM import_item s
               WHERE NOT EXISTS (SELECT FROM import_vote v WHERE v.item = s.item)"""
        )
        if self.study.status == Study.Status.DRAFT:
            self.study.status = Study.Status.OPEN
            self.study.save(update_fields=["status"])
        audit.record(self.by, "batch.open", batch, items=size, task=task.pk, purpose=batch.purpose)

    def slots(self, items: str, values: dict | None = None) -> None:
        """Open the slots that these items (a SELECT of ids) lack."""
        self.run(
            f"""INSERT INTO judging_slot
                       (id, study_id, item_id, ordinal, position, status, returned)
                SELECT gen_random_uuid(), i.study_id, i.id, n, i.position, 'open', false
                FROM judging_item i, generate_series(0, i.overlap - 1) n
                WHERE i.study_id = %(study)s AND i.external_id IN ({items})
                AND NOT EXISTS (SELECT FROM judging_slot t
                                WHERE t.item_id = i.id AND t.ordinal = n)""",  # noqa: S608 - ours
            values,
        )

    def keys(self) -> None:
        """Keep the keys of items that the study had; those of lines with answers as they were."""
        self.run(
            """UPDATE judging_item i SET keys = i.keys || s.keys FROM import_row s
               WHERE i.study_id = %(study)s AND i.external_id = s.item AND s.keys <> '{}'
               AND (s.answers = '{}' OR NOT i.keys ?| (SELECT array_agg(k)
                                                       FROM jsonb_object_keys(s.keys) k))"""
        )

    def check_same(self) -> None:
        """Refuse rows whose item, under this id, has other answers."""
        self.reject(
            """DELETE FROM import_row s USING (
                   SELECT i.external_id, array_agg(c.external_id::text ORDER BY c.external_id) names
                   FROM judging_item i JOIN judging_itemoption o ON o.item_id = i.id
                   JOIN candidates_candidate c ON c.id = o.candidate_id
                   WHERE i.study_id = %(study)s AND i.external_id IN (
                       SELECT item FROM import_row r
                       WHERE NOT EXISTS (SELECT 1 FROM import_item n WHERE n.line = r.line))
                   GROUP BY i.id
               ) i
               WHERE i.external_id = s.item AND s.answers <> '{}'
               AND NOT EXISTS (SELECT 1 FROM import_item n WHERE n.line = s.line)
               AND (SELECT array_agg(a ORDER BY a) FROM unnest(s.answers) a) <> i.names
               RETURNING s.line, s.item""",
            lambda name: _("the study has another item “%s”: give this one its own id") % name[:80],
        )

    # Statements

    def check(self, share: float | None = None) -> None:
        """Tell how much has been read, and which share of it is stored."""
        if share is not None:
            self.stored = int(self.read * share)
        self.progress.tell(self.read, self.stored)

    def joined_by_loops(self, allowed: bool) -> None:
        """Whether joins may be nested loops, until the transaction ends."""
        self.run(f"SET LOCAL enable_nestloop = {'on' if allowed else 'off'}")

    def run(self, statement: str, values: dict | None = None) -> list[tuple]:
        self.check()
        return _execute(statement, {"study": self.study.pk} | (values or {}))

    def scalar(self, statement: str, values: dict | None = None) -> int:
        return self.run(statement, values)[0][0]

    def count(self, column: str) -> int:
        return self.scalar(
            f"SELECT count(DISTINCT {column}) FROM import_row WHERE {column} <> ''"  # noqa: S608
        )

    def reject(self, statement: str, words: Callable) -> None:
        """Run a DELETE that returns lines and names; each is a fault, and so are its votes."""
        rows = self.run(statement)
        for line, name in rows:
            self.faults.add(line, words(name))
        if rows:
            lines = [line for line, _name in rows]
            _execute("DELETE FROM import_vote WHERE line = ANY(%s)", [lines])


def _ends(question: Question) -> tuple[str, str] | None:
    """The lowest and highest score that a question takes; None where it asks for none."""
    scores = (question.NUMBERS or question.TYPED) and not question.COMPARES
    labels = question.labels(0) if scores else []
    return (labels[0], labels[-1]) if labels else None


def _staged(line: int, row: Row) -> list:
    answers = {"answers": "id", "texts": "text", "models": "model", "strategies": "strategy"}
    values: dict = {**vars(row), "line": line}
    values["profile"] = None if row.profile is None else Json(row.profile)
    values |= {"messages": Jsonb(row.messages), "keys": Jsonb(row.keys)}
    for column, name in answers.items():
        values[column] = votes.array_of(getattr(answer, name) for answer in row.answers)
    return [values[name] for name in _COLUMNS]


def _execute(statement: str, values: dict | list | None = None) -> list[tuple]:
    """Run a statement; the rows that it returns."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall() if cursor.description else []


def _copy(table: str, columns: Sequence[str], rows: Iterable[Sequence]) -> None:
    into = f"COPY {table} ({', '.join(columns)}) FROM STDIN"
    with connection.cursor() as cursor, cursor.copy(into) as copy:
        for row in rows:
            copy.write_row(row)


def _insert(model: type[models.Model], chosen: dict[str, str], source: str, values: dict) -> None:
    """INSERT … SELECT rows of ``model`` from ``source``: ``chosen`` expressions, defaults else."""
    expressions, values = dict(chosen), dict(values)
    for column in model._meta.concrete_fields:
        name = column.column
        if name is None or name in chosen or isinstance(column, models.AutoField):
            continue
        if getattr(column, "auto_now_add", False):
            expressions[name] = "now()"
        elif isinstance(column, models.UUIDField) and column.primary_key:
            expressions[name] = "gen_random_uuid()"
        else:
            default = column.get_default()
            values[f"default_{name}"] = column.get_db_prep_save(default, connection)
            expressions[name] = f"%(default_{name})s"
    names = ", ".join(connection.ops.quote_name(name) for name in expressions)
    _execute(
        f"""INSERT INTO {model._meta.db_table} ({names})
            SELECT {", ".join(expressions.values())} FROM {source}""",  # noqa: S608 - constants
        values,
    )
