"""What is counted of requests and of calls of models."""

import pytest
from django.http import HttpResponse

from annotation.operations import metrics


def methods(text: bytes) -> set[str]:
    lines = [line for line in text.decode().splitlines() if line.startswith("attune_requests_tot")]
    return {line.split('method="')[1].split('"')[0] for line in lines}


@pytest.mark.django_db
def test_strangers_make_no_series_by_methods_of_their_own(rf):
    answered = metrics.counted(lambda request: HttpResponse())
    answered(rf.get("/"))
    for number in range(20):
        answered(rf.generic(f"M{number}", "/"))
    found = methods(metrics.text())
    assert {"GET", "other"} <= found
    assert found <= {*metrics.METHODS, "other"}
