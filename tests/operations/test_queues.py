"""Jobs as an operator sees them: overdue ones are tried again or stopped."""

from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.candidates.models import DocumentFile
from annotation.core.models import AuditEvent
from annotation.operations import queues
from tests.operations.test_examine import check


def overdue(study) -> DocumentFile:
    late = timezone.now() - timedelta(minutes=6)
    return DocumentFile.objects.create(
        study=study, name="x", size=1, status="running", attempts=1, lease_expires_at=late
    )


def test_an_overdue_job_is_shown_tried_again_and_stopped(tea, ada):
    row = overdue(tea)
    assert (check("jobs").ok, queues.count_stuck()) == (False, 1)
    page = ada.get("/operations/").content.decode()
    assert f"Tea · {row.pk}" in page
    address = f"/operations/jobs/candidates.documentfile/{row.pk}/"
    ada.post(address, {"act": "park"})
    row.refresh_from_db()
    assert (row.status, row.error) == ("failed", "The operator has stopped this job.")
    ada.post(address, {"act": "retry"})
    row.refresh_from_db()
    assert (row.status, row.tries) == ("requested", 0)
    actions = AuditEvent.objects.filter(target="documentfile").values_list("action", flat=True)
    assert sorted(actions) == ["job.park", "job.retry"]


def test_the_page_names_parts_kinds_and_states_in_the_readers_language(tea, ada):
    overdue(tea)
    page = ada.get("/operations/", headers={"Accept-Language": "zh-hans"}).content.decode()
    shown = ["文档文件", "进行中", "数据库", "从未出现", "任务", "1 个超时"]
    assert [words for words in shown if words not in page] == []
    assert "running" not in page and "never seen" not in page


def test_every_kind_of_job_and_each_of_its_states_has_a_name():
    assert set(queues.KINDS) == set(queues.kinds())
    tables = queues.kinds().values()
    states = {state for table in tables for state in table._meta.get_field("status").choices}
    assert {value for value, _label in states} <= set(queues.STATES)


@pytest.mark.parametrize(
    "which", ["candidates.documentfile/999", "candidates.documentfile/x", "no.kind/1"]
)
def test_an_unknown_job_changes_nothing(tea, ada, which):
    assert ada.post(f"/operations/jobs/{which}/", {"act": "retry"}).status_code == 404


def test_a_job_that_somebody_works_at_is_left_alone(tea, ada):
    row = overdue(tea)
    DocumentFile.objects.update(lease_expires_at=timezone.now() + timedelta(seconds=30))
    ada.post(f"/operations/jobs/candidates.documentfile/{row.pk}/", {"act": "park"})
    row.refresh_from_db()
    assert row.status == "running"
