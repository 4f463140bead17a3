"""The audit table takes rows and gives none back."""

import ast
from pathlib import Path

import pytest
from django.db import DatabaseError, connection, transaction

from annotation.core import acts, audit
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


def test_every_act_that_is_recorded_has_words():
    recorded = set()
    for path in (Path(__file__).parents[2] / "annotation").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("audit.record", "record"):
                act = node.args[1] if len(node.args) > 1 else None
                if isinstance(act, ast.Constant) and isinstance(act.value, str):
                    recorded.add(act.value)
    assert len(recorded) > 90
    assert sorted(recorded - acts.WORDS.keys()) == []
