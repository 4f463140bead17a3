"""Squashed migrations that make an app's tables at once, in their final form.

Django renders all related models anew after each operation of a migration. On a new database, a
hundred migrations took most of the first start for tables that were changed before they had a row.
"""

from importlib import import_module
from pathlib import Path

from django.contrib.postgres.operations import CreateExtension
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations import Migration, RunSQL
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState


class CreateTables(Operation):
    """Create the tables of an app as `operations`, its whole history, leave them.

    Fields:
        operations: all operations of the migrations that are replaced, in their order. They change
            the state only; what they would run in the database, `squash` takes over.
    """

    reversible = False

    def __init__(self, operations: list[Operation]) -> None:
        self.operations = operations

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        state.__dict__.pop("apps", None)  # rendered once afterwards instead of by each operation
        for operation in self.operations:
            operation.state_forwards(app_label, state)

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        for model in to_state.apps.get_app_config(app_label).get_models():
            if self.allow_migrate_model(schema_editor.connection.alias, model):
                schema_editor.create_model(model)

    def describe(self) -> str:
        return "Create the tables in their final form"


def squash(package: str, last: str) -> type[Migration]:
    """Return the migration that replaces those of `package` (annotation.APP.migrations) to `last`.

    Statements of RunSQL run after the tables were made, unless they are elidable: those that only
    change rows, of which a new database has none. A database in which some of the replaced
    migrations ran goes on with those.
    """
    label = package.split(".")[-2]
    folder = Path(import_module(package).__path__[0])
    names = sorted(
        path.stem
        for path in folder.glob("[0-9]*.py")
        if path.stem <= last and "_squashed_" not in path.stem
    )
    replaced = [import_module(f"{package}.{name}").Migration for name in names]
    operations = [operation for migration in replaced for operation in migration.operations]
    extensions = [each for each in operations if isinstance(each, CreateExtension)]
    statements = [each for each in operations if type(each) is RunSQL and not each.elidable]
    foreign = {
        tuple(each): each
        for migration in replaced
        for each in migration.dependencies
        if each[0] != label
    }
    members = {
        "__module__": f"{package}.0001_squashed_{last}",
        "initial": True,
        "replaces": [(label, name) for name in names],
        "dependencies": list(foreign.values()),
        "operations": [*extensions, CreateTables(operations), *statements],
    }
    return type("Migration", (Migration,), members)
