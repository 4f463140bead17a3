"""What is counted of requests and of calls of models."""

from datetime import date
from decimal import Decimal

import pytest
from django.http import HttpResponse

from annotation.candidates.models import Spending
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


@pytest.mark.django_db
def test_spend_is_what_all_calls_cost_proposals_and_runs_of_models_too(cast):
    for slug, cost in (("tea", "0.25"), ("rain", "1.5")):
        Spending.objects.create(study=cast.study(slug), day=date(2026, 3, 1), cost=Decimal(cost))
    assert metrics.spend() == Decimal("1.75")
    assert b"attune_spend 1.75" in metrics.text()


@pytest.mark.django_db
def test_without_calls_nothing_was_spent():
    assert metrics.spend() == 0
