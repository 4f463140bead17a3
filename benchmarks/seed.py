"""Fills a running installation: `python -m benchmarks.seed --items N …` prints what was made.

The first row of each table is made by the application's own models; SQL then copies it, because
hundreds of thousands of rows through the ORM would take minutes.
"""

import argparse
import itertools
import json
import math
import random
import secrets
import sys

from benchmarks.figures import setup_django

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


def seed(items: int, *, overlap: int, people: int, queries: int = 0, length: int = 2_100) -> dict:
    """Open `items` pairs for judging; {"slug", "people"}, people with "email", "password", "token"
    and "cookies", those of a session in which they are signed in.

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

    email, password = f"annotator{number}@bench.example.org", secrets.token_urlsafe(12)
    user = User.objects.create_user(email, password)
    Membership.objects.create(study=study, user=user, role="annotator")
    consent.grant(user, study.consent_text)
    signed_in = Client()
    signed_in.force_login(user)
    (cookie,) = signed_in.cookies.values()
    return {
        "email": email,
        "password": password,
        "token": ApiToken.issue(user)[1],
        "cookies": {cookie.key: cookie.value},
    }


def _main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.seed", description=__doc__)
    parser.add_argument("--items", type=int, required=True)
    parser.add_argument("--overlap", type=int, required=True)
    parser.add_argument("--people", type=int, required=True)
    parser.add_argument("--queries", type=int, default=0)
    parser.add_argument("--length", type=int, default=2_100)
    arguments = vars(parser.parse_args())
    setup_django()
    json.dump(seed(arguments.pop("items"), **arguments), sys.stdout)


if __name__ == "__main__":
    _main()
