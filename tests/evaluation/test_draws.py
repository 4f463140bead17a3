"""Rounds in which items are drawn for people's votes, of those that models have judged."""

import json
import math
from functools import partial

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from annotation.agreement.statistics.coefficient import Coefficient
from annotation.agreement.statistics.prediction_powered import ALIKE
from annotation.candidates.models import Candidate
from annotation.core.errors import DomainError
from annotation.datasets import folders, freeze
from annotation.evaluation import draws
from annotation.evaluation.estimates import Quantity, estimates
from annotation.evaluation.forms import DrawForm
from annotation.evaluation.models import Draw, Verdict
from annotation.judging.batches.open import ask_for_more, open_batch
from annotation.judging.models import Item, Slot
from annotation.judging.work import queue, submit
from tests.datasets.conftest import (
    _data,  # noqa: F401 - fixtures
    rows,
)
from tests.evaluation.conftest import printed

ITEMS = 60
TORN = ("A1", "A2")


@pytest.fixture
def pool(cast, tea):
    """Sixty pairs without a slot; two models agree on the first thirty, and on no other."""
    task = cast.task(tea, "better", options=2, overlap=3)
    persona = cast.persona(tea)
    for n in range(ITEMS):
        cast.candidates(cast.query(tea, f"q{n}", persona), 2)
    open_batch(tea, task, overlap=0)
    items = Item.objects.order_by("position")
    Verdict.objects.bulk_create(
        Verdict(item=item, model=model, label=str(answer(item, strategy).number))
        for n, item in enumerate(items)
        for model, strategy in (("m1", "A1"), ("m2", "A1" if n < 30 else "A2"))
    )
    return tea


def answer(item, strategy):
    return item.options.get(candidate__strategy=strategy)


def judge_all(study, *people, choose=None):
    """Each person judges whatever there is: the answer of the strategy ``choose(item)``, or A1."""
    for person in people:
        while slot := queue.claim(study, person):
            item = Slot.objects.get(pk=slot).item
            chosen = answer(item, choose(item) if choose else "A1")
            submit.submit(study, slot, person, {"choice": str(chosen.candidate_id)}, key=str(slot))


def torn(after=0):
    """Of the items after this position people choose A1 and A2 by turns, of the others A1."""
    return lambda item: TORN[item.position > after and item.position % 2]


@pytest.fixture
def vote(pool, cast):
    """A function: Ann and Bo judge whatever there is."""
    return partial(judge_all, pool, cast.person("Ann"), cast.person("Bo"))


def chances():
    return list(Item.objects.order_by("position").values_list("chance", flat=True))


def test_the_first_round_prefers_items_on_which_models_differ_and_each_gets_its_panel(pool):
    drawn = draws.draw(pool, draws.Round("better", votes=40))
    assert (drawn.rule, drawn.version, drawn.panel, drawn.slots) == (
        "uncertain", draws.VERSION, 2, 2 * drawn.items)  # fmt: skip
    # doubt² is 0 and ¼, three times its mean ⅜: spreads as √3 and √5, and a fifth of equal parts.
    low, high = (0.8 * root / (3**0.5 + 5**0.5) for root in (3**0.5, 5**0.5))
    assert chances() == pytest.approx(
        [20 * (each / 30 + 0.2 / ITEMS) for each in (low, high) for _n in range(30)]
    )
    assert 9 <= drawn.items <= 31
    assert Item.objects.filter(overlap=2).count() == drawn.items
    assert Slot.objects.filter(status="open").count() == drawn.slots
    assert draws.state(pool, "better")["waiting"] == ITEMS - drawn.items


