from django.db import migrations


def name_the_arm(apps, schema_editor):
    """Until now a judge without shots saw the rubric all the same."""
    runs = apps.get_model("evaluation", "Run").objects.filter(kind="judge", setting="none")
    for run in runs:
        run.setting = "rubric"
        if run.result:
            run.result["setting"] = "rubric"
        run.save(update_fields=["setting", "result"])


class Migration(migrations.Migration):
    dependencies = [("evaluation", "0004_raters")]

    operations = [migrations.RunPython(name_the_arm, migrations.RunPython.noop)]
