"""What is known of each rater, and the signs with their evidence."""

import pytest
from django.urls import reverse

from annotation.agreement import raters as reliability
from annotation.agreement.board import Board
from annotation.agreement.figures import figure_of
from annotation.judging.models import Item, Judgment, Slot
from annotation.judging.work import queue, submit
from tests.judging.test_checks import add_checks, purposes, rates
from tests.judging.test_queue import choose


def of(study, user, also=None):
    return next(one for one in reliability.raters(study, also) if one.user == user)


@pytest.fixture
def carol(cast, tea):
    return cast.person("Carol")


def panel(cast, study, n):
    return [cast.member(f"P{number}", study, "annotator") for number in range(n)]


def test_who_disagrees_with_everybody_gets_a_sign_with_its_evidence_and_rule(cast, tea):
    cast.open(tea, items=50, overlap=4, options=2)
    ann, *others = cast.person("Ann"), *panel(cast, tea, 3)
    for person in others:
        purposes(tea, person, number=1)
    purposes(tea, ann, number=2)
    one = of(tea, ann)
    assert (one.compared, one.agreed) == (50, 0)
    sign = next(sign for sign in one.signs if sign.name == "disagrees")
    assert sign.evidence.startswith("0 of 50 votes with the majority of the others")
    assert "under 0.001" in sign.rule
    assert "disagrees" not in [sign.name for sign in of(tea, others[0]).signs]
    assert reliability.raters(tea)[0].user == ann


def test_whoever_says_the_same_as_another_ties_with_them_in_every_report(cast, tea):
    cast.open(tea, items=9, overlap=4, options=2)
    people = panel(cast, tea, 4)
    for number, person in zip((1, 1, 2, 2), people, strict=True):
        purposes(tea, person, number=number)
    Judgment.objects.update(shown=[1, 2], seconds=12)
    first, clone = (of(tea, person) for person in people[2:])
    for name in ("judgments", "compared", "agreed", "expected", "p", "pace", "z", "fast", "side_p"):
        assert getattr(first, name) == getattr(clone, name), name
    assert [sign.name for sign in first.signs] == [sign.name for sign in clone.signs]
    board = Board(tea, tea.tasks.get())
    for key in ("sides", "control"):
        rows = {row[0]: row[1:] for row in figure_of(board, key).rows}
        assert rows.get(first.name) == rows.get(clone.name), key


def test_fifty_votes_are_needed_for_a_sign_of_disagreement(cast, tea):
    cast.open(tea, items=49, overlap=3, options=2)
    ann, *others = cast.person("Ann"), *panel(cast, tea, 2)
    for person in others:
        purposes(tea, person, number=1)
    purposes(tea, ann, number=2)
    assert of(tea, ann).compared == 49
    assert "disagrees" not in [sign.name for sign in of(tea, ann).signs]


def test_votes_of_a_large_study_are_read_again_once_one_changed(cast, tea, monkeypatch):
    cast.open(tea, items=4, overlap=2, options=2)
    ann, bo = cast.person("Ann"), cast.member("Bo", tea, "annotator")
    reads = []
    monkeypatch.setattr(reliability, "KEPT_FROM", 4)

    read = reliability._read
    monkeypatch.setattr(reliability, "_read", lambda study: reads.append(study) or read(study))
    purposes(tea, ann)
    assert [(of(tea, ann).compared, of(tea, ann).judgments) for _page in range(2)] == [(0, 4)] * 2
    assert len(reads) == 1
    purposes(tea, bo)
    assert [(of(tea, ann).compared, of(tea, bo).judgments) for _page in range(2)] == [(4, 4)] * 2
    assert len(reads) == 2


def place_of(slot_id, place) -> int:
    """The number of the answer shown at ``place`` of a slot."""
    slot = Slot.objects.get(pk=slot_id)
    return submit.ordering.shown_order(slot.item_id, slot.ordinal, slot.item.options.count())[
        place - 1
    ]


@pytest.mark.parametrize("options", [2, 3])
def test_who_always_takes_the_first_place_gets_a_sign(cast, tea, options, ann):
    cast.open(tea, items=30, overlap=1, options=options)
    while slot := queue.claim(tea, ann):
        submit.submit(tea, slot, ann, choose(slot, place_of(slot, 1)), key=f"k{slot}")
    one = of(tea, ann)
    assert one.side_p < 1e-6
    assert [sign.name for sign in one.signs] == ["one place"]


def test_time_is_held_against_the_length_of_what_was_shown(cast, tea):
    cast.open(tea, items=12, overlap=3, options=2)
    people = [cast.person("Ann"), *panel(cast, tea, 2)]
    for person in people:
        purposes(tea, person)
    for n, one in enumerate(Judgment.objects.order_by("pk")):
        fast = one.annotator == people[0]
        one.seconds = 0.1 + n / 1e4 if fast else 20 + n % 7
        one.save()
    rater = of(tea, people[0])
    item = Item.objects.order_by("position").first()
    texts = [option.candidate.text for option in item.options.select_related("candidate")]
    shown = len(item.query.text) + sum(map(len, texts))
    assert rater.pace == pytest.approx(1000 * 0.1 / shown, rel=0.1)
    assert [sign.name for sign in rater.signs] == ["fast", "often fast"]
    assert of(tea, people[1]).signs == []


def test_gold_and_repeats_and_skips_are_on_the_raters_page(cast, tea, login, ann):
    cast.open(tea, items=9, overlap=2)
    add_checks(cast, tea, "training", 1)
    add_checks(cast, tea, "gold", 3, expected="2")
    rates(tea, gold_every=2, repeat_every=2)
    slot = queue.claim(tea, ann)
    submit.submit(tea, slot, ann, choose(slot), key="trained")
    queue.hand_back(queue.claim(tea, ann), ann, "skipped", "too long for me")
    purposes(tea, ann)
    one = of(tea, ann)
    assert (one.gold.value, one.gold_n, one.training) == (0, 3, (1, 1))
    assert one.repeats.value == 1
    assert one.repeats_n >= 2
    assert (one.judgments, one.skips) == (8, 1)
    client = login(cast.person("Rui"))
    assert one.name in client.get(reverse("raters", args=["tea"])).content.decode()
    page = client.get(reverse("rater", args=["tea", ann.pk])).content.decode()
    for words in ("too long for me", "Gold items right", "of 3; 0.00", "The first time"):
        assert words in page
    assert "Exclude and reopen" not in page
    page = login(cast.person("Carol")).get(reverse("rater", args=["tea", ann.pk]))
    assert "Exclude and reopen" in page.content.decode()


def test_nobody_else_is_a_rater(cast, tea, login, carol):
    client = login(carol)
    assert client.get(reverse("rater", args=["tea", carol.pk])).status_code == 404
    assert client.post(reverse("rater-pause", args=["tea", carol.pk])).status_code == 404
