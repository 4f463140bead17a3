from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def look(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Let a worker read the beginning of the files that wait for their mapping."""
    rows = apps.get_model("imports", "DataImport").objects.filter(status="waiting")
    rows.update(status="requested", mapping=None)


class Migration(migrations.Migration):
    dependencies = [("imports", "0002_open_items")]

    operations = [
        migrations.AddField("dataimport", "sample", models.TextField(blank=True, default="")),
        migrations.AlterField("dataimport", "sample", models.TextField(blank=True)),
        migrations.RunPython(look, migrations.RunPython.noop),
    ]
