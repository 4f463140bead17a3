"""One table for what all kinds of judgments have in common; Selection keeps the rest."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

MOVE = """
INSERT INTO judging_judgment (id, slot_id, annotator_id, revision, key, digest, shown, reason,
                              flags, chips, marks, circumstances, seconds, submitted_at, imported)
SELECT id, slot_id, annotator_id, 1, key, digest, shown, reason,
       flags, '[]', '[]', '{}', seconds, submitted_at, imported
FROM judging_selection;
SELECT setval(pg_get_serial_sequence('judging_judgment', 'id'),
              (SELECT COALESCE(max(id), 0) + 1 FROM judging_judgment), false);
ALTER TABLE judging_selection ALTER COLUMN id DROP IDENTITY;
ALTER TABLE judging_selection RENAME COLUMN id TO judgment_ptr_id;
ALTER TABLE judging_selection
    DROP COLUMN slot_id, DROP COLUMN annotator_id, DROP COLUMN key, DROP COLUMN digest,
    DROP COLUMN shown, DROP COLUMN reason, DROP COLUMN flags, DROP COLUMN seconds,
    DROP COLUMN submitted_at, DROP COLUMN imported,
    ADD COLUMN strength varchar(8) NOT NULL DEFAULT '',
    ADD CONSTRAINT judging_selection_judgment FOREIGN KEY (judgment_ptr_id)
        REFERENCES judging_judgment (id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE judging_selection ALTER COLUMN strength DROP DEFAULT;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("judging", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Judgment",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("revision", models.PositiveSmallIntegerField(default=1)),
                ("key", models.CharField(max_length=200)),
                ("digest", models.CharField(max_length=64)),
                ("shown", models.JSONField(default=list)),
                ("reason", models.TextField(blank=True)),
                ("flags", models.JSONField(default=list)),
                ("chips", models.JSONField(default=list)),
                ("marks", models.JSONField(default=list)),
                ("circumstances", models.JSONField(default=dict)),
                ("seconds", models.FloatField(null=True)),
                ("submitted_at", models.DateTimeField()),
                ("imported", models.BooleanField(default=False)),
                (
                    "annotator",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="judgments",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "replaces",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="replaced_by",
                        to="judging.judgment",
                    ),
                ),
                (
                    "slot",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="judgments",
                        to="judging.slot",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("slot", "revision"), name="one_judgment_a_slot"
                    ),
                    models.UniqueConstraint(fields=("annotator", "key"), name="one_judgment_a_key"),
                ],
            },
        ),
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(MOVE)],
            state_operations=[
                migrations.DeleteModel("Selection"),
                migrations.CreateModel(
                    name="Selection",
                    fields=[
                        (
                            "judgment_ptr",
                            models.OneToOneField(
                                auto_created=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                parent_link=True,
                                primary_key=True,
                                serialize=False,
                                to="judging.judgment",
                            ),
                        ),
                        (
                            "outcome",
                            models.CharField(
                                choices=[("choice", "Choice"), ("tie", "Tie"), ("none", "None")],
                                max_length=6,
                            ),
                        ),
                        (
                            "choice",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="selections",
                                to="judging.itemoption",
                            ),
                        ),
                        (
                            "strength",
                            models.CharField(
                                blank=True,
                                choices=[
                                    ("slightly", "slightly"),
                                    ("clearly", "clearly"),
                                    ("much", "much"),
                                ],
                                max_length=8,
                            ),
                        ),
                    ],
                    options={
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(("choice__isnull", False), ("outcome", "choice")),
                                    models.Q(
                                        models.Q(("outcome", "choice"), _negated=True),
                                        ("choice", None),
                                    ),
                                    _connector="OR",
                                ),
                                name="selection_choice",
                            )
                        ],
                    },
                    bases=("judging.judgment",),
                ),
            ],
        ),
    ]
