from django.db import migrations

REFUSE = """
CREATE TRIGGER audit_is_never_emptied BEFORE TRUNCATE ON core_auditevent
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
"""


class Migration(migrations.Migration):
    dependencies = [("core", "0002_audit_is_append_only")]
    operations = [
        migrations.RunSQL(REFUSE, "DROP TRIGGER audit_is_never_emptied ON core_auditevent")
    ]