def test_a_model_that_says_how_sure_it_is_is_asked_about_where_it_is_not(pool):
    Verdict.objects.filter(model="m2").delete()
    draws.draw(pool, draws.Round("better", votes=40))
    assert chances() == pytest.approx([20 / ITEMS] * ITEMS)
    Slot.objects.all().delete()
    Item.objects.update(chance=0, overlap=0)
    Verdict.objects.filter(item__position__lte=30).update(confidence=0.5)
    Verdict.objects.filter(item__position__gt=30).update(confidence=0.9)
    draws.draw(pool, draws.Round("better", votes=40))
    # Variances 0.25 and 0.09, three times their mean 0.51.
    one, other = 0.76**0.5, 0.6**0.5
    expected = [20 * (0.8 * each / (one + other) / 30 + 0.2 / ITEMS) for each in (one, other)]
    assert (chances()[0], chances()[-1]) == pytest.approx(tuple(expected))


def test_the_next_round_prefers_items_on_which_the_models_lie_far_from_people(pool, vote):
    draws.draw(pool, draws.Round("better", votes=60))
    first = np.array(chances())
    # People side with the model that is sure, and are torn where the models are.
    vote(choose=torn(after=30))
    draws.draw(pool, draws.Round("better", votes=20))
    now = 1 - (1 - np.array(chances())) / (1 - first)
    assert now[:30].max() < now[30:].min()
    assert now.min() >= 0.2 * 10 / ITEMS


def test_a_round_is_the_same_whenever_it_is_drawn_from_the_same_votes(pool):
    draws.draw(pool, draws.Round("better", votes=30, rule="equal"))
    first = set(Item.objects.filter(overlap=2).values_list("pk", flat=True))
    Slot.objects.all().delete()
    Item.objects.update(overlap=0, chance=0)
    Draw.objects.all().delete()
    draws.draw(pool, draws.Round("better", votes=30, rule="equal"))
    assert set(Item.objects.filter(overlap=2).values_list("pk", flat=True)) == first


def test_close_pairs_are_drawn_first_by_the_strengths_that_models_give(pool):
    # To the models A1 and A2 are near to each other, and A3 is much worse than A1.
    worse = Candidate.objects.filter(options__item__position__lte=20, strategy="A2")
    worse.update(strategy="A3")
    draws.draw(pool, draws.Round("better", votes=40, rule="close"))
    found = chances()
    assert max(found[:20]) < min(found[20:])
    assert len({round(each, 9) for each in found[20:]}) == 1


def test_close_pairs_are_drawn_first_by_the_strengths_that_votes_give(pool, vote):
    Verdict.objects.all().delete()
    worse = Candidate.objects.filter(options__item__position__lte=20, strategy="A2")
    worse.update(strategy="A3")
    draws.draw(pool, draws.Round("better", votes=60, rule="close"))
    # Nobody has said anything: all pairs are as close.
    assert chances() == pytest.approx([30 / ITEMS] * ITEMS)
    first = np.array(chances())
    vote(choose=torn(after=20))
    draws.draw(pool, draws.Round("better", votes=20, rule="close"))
    now = 1 - (1 - np.array(chances())) / (1 - first)
    assert now[:20].max() < now[20:].min()


def test_estimates_weigh_votes_by_the_probability_of_their_item(pool, vote):
    draws.draw(pool, draws.Round("better", votes=80, rule="equal"))
    Item.objects.filter(position__lte=30).update(chance=0.5)
    Item.objects.filter(position__gt=30).update(chance=0.25)
    vote(choose=lambda item: TORN[item.position > 30])
    share = estimates(pool, "better")["quantities"][0]
    judged = Item.objects.filter(done=2)
    first = judged.filter(position__lte=30).count()
    second = judged.filter(position__gt=30).count()
    # Votes on the second half count twice.
    assert share.people.value == pytest.approx(first / (first + 2 * second))


def test_an_item_that_is_asked_for_by_hand_is_there_for_certain(pool, vote):
    ask_for_more(list(Item.objects.order_by("position")[:2]), 2)
    assert chances()[:3] == [1, 1, 0]
    vote(choose=torn())
    assert estimates(pool, "better")["quantities"][0].people.value == pytest.approx(0.5)
    draws.draw(pool, draws.Round("better", votes=40))
    assert chances()[:2] == [1, 1]
    assert 0 < min(chances()[2:]) < 1


