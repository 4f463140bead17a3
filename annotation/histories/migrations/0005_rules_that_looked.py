from django.conf import settings
from django.db import migrations, models

# What was looked through so far was by rules of no number; a session of a published benchmark
# (provider "release") was redacted by whoever published it.
NUMBERED = """
    UPDATE histories_session SET rules = 0
    WHERE marked_at IS NOT NULL AND provider <> 'release'"""


class Migration(migrations.Migration):
    dependencies = [
        ("histories", "0004_names_and_opened"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="mark",
            name="is_late",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="session",
            name="rules",
            field=models.PositiveSmallIntegerField(null=True),
        ),
        migrations.RunSQL(NUMBERED, migrations.RunSQL.noop, elidable=True),
        migrations.AddIndex(
            model_name="mark",
            index=models.Index(
                condition=models.Q(("is_late", True)), fields=["session"], name="mark_late"
            ),
        ),
        migrations.AddIndex(
            model_name="session",
            index=models.Index(fields=["rules"], name="session_rules"),
        ),
        migrations.AddConstraint(
            model_name="mark",
            constraint=models.CheckConstraint(
                condition=models.Q(("is_late", False), ("state", "suggested"), _connector="OR"),
                name="late_is_undecided",
            ),
        ),
    ]
