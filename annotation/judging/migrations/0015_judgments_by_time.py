from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # people go on judging while the index is built

    dependencies = [("judging", "0001_squashed_0014_retests")]

    operations = [
        AddIndexConcurrently(
            model_name="judgment",
            index=models.Index(fields=["annotator", "submitted_at"], name="judgment_of_annotator"),
        ),
    ]
