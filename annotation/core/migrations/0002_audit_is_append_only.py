from django.db import migrations

REFUSE = """
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit events are never changed';
END $$;
CREATE TRIGGER audit_is_append_only BEFORE UPDATE OR DELETE ON core_auditevent
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
"""


class Migration(migrations.Migration):
    dependencies = [("core", "0001_initial")]
    operations = [
        migrations.RunSQL(
            REFUSE,
            "DROP TRIGGER audit_is_append_only ON core_auditevent; DROP FUNCTION refuse_change();",
        )
    ]
