"""The audit table takes rows and gives none back."""

import pytest
from django.db import DatabaseError, connection, transaction

from annotation.core import audit
from annotation.core.models import AuditEvent


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE core_auditevent SET action = 'x'",
        "DELETE FROM core_auditevent",
        "TRUNCATE core_auditevent",
    ],
)
def test_a_record_is_never_changed(tea, statement):
    audit.record(None, "study.create", tea)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE core_auditevent ENABLE TRIGGER audit_is_never_emptied")
        with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
            cursor.execute(statement)
    assert AuditEvent.objects.filter(action="study.create").count() == 1
