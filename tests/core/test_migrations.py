"""Migrations that run while the web servers of the version before still serve.

A row of theirs names the columns that they know: what comes must be empty or have a default of the
database's, and what they read must stay for one version. An index on a table that every judgment
writes is made without keeping judgments waiting.
"""

import re

import pytest
from django.contrib.postgres.operations import AddConstraintNotValid, AddIndexConcurrently
from django.db import connection, migrations, models
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.models.fields import NOT_PROVIDED

# The newest migration of each app that 0.2.0 begins with: its upgrade stops the web servers.
BEFORE = {
    "accounts": "0004_reads",
    "agreement": "0004_early_stop",
    "api": "0001_initial",
    "candidates": "0011_upcoming_indexes",
    "core": "0004_installation",
    "datasets": "0005_imported_releases",
    "evaluation": "0004_raters",
    "histories": "0005_rules_that_looked",
    "imports": "0002_open_items",
    "judging": "0013_walks_in_steps",
    "personas": "0006_pairs_and_fixed_sides",
    "queries": "0004_grounds",
    "studies": "0004_breaks_and_languages",
    "webhooks": "0001_initial",
}
# Written by every judgment.
HOT = {"slot", "item", "desk", "draft", "judgment", "selection", "auditevent"}
GONE = (
    migrations.RemoveField,
    migrations.DeleteModel,
    migrations.RenameField,
    migrations.RenameModel,
)
LOCKS = (migrations.AddIndex, migrations.AddConstraint)
PATIENT = (AddIndexConcurrently, AddConstraintNotValid)


def later() -> list:
    """((app, name), migration) of ours after those of BEFORE."""
    ours = MigrationLoader(None).disk_migrations.items()
    return [
        (key, migration)
        for key, migration in sorted(ours)
        if migration.__module__.startswith("annotation.") and key[1] > BEFORE.get(key[0], "")
    ]


def faults(migration) -> list[str]:
    """What of a migration does not go together with the web servers of the version before."""
    created = [op for op in migration.operations if isinstance(op, migrations.CreateModel)]
    made = {op.name.lower() for op in created}
    wrong = []
    for op in migration.operations:
        model = getattr(op, "model_name", getattr(op, "name", "")).lower()
        if model in made:
            continue
        if isinstance(op, migrations.AddField) and not fills_itself(op.field):
            wrong.append(f"{model}.{op.name} is neither null nor has a db_default")
        if isinstance(op, GONE):
            wrong.append(f"{op.describe()}: the version before still reads it")
        if isinstance(op, LOCKS) and not isinstance(op, PATIENT) and model in HOT:
            wrong.append(f"{op.describe()}: locks a table that judgments write")
    return wrong


def fills_itself(field) -> bool:
    return field.null or field.many_to_many or field.db_default is not NOT_PROVIDED


def test_new_migrations_go_together_with_the_web_servers_of_the_version_before():
    wrong = {key: faults(migration) for key, migration in later()}
    assert {key: found for key, found in wrong.items() if found} == {}


def test_the_list_names_migrations_that_there_are():
    names = set(MigrationLoader(None).disk_migrations)
    assert set(BEFORE.items()) - names == set()


TEXT = models.TextField(default="")
INDEX = models.Index(fields=["position"], name="n")


@pytest.mark.parametrize(
    ("operation", "count"),
    [
        (migrations.AddField("slot", "note", TEXT), 1),
        (migrations.AddField("slot", "note", models.TextField(null=True)), 0),
        (migrations.AddField("slot", "note", models.TextField(db_default="")), 0),
        (migrations.RemoveField("slot", "position"), 1),
        (migrations.RenameField("slot", "position", "place"), 1),
        (migrations.DeleteModel("Slot"), 1),
        (migrations.AddIndex("slot", INDEX), 1),
        (AddIndexConcurrently("slot", INDEX), 0),
        (migrations.AddIndex("study", INDEX), 0),
    ],
    ids=str,
)
def test_the_check_tells_what_old_web_servers_cannot_live_with(operation, count):
    migration = migrations.Migration("0099_new", "judging")
    migration.operations = [operation]
    assert len(faults(migration)) == count
    # A table of the same migration is known to nobody yet.
    new = migrations.CreateModel("Slot", fields=[]), migrations.CreateModel("Study", fields=[])
    migration.operations = [*new, operation]
    assert faults(migration) == []


# --- Squashed migrations ----------------------------------------------------------------------

