"""Migrations that run while the web servers of the version before still serve.

A row of theirs names the columns that they know: what comes must be empty or have a default of the
database's, and what they read must stay for one version. An index on a table that every judgment
writes is made without keeping judgments waiting.
"""

import pytest
from django.contrib.postgres.operations import AddConstraintNotValid, AddIndexConcurrently
from django.db import migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.models.fields import NOT_PROVIDED

# The newest migration of each app that 1.0.0 begins with.
BEFORE = dict.fromkeys(
    (
        *("accounts", "agreement", "api", "candidates", "core", "datasets", "evaluation"),
        *("histories", "imports", "judging", "personas", "queries", "studies", "webhooks"),
    ),
    "0001_initial",
) | {"accounts": "0002_initial"}
# Written by every judgment.
HOT = {"slot", "item", "desk", "draft", "judgment", "answer", "auditevent"}
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
