"""That the other tests of this folder would notice a changed row."""

from django.db import connection, transaction

from annotation.accounts.models import User
from annotation.studies.models import Study


def test_each_kind_of_change_is_noticed_until_it_is_undone(world):
    changes = {
        "studies_study": lambda: Study.objects.filter(pk=world.tea.pk).update(title="Coffee"),
        "accounts_user": lambda: User.objects.create(email="new@example.org"),
        "webhooks_webhook": lambda: world.tea.webhooks.all().delete(),
    }
    for _ in range(2):
        for name, change in changes.items():
            with transaction.atomic():
                change()
                assert name in world.fingerprint.changed()
                transaction.set_rollback(True)
            assert world.fingerprint.changed() == set()


def test_a_row_written_as_it_was_is_no_change(world):
    world.tea.save()
    assert world.fingerprint.changed() == set()


def test_what_a_trigger_writes_is_noticed(world):
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION pg_temp.rename() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            " UPDATE studies_study SET title = 'Coffee'; RETURN NULL; END $$"
        )
        cursor.execute(
            "CREATE TRIGGER renames AFTER UPDATE ON accounts_user"
            " FOR EACH STATEMENT EXECUTE FUNCTION pg_temp.rename()"
        )
    User.objects.filter(pk=world.users["ann"].pk).update(name="Ann")
    assert world.fingerprint.changed() == {"studies_study"}
