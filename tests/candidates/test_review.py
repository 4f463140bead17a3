"""Two reviewers decide together, each decision once."""

import pytest

from annotation.candidates import review
from annotation.candidates.models import Candidate, GenerationRules, Opinion, Proposal
from tests.at_once import at_once
from tests.candidates.conftest import expand, person


def test_two_reviewers_decide_together_and_a_third_breaks_the_tie(tea, mina, cast, model, script):
    GenerationRules.objects.create(study=tea, reviewers=2)
    carol, rui, adam = (cast.person(name) for name in ("Carol", "Rui", "Adam"))
    script.values = [person()]
    expand(tea)
    (row,) = Proposal.objects.all()
    review.decide(tea, "persona", [row.pk], accepts=True, by=carol)
    assert review.decide(tea, "persona", [row.pk], accepts=True, by=carol) == 0
    row.refresh_from_db()
    assert (row.review, list(review.waiting(tea, "persona", carol))) == ("pending", [])
    review.decide(tea, "persona", [row.pk], accepts=False, reason="dramatised", by=rui)
    row.refresh_from_db()
    assert row.review == "pending"
    review.decide(tea, "persona", [row.pk], accepts=False, reason="stereotyped", by=adam)
    row.refresh_from_db()
    assert (row.review, row.review_reason) == ("rejected", "dramatised")
    assert Opinion.objects.count() == 3


@pytest.mark.django_db(transaction=True)
def test_a_decision_that_comes_twice_at_once_counts_once(tea, cast, answer):
    def accept():
        return review.decide(tea, "answer", [answer.pk], accepts=True, by=cast.person("Carol"))

    assert at_once(accept, accept) == (1, 0)
    assert Opinion.objects.count() == 1
    assert Candidate.objects.get().review == "pending"


@pytest.mark.django_db(transaction=True)
def test_a_decision_under_way_holds_when_one_reviewer_becomes_enough(tea, cast, answer):
    carol, rui = cast.person("Carol"), cast.person("Rui")
    at_once(
        lambda: review.decide(tea, "answer", [answer.pk], accepts=True, by=carol),
        lambda: review.set_rules(tea, {}, {"reviewers": 1}, by=rui),
    )
    assert Candidate.objects.get().review == "accepted"
