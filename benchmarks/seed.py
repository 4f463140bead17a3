"""Fills a running installation: `python -m benchmarks.seed --items N …` prints what was made.

The first row of each table is made by the application's own models; SQL then copies it, because
hundreds of thousands of rows through the ORM would take minutes. `--items-judged M` stores a
judgment of each person for the first M items, too: every counter equals its rows; constraints and
indexes of the tables with a row for each judgment are dropped before and made again after.
"""

import argparse
import contextlib
import itertools
import json
import math
import os
import random
import sys
from collections.abc import Iterator

SLUG = "bench"
TASK = "better"
WORDS = (
    "quiet morning river market bread window garden slow train letter evening kitchen walk lamp "
    "paper street harbour winter music habit plan budget season answer reason library bicycle"
)
PROFILE = {
    "Name": "Mina Park",
    "Demographics": {"Age": 31, "Language": ["English", "Korean"], "Career_Information": "baker"},
    "Personality": {"Thinking_or_Feeling": "T", "Values_and_Interests": ["quiet", "maps", "bread"]},
    "Preference": {
        "Local_Life": {
            "Food_Drinks": "rye toast and barley tea",
            "Daily_Outings": "the river path",
        },
        "Travel": {"Leisure_Travel": "night trains, one small bag, towns with a harbour"},
        "Content_Interests": ["railway history", "sleep research", "open-water swimming"],
    },
}
# A copy of row `t` with other values in some columns; `t` is the table's first row.
COPY = (
    "INSERT INTO {table} SELECT r.* FROM {table} t, {rows}, "
    "jsonb_populate_record(t, jsonb_build_object({values})) r WHERE t.{key} = %(template)s {where}"
)
# Ids follow from names: answer k of query q is md5('ck-q'), item n is md5('in').
QUERIES = {
    "rows": "generate_series(1, %(queries)s) q",
    "values": """'id', nextval(pg_get_serial_sequence('queries_query', 'id')),
        'external_id', q::text,
        'text', 'Question ' || q || ': how shall I spend a quiet morning in a new town?'""",
    "where": "",
}
ANSWERS = {
    "rows": """queries_query y, generate_series(1, %(answers)s) k,
        (SELECT %(texts)s::text[] AS texts) x""",
    "values": """'id', md5('c' || k || '-' || y.external_id)::uuid, 'query_id', y.id,
        'external_id', y.external_id || '-' || k,
        'text', 'Answer ' || k || ' to question ' || y.external_id ||
                texts[1 + (y.id * 7 + k) %% cardinality(texts)]""",
    "where": "AND y.study_id = %(study)s AND y.external_id <> 'template'",
}
ITEMS = {
    "rows": "generate_series(1, %(items)s) n, queries_query y",
    "values": """'id', md5('i' || n)::uuid, 'external_id', n::text, 'position', n,
        'query_id', y.id""",
    "where": "AND y.study_id = %(study)s AND y.external_id = (1 + (n - 1) %% %(queries)s)::text",
}
OPTIONS = """
    INSERT INTO judging_itemoption (item_id, number, candidate_id)
    SELECT i.id, o.number,
           md5('c' || o.place[1 + (i.position - 1) / %(queries)s] || '-' || y.external_id)::uuid
    FROM judging_item i JOIN queries_query y ON y.id = i.query_id,
         (VALUES (1, %(left)s::int[]), (2, %(right)s::int[])) o (number, place)
    WHERE i.study_id = %(study)s AND i.external_id <> 'template'"""

# Keeps a worker from `recompute` as long as the connection lasts: it would read half of a study,
# without indexes.
LOCK = """
    SELECT pg_advisory_lock(hashtextextended(format('recompute %%s %%s', id, %s::text), 0))
    FROM studies_study"""
FILLED = ("judging_slot", "judging_judgment", "judging_answer")
# Those that refer to a table, or to which it refers, foreign keys first; checks cost little.
CONSTRAINTS = """
    SELECT conrelid::regclass::text, quote_ident(conname), pg_get_constraintdef(oid)
    FROM pg_constraint
    WHERE contype IN ('f', 'p', 'u') AND (conrelid = ANY(%(tables)s::regclass[])
                                          OR confrelid = ANY(%(tables)s::regclass[]))
    ORDER BY contype <> 'f', conname"""
INDEXES = """
    SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index
    WHERE indrelid = ANY(%(tables)s::regclass[])"""

# Person number n (from 0) judges the slot with the ordinal n.
SLOTS = """
    UPDATE judging_slot s
    SET status = 'done', annotator_id = (%(people)s::bigint[])[1 + s.ordinal],
        claimed_at = now() - interval '1 minute'
    FROM judging_item i
    WHERE i.id = s.item_id AND s.study_id = %(study)s AND i.position <= %(judged)s
      AND s.ordinal < cardinality(%(people)s::bigint[])"""
