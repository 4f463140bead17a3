import django.db.models.deletion
from django.db import migrations, models

# An item's row of `step` 1 is as it is now, that of -1 as it was: they cancel out where it stays as
# it was. Where two items take each other's votes no sum differs, but the changes are counted.
FUNCTION = """
CREATE FUNCTION agreement_count_items() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO agreement_votecount (VOTES, items, changes)
        SELECT VOTES, count(*), count(*) FROM items_after GROUP BY VOTES;
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO agreement_votecount (VOTES, items, changes)
        SELECT VOTES, -count(*), count(*) FROM items_before GROUP BY VOTES;
    ELSE
        INSERT INTO agreement_votecount (VOTES, items, changes)
        SELECT VOTES, sum(step), count(*)
        FROM (
            SELECT VOTES, sum(step) AS step
            FROM (SELECT id, VOTES, 1 AS step FROM items_after
                  UNION ALL SELECT id, VOTES, -1 FROM items_before) AS steps
            GROUP BY id, VOTES HAVING sum(step) <> 0
        ) AS changed
        GROUP BY VOTES;
    END IF;
    RETURN NULL;
END $$;
"""
TRIGGERS = """
CREATE TRIGGER items_are_counted_in AFTER INSERT ON judging_item
    REFERENCING NEW TABLE AS items_after
    FOR EACH STATEMENT EXECUTE FUNCTION agreement_count_items();
CREATE TRIGGER items_are_counted_again AFTER UPDATE ON judging_item
    REFERENCING OLD TABLE AS items_before NEW TABLE AS items_after
    FOR EACH STATEMENT EXECUTE FUNCTION agreement_count_items();
CREATE TRIGGER items_are_counted_off AFTER DELETE ON judging_item
    REFERENCING OLD TABLE AS items_before
    FOR EACH STATEMENT EXECUTE FUNCTION agreement_count_items();
"""
FIRST_COUNT = """
INSERT INTO agreement_votecount (VOTES, items, changes)
SELECT VOTES, count(*), count(*) FROM judging_item GROUP BY VOTES;
"""
VOTES = "batch_id, overlap, done, votes_1, votes_2, votes_3, ties, nones"
WHOLE = (FUNCTION + TRIGGERS + FIRST_COUNT).replace("VOTES", VOTES)
REMOVED = "DROP FUNCTION agreement_count_items() CASCADE;"


class Migration(migrations.Migration):
    dependencies = [
        ("agreement", "0004_early_stop"),
        ("judging", "0014_retests"),
    ]

    operations = [
        migrations.CreateModel(
            name="VoteCount",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("overlap", models.PositiveSmallIntegerField()),
                ("done", models.PositiveSmallIntegerField()),
                ("votes_1", models.PositiveSmallIntegerField()),
                ("votes_2", models.PositiveSmallIntegerField()),
                ("votes_3", models.PositiveSmallIntegerField()),
                ("ties", models.PositiveSmallIntegerField()),
                ("nones", models.PositiveSmallIntegerField()),
                ("items", models.BigIntegerField()),
                ("changes", models.BigIntegerField()),
                (
                    "batch",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="vote_counts",
                        to="judging.batch",
                    ),
                ),
            ],
        ),
        migrations.RunSQL(WHOLE, REMOVED),
    ]
