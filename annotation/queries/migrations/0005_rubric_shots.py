from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("queries", "0004_grounds")]

    operations = [
        migrations.AddField(model_name="rubric", name="shots", field=models.JSONField(null=True)),
    ]
