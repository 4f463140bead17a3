"""A release is frozen by the last judgment of any kind; until now there were only selections."""

from django.db import migrations

RENAME = """
UPDATE datasets_release
SET frozen = (frozen - 'selection') || jsonb_build_object(
    'judgment', frozen -> 'selection', 'void', '[]'::jsonb, 'adjudication', 0)
WHERE frozen ? 'selection'"""


class Migration(migrations.Migration):
    dependencies = [("datasets", "0001_initial"), ("judging", "0002_judgment")]

    # Selections have kept their ids as judgments. The old code reads the old key alone.
    operations = [migrations.RunSQL(RENAME, elidable=True)]