JUDGMENTS = """
    INSERT INTO judging_judgment (slot_id, annotator_id, revision, key, digest, shown, reason,
                                  flags, chips, marks, circumstances, seconds, submitted_at,
                                  imported, dated)
    SELECT s.id, s.annotator_id, 1, 'made-' || s.id, md5(s.id::text), '[1, 2]', '',
           '[]', '[]', '[]', '{}', 5 + s.position %% 40,
           now() - CASE WHEN s.position <= %(earlier)s THEN interval '7 days' ELSE '0' END, false,
           true
    FROM judging_slot s WHERE s.study_id = %(study)s AND s.status = 'done' ORDER BY s.position"""
# Two of three people agree; which answer most of them choose differs from item to item.
VOTES = """
    INSERT INTO judging_answer (judgment_id, question, label, text, chips)
    SELECT j.id, 'choice', 1 + (i.position + (s.ordinal %% 3 = 0)::int) %% 2, '', '[]'
    FROM judging_judgment j JOIN judging_slot s ON s.id = j.slot_id
    JOIN judging_item i ON i.id = s.item_id
    WHERE s.study_id = %(study)s"""
COUNTS = """
    UPDATE judging_item i SET done = v.n,
           counts = jsonb_build_object('1', v.first, '2', v.n - v.first), last_judgment = v.last
    FROM (SELECT s.item_id, count(*) AS n, count(*) FILTER (WHERE v.label = '1') AS first,
                 max(j.id) AS last
          FROM judging_answer v JOIN judging_judgment j ON j.id = v.judgment_id
          JOIN judging_slot s ON s.id = j.slot_id
          WHERE s.study_id = %(study)s GROUP BY 1) v
    WHERE i.id = v.item_id"""
DESKS = """
    INSERT INTO judging_participation (study_id, annotator_id, cursor, done, toured, stop_reason)
    SELECT study_id, annotator_id, max(position), count(*), '["better"]', ''
    FROM judging_slot WHERE study_id = %(study)s AND status = 'done' GROUP BY 1, 2"""


def setup_django() -> None:
    """Set Django up here, with the settings of the parts of ``stack``."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.settings"
    import django

    django.setup()


def seed(items: int, *, overlap: int, people: int, queries: int = 0, length: int = 2_100) -> dict:
    """Open `items` pairs for judging; {"slug", "people"}, people with "email", "token" and
    "cookies", those of a session in which they are signed in.

    They compare the answers to `queries` questions (0: one question each), which have as many as
    that takes; the pairs of one question lie far apart, so that no text is met again soon. `length`
    is that of an answer in characters.
    """
    from django.db import connection, transaction

    from annotation.judging.batches.open import insert_slots

    study, task = _study(overlap)
    with transaction.atomic(), connection.cursor() as cursor:
        batch = _copies(cursor, study, task, items, queries or items, texts_of_length(length))
        insert_slots(batch)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE)")
    return {"slug": SLUG, "people": [_person(study, number) for number in range(people)]}


def _study(overlap: int):
    from annotation.accounts import consent
    from annotation.judging.kinds import kind_of
    from annotation.studies.models import Study, TaskDefinition

    text = consent.publish(SLUG, "I take part in a measurement.")
    study = Study.objects.create(slug=SLUG, title="Bench", consent_text=text, status="open")
    task = TaskDefinition.objects.create(
        study=study,
        name=TASK,
        kind="selection",
        overlap=overlap,
        config=kind_of("selection").check_config({"options": 2, "reason": "optional"}),
    )
    return study, task


def _templates(study, task, size: int) -> tuple:
    """The first query, answer and item; the item names the batch and what else all items share."""
    from annotation.candidates.models import Candidate
    from annotation.judging.models import Batch, Item
    from annotation.personas.models import Persona, PersonaVersion
    from annotation.queries.models import Query

    name = {"study": study, "external_id": "template"}
    persona = Persona.objects.create(study=study, external_id="p1")
    version = PersonaVersion.objects.create(persona=persona, profile=PROFILE)
    query = Query.objects.create(**name, persona=persona, text="What?")
    answer = Candidate.objects.create(**name, query=query, text="That.")
    item = Item.objects.create(
        **name,
        batch=Batch.objects.create(study=study, task=task, size=size),
        query=query,
        persona_version=version,
        position=0,
        overlap=task.overlap,
    )
    return query, answer, item


def _copies(cursor, study, task, items: int, queries: int, texts: list[str]):
    """Queries, answers, items and options in numbers; the items' batch."""
    query, answer, item = _templates(study, task, items)
    answers = 2
    while math.comb(answers, 2) * queries < items:
        answers += 1
    places = list(itertools.combinations(range(1, answers + 1), 2))
    values = {
        "study": study.pk,
        "queries": queries,
        "items": items,
        "answers": answers,
        "texts": texts,
        "left": [left for left, _ in places],
        "right": [right for _, right in places],
    }
    for template, parts in ((query, QUERIES), (answer, ANSWERS), (item, ITEMS)):
        names = {"table": template._meta.db_table, "key": template._meta.pk.column}
        cursor.execute(COPY.format(**names, **parts), values | {"template": template.pk})
    cursor.execute(OPTIONS, values)
    for template in (item, answer, query):
        template.delete()
    return item.batch