def test_rounds_follow_by_themselves_until_the_intervals_are_narrow(pool, vote):
    draws.draw(pool, draws.Round("better", votes=30, half_width=0.05))
    assert draws.carry_on() == 0  # votes are outstanding
    vote(choose=torn())
    assert draws.carry_on() == 1
    vote(choose=torn())
    Draw.objects.filter(ended_at=None).update(half_width=0.9)
    assert draws.carry_on() == 0
    assert not Draw.objects.filter(ended_at=None).exists()


def test_votes_that_are_needed_grow_with_the_square_of_the_precision(pool, vote):
    draws.draw(pool, draws.Round("better", votes=60, rule="equal"))
    vote(choose=torn())
    share = estimates(pool, "better")["quantities"][0]
    reach = 1.959964 * share.people.se
    # To the same precision as now as many; twice as far, a fourth.
    assert share.votes_needed(reach * 0.9999999)["people"] == share.votes + 1
    assert share.votes_needed(2 * reach)["people"] == math.ceil(share.votes / 4)
    # Half as far needs four times as many: 60 items have no so many votes.
    assert share.votes_needed(reach / 2) == {"people": None, "combined": None}
    assert share.planned == {"half_width": 0.03, "people": None, "combined": None}


def test_a_model_saves_less_the_more_items_are_judged():
    # The model takes half of the variance off, with 100 of 1,000 items judged: ρ² = 5/9.
    people = Coefficient(0.5, 0.05, 0.4, 0.6)
    both = Coefficient(0.5, 0.05 / 2**0.5, 0.43, 0.57)
    share = Quantity(people, both, None, 200, 1000, 400.0, 0.5, 100, 1000, "share:A1", "m1")
    now = 1.959963985 * both.se
    assert share.votes_needed(now)["combined"] == 200
    # σ² 100/n' (1 − 5/9 (1 − n'/1000)) is a fourth of today's where n' = 100·4·(4/9) / (4/9 − ...).
    items = share.votes_needed(now / 2)["combined"] / 2
    variance = 0.05**2 * 100 / items * (1 - 5 / 9 * (1 - items / 1000))
    assert variance == pytest.approx((both.se / 2) ** 2, rel=0.01)
    assert share.votes_needed(now / 2)["people"] == 1600


def test_rounds_wait_for_shares_that_have_no_interval_and_for_no_strengths(pool, vote):
    draws.draw(pool, draws.Round("better", votes=30, half_width=0.4))
    last = Draw.objects.get()
    # Nobody has voted: no share has an interval.
    assert not draws._reached(last)
    vote()
    # All say A1: at 95 % at most 1 − 0.05^(1/n) of the items are otherwise.
    share = estimates(pool, "better")["quantities"][0].combined
    assert share.se is None
    strengths = [
        each for each in estimates(pool, "better")["quantities"] if "strength" in each.name
    ]
    assert (strengths[0].combined.low, strengths[0].combined.reason) == (None, ALIKE)
    assert draws._reached(last)
    last.half_width = (share.high - share.low) / 2 - 0.001
    assert not draws._reached(last)


def test_a_half_width_needs_verdicts_and_rounds_end_where_these_are_gone(pool, vote, caplog):
    draws.draw(pool, draws.Round("better", votes=30, rule="equal", half_width=0.01))
    vote()
    Verdict.objects.all().delete()
    assert draws.carry_on() == 0
    assert "No model has judged" in caplog.text
    assert not Draw.objects.filter(ended_at=None).exists()
    with pytest.raises(DomainError, match="No model has judged"):
        draws.draw(pool, draws.Round("better", votes=30, rule="equal", half_width=0.01))
    with pytest.raises(DomainError, match="questions are"):
        draws.draw(pool, draws.Round("better", votes=30, half_width=0.01, question="no"))


