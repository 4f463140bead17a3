import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

# A copy for one person used to have a place below zero: -(desk's id) * 2^20 - its number.
FORWARDS = """
    UPDATE judging_slot s SET position = source.position
    FROM judging_item copy JOIN judging_item source ON source.id = copy.repeats_id
    WHERE copy.id = s.item_id AND copy.position < 0;
    UPDATE judging_item copy SET made_for_id = d.annotator_id, position = NULL
    FROM judging_desk d WHERE copy.position < 0 AND d.id = -copy.position / 1048576;
    SET CONSTRAINTS ALL IMMEDIATE;
    SET CONSTRAINTS ALL DEFERRED;
"""
BACKWARDS = """
    UPDATE judging_item i SET position = -d.id * 1048576 - copy.n, made_for_id = NULL
    FROM judging_desk d,
         (SELECT id, row_number() OVER (PARTITION BY study_id, made_for_id
                                        ORDER BY retired_at, id) - 1 AS n
          FROM judging_item WHERE made_for_id IS NOT NULL) copy
    WHERE copy.id = i.id AND d.study_id = i.study_id AND d.annotator_id = i.made_for_id;
    UPDATE judging_slot s SET position = i.position
    FROM judging_item i WHERE i.id = s.item_id AND i.position < 0;
    SET CONSTRAINTS ALL IMMEDIATE;
    SET CONSTRAINTS ALL DEFERRED;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("judging", "0008_ranking"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="item",
            name="made_for",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AlterField(
            model_name="item",
            name="position",
            field=models.BigIntegerField(null=True),
        ),
        migrations.RunSQL(FORWARDS, BACKWARDS, elidable=True),
        migrations.AddIndex(
            model_name="item",
            index=models.Index(
                condition=models.Q(("made_for__isnull", False)),
                fields=["made_for", "study"],
                name="item_copies",
            ),
        ),
        migrations.AddConstraint(
            model_name="item",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("made_for", None), ("position__isnull", False)),
                    models.Q(("made_for__isnull", False), ("position", None)),
                    _connector="OR",
                ),
                name="item_has_a_place_or_a_person",
            ),
        ),
    ]