SQUASHED = {
    key: migration
    for key, migration in MigrationLoader(None).disk_migrations.items()
    if migration.__module__.startswith("annotation.") and migration.replaces
}
# What is to be reached with squashed migrations, and without them.
ENDS = {True: list(SQUASHED), False: [each.replaces[-1] for each in SQUASHED.values()]}


def test_a_squashed_migration_replaces_all_up_to_the_one_in_its_name():
    names = sorted(set(MigrationLoader(None).disk_migrations) - set(SQUASHED))
    for (app, name), migration in SQUASHED.items():
        last = name.removeprefix("0001_squashed_")
        assert migration.replaces == [key for key in names if key[0] == app and key[1] <= last]
    assert {"studies", "candidates", "judging"} < {app for app, _ in SQUASHED}


def test_squashed_migrations_end_in_the_models_of_those_that_they_replace():
    loaders = {replace: MigrationLoader(None, replace_migrations=replace) for replace in ENDS}
    squashed, plain = (
        loader.graph.make_state(tuple(ENDS[replace])) for replace, loader in loaders.items()
    )
    assert len(plain.models) > 80
    assert MigrationAutodetector(plain, squashed).changes(loaders[True].graph) == {}
    assert MigrationAutodetector(squashed, plain).changes(loaders[True].graph) == {}


@pytest.mark.django_db
def test_a_database_that_ran_some_of_the_replaced_migrations_goes_on_with_the_next():
    graph = MigrationLoader(None, replace_migrations=False).graph
    lacking = {("candidates", "0012_calls_of_rows"), ("judging", "0014_retests")}
    squashes = {key for key in SQUASHED if key[0] in dict(lacking)}
    # With what depends on these, by either name.
    later = {each for key in lacking | squashes for each in graph.backwards_plan(key)}
    recorder = MigrationRecorder(connection)
    for app, name in later | set(SQUASHED):
        recorder.record_unapplied(app, name)
    executor = MigrationExecutor(connection)
    executor.loader.check_consistent_history(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    assert {(migration.app_label, migration.name) for migration, _ in plan} == later - set(SQUASHED)


CATALOGUE = (
    "SELECT table_name, column_name, data_type, character_maximum_length, is_nullable, "
    "column_default, is_identity FROM information_schema.columns WHERE table_schema = 'public'",
    "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
    "SELECT conrelid::regclass::text, contype, pg_get_constraintdef(oid) FROM pg_constraint "
    "WHERE connamespace = 'public'::regnamespace",
    "SELECT tgrelid::regclass::text, tgname, pg_get_triggerdef(oid) FROM pg_trigger "
    "WHERE NOT tgisinternal",
    "SELECT proname, prosrc FROM pg_proc JOIN pg_language l ON l.oid = prolang "
    "WHERE lanname = 'plpgsql'",
    "SELECT extname FROM pg_extension",
)
CASTS = re.compile(r"::(text|character varying|\(\w+\))(\[\])?|[()]")


def catalogue(cursor) -> list[set]:
    """What a database holds besides rows; casts, which PostgreSQL writes in two ways, left out."""
    rows = [cursor.execute(query).fetchall() for query in CATALOGUE]
    return [
        {tuple(CASTS.sub("", x) if isinstance(x, str) else x for x in row) for row in each}
        for each in rows
    ]


def migrated(replace: bool) -> list[set]:
    """The catalogue of a new database after our migrations; Django uses it meanwhile."""
    before = connection.settings_dict["NAME"]
    name = f"{before}_new"
    with connection._nodb_cursor() as cursor:
        cursor.execute(f'CREATE DATABASE "{name}"')
    connection.close()
    connection.settings_dict["NAME"] = name
    try:
        executor = MigrationExecutor(connection)
        executor.loader = MigrationLoader(connection, replace_migrations=replace)
        executor.migrate(ENDS[replace])
        with connection.cursor() as cursor:
            return catalogue(cursor)
    finally:
        connection.close()
        connection.settings_dict["NAME"] = before
        with connection._nodb_cursor() as cursor:
            cursor.execute(f'DROP DATABASE "{name}"')


@pytest.mark.proof
@pytest.mark.django_db(transaction=True)
def test_squashed_migrations_leave_the_schema_of_those_that_they_replace():
    squashed, plain = migrated(True), migrated(False)
    assert len(plain[0]) > 700
    assert squashed == plain