def test_what_cannot_be_drawn_is_refused(pool):
    Verdict.objects.all().delete()
    with pytest.raises(DomainError, match="No model has judged"):
        draws.draw(pool, draws.Round("better", votes=10))
    with pytest.raises(DomainError, match="open a batch with 0 judgments"):
        draws.draw(pool, draws.Round("other", votes=10))
    draws.draw(pool, draws.Round("better", votes=10**6, rule="equal"))
    with pytest.raises(DomainError, match="waits to be drawn"):
        draws.draw(pool, draws.Round("better", votes=10, rule="equal"))
    assert set(Item.objects.values_list("chance", "overlap")) == {(1.0, 2)}


def test_a_curator_draws_on_the_page_and_readers_only_look(pool, cast, login):
    address = "/studies/tea/results/better/estimates/"
    page = login(cast.person("Carol")).post(
        address, {"votes": 40, "rule": "uncertain", "panel": 2}, follow=True
    )
    drawn = Draw.objects.get()
    text = page.text
    assert f"{drawn.items} items are drawn, for {drawn.slots} votes." in text
    assert "first where the models are least sure" in text
    wrong = login(cast.person("Carol")).post(address, {"votes": 0, "rule": "best", "panel": 2})
    assert wrong.status_code == 200
    assert "Select a valid choice" in wrong.text
    reader = login(cast.person("Rui")).get(address).text
    assert "Draw items" not in reader
    assert login(cast.person("Rui")).post(address, {"votes": 40}).status_code == 403
    assert Draw.objects.count() == 1


def test_the_api_and_the_command_draw_alike(pool, cast, login):
    client = login(cast.person("Carol"))
    body = {"task": "better", "votes": 30, "rule": "equal"}
    made = client.post("/api/v1/studies/tea/draws/", body, content_type="application/json")
    assert made.status_code == 201
    assert client.get("/api/v1/studies/tea/draws/").json() == [made.json()]
    assert made.json()["slots"] == 2 * made.json()["items"]
    counts = printed("draw_votes", "tea", task="better", votes=20, rule="equal")
    again = Draw.objects.latest("pk")
    assert counts == {"items": again.items, "slots": again.slots}
    refused = client.post(
        "/api/v1/studies/tea/draws/", body | {"task": "other"}, content_type="application/json"
    )
    assert refused.status_code == 400
    with pytest.raises(CommandError, match="open a batch with 0"):
        call_command("draw_votes", "tea", task="other", votes=20)


def test_a_release_says_how_likely_each_item_was_drawn_when_it_was_frozen(pool, vote, _data):  # noqa: F811
    draws.draw(pool, draws.Round("better", votes=24, rule="equal", panel=2))
    vote()
    before, release = chances(), freeze.request_release(pool, "long", "", None)
    draws.draw(pool, draws.Round("better", votes=24, rule="equal", panel=2))
    assert chances() != before
    freeze.build(release.pk)
    release.refresh_from_db()
    folder = folders.folder_of(release)
    assert [row["chance"] for row in rows(folder, "items.jsonl")] == before
    (drawn,) = json.loads((folder / "manifest.json").read_text())["rules"]["draws"]
    assert (drawn["rule"], drawn["version"], drawn["votes"]) == ("equal", 2, 24)
    assert "drawn for votes by rule: equal (version 2)" in (folder / "README.md").read_text()


def test_only_a_task_of_several_questions_asks_which_one_is_read():
    assert "question" not in DrawForm(questions={"choice": "Choice"}).fields
    sent = {"votes": 5, "rule": "equal", "panel": 1}
    form, other = (DrawForm(sent | {"question": name}, questions={"best": "Best?", "why": "Why?"})
                   for name in ("why", "no"))  # fmt: skip
    assert (form.is_valid(), form.values["question"], other.is_valid()) == (True, "why", False)