def texts_of_length(length: int) -> list[str]:
    """Markdown of about `length` characters, 64 different ones, as models write it."""
    rng, every = random.Random(1), WORDS.split()

    def words(count):
        return " ".join(rng.choices(every, k=count)).capitalize()

    def block():
        return (
            f"\n\n## {words(3)}\n\n{words(25)}. **{words(2)}** {words(12)}, *{words(3)}*.\n\n"
            f"- {words(6)}: `{words(1)}`\n- {words(7)}\n- [{words(2)}](https://example.org/a)\n\n"
            f"1. {words(5)}\n2. {words(6)}\n"
        )

    texts = []
    for _ in range(64):
        text = ""
        while len(text) < length:
            text += block()
        texts.append(text[:length])
    return texts


def _person(study, number: int) -> dict:
    from django.test import Client

    from annotation.accounts import consent
    from annotation.accounts.models import ApiToken, User
    from annotation.studies.models import Membership

    user = User.objects.create_user(f"annotator{number}@bench.example.org", None)
    Membership.objects.create(study=study, user=user, role="annotator")
    consent.grant(user, study.consent_text)
    signed_in = Client()
    signed_in.force_login(user)
    (cookie,) = signed_in.cookies.values()
    return {
        "email": user.email,
        "token": ApiToken.issue(user)[1],
        "cookies": {cookie.key: cookie.value},
    }


def judge(
    study_id: int, people: list[int], judged: int, *, earlier: int = 0, analyze: bool = True
) -> None:
    """Store the judgments of `people` (ids, one an ordinal) for the first `judged` items.

    Those of the first `earlier` items are a week old. Without `analyze` PostgreSQL's statistics
    stay those of before.
    """
    from django.db import connection

    values = {"study": study_id, "people": people, "judged": judged, "earlier": earlier}
    with connection.cursor() as cursor:
        for statement in (SLOTS, JUDGMENTS, VOTES, COUNTS, DESKS):
            cursor.execute(statement, values)
            if analyze:
                cursor.execute("ANALYZE")


@contextlib.contextmanager
def loosened(tables: tuple[str, ...]) -> Iterator[None]:
    """Let `tables` be filled without their indexes and keys, which are made again at the end."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SET work_mem = '256MB'")
        cursor.execute("SET maintenance_work_mem = '512MB'")
        cursor.execute(CONSTRAINTS, {"tables": list(tables)})
        constraints = cursor.fetchall()
        for table, name, _definition in constraints:
            cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
        cursor.execute(INDEXES, {"tables": list(tables)})
        indexes = cursor.fetchall()
        for name, _definition in indexes:
            cursor.execute(f"DROP INDEX {name}")
        yield
        for _name, definition in indexes:
            cursor.execute(definition)
        # A foreign key needs the primary key to which it refers.
        for table, name, definition in reversed(constraints):
            cursor.execute(f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}")
        cursor.execute("VACUUM (ANALYZE)")


def _main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.seed", description=__doc__)
    parser.add_argument("--items", type=int, required=True)
    parser.add_argument("--overlap", type=int, default=9)
    parser.add_argument("--people", type=int, help="as many as judgments an item")
    parser.add_argument("--items-judged", type=int, default=0)
    parser.add_argument("--queries", type=int, default=0, help="0: one an item")
    parser.add_argument("--length", type=int, default=2_100)
    arguments = vars(parser.parse_args())
    arguments["people"] = arguments["people"] or arguments["overlap"]
    judged = arguments.pop("items_judged")
    setup_django()
    from django.db import connection

    from annotation.studies.models import Membership

    with loosened(FILLED) if judged else contextlib.nullcontext():
        made = seed(arguments.pop("items"), **arguments)
        if judged:
            people = Membership.objects.filter(study__slug=SLUG).order_by("user")
            studies, users = zip(*people.values_list("study", "user"), strict=True)
            connection.cursor().execute(LOCK, [TASK])
            judge(studies[0], list(users), judged)
    json.dump(made, sys.stdout)


if __name__ == "__main__":
    _main()
