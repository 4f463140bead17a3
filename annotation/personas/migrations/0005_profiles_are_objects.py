from django.db import migrations


class Migration(migrations.Migration):
    """Imports of tables stored profiles as JSON texts of themselves."""

    dependencies = [("personas", "0004_conversations")]

    operations = [
        migrations.RunSQL(
            "UPDATE personas_personaversion SET profile = (profile #>> '{}')::jsonb "
            "WHERE jsonb_typeof(profile) = 'string'",
            migrations.RunSQL.noop,
            elidable=True,
        )
    ]
