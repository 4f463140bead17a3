from collections import Counter

import pytest

from annotation.candidates.models import Candidate
from annotation.judging.kinds import kind_of
from annotation.live import talks

SYSTEMS = [(name, "A3", name) for name in ("oak", "elm", "ash")]


@pytest.fixture
def voted(cast, tea):
    """Oak beats ash in nine of ten votes, and elm in half of them."""
    task = cast.task(tea, "served", options=2, overlap=10)
    batch = tea.batches.create(task=task)
    for position, (other, won) in enumerate([("ash", 9), ("elm", 5)], start=1):
        query = cast.query(tea, f"q{position}")
        first, second = cast.candidates(query, 2)
        for candidate, name in ((first, "oak"), (second, other)):
            Candidate.objects.filter(pk=candidate.pk).update(strategy=name)
        item = tea.items.create(
            batch=batch, query=query, external_id=f"i{position}", position=position, overlap=10,
            done=10, counts={"1": won, "2": 10 - won},
        )  # fmt: skip
        item.options.create(number=1, candidate=first)
        item.options.create(number=2, candidate=second)


def drawn(tea, number, rule):
    return [talks.draw_systems(tea, SYSTEMS, number, rule) for _time in range(60)]


def test_all_pairs_are_drawn_alike(tea):
    draws = drawn(tea, 2, "equal")
    assert {chance for _systems, chance in draws} == {1 / 3}
    assert len({frozenset(name for *_rest, name in systems) for systems, _chance in draws}) == 3
    assert len(Counter(systems[0] for systems, _chance in draws)) == 3


def test_close_systems_meet_more_often(tea, voted):
    chances = {}
    for systems, chance in drawn(tea, 2, "close"):
        chances[frozenset(name for *_rest, name in systems)] = chance
    close, apart = chances[frozenset({"oak", "elm"})], chances[frozenset({"oak", "ash"})]
    assert sum(chances.values()) == pytest.approx(1)
    # √(p(1 − p)) of p = ½ and p = 0.9, of 0.8 of the draws; the rest is spread evenly.
    assert (close - 0.2 / 3) / (apart - 0.2 / 3) == pytest.approx(0.5 / 0.3, rel=0.01)


def test_before_any_vote_no_pair_is_closer(tea):
    assert {chance for _systems, chance in drawn(tea, 3, "close")} == {1.0}
    assert {chance for _systems, chance in drawn(tea, 2, "close")} == {1 / 3}


def test_points_of_a_scale_are_no_numbers_of_answers(tea, voted):
    """All ten votes stand for oak, on the second point of five."""
    config = kind_of("preference").check_config({"points": 5})
    task = tea.tasks.create(name="scale", kind="preference", overlap=10, config=config)
    tea.batches.update(task=task)
    tea.items.update(counts={"2": 10})
    strength = talks._strengths(tea, SYSTEMS)
    assert strength[0] > strength[1]


def test_points_of_a_rating_prefer_no_answer(tea, voted):
    rating = {"type": "rating", "name": "fit", "about": "item", "points": 5}
    config = kind_of("questions").check_config({"options": 2, "questions": [rating]})
    task = tea.tasks.create(name="rated", kind="questions", overlap=10, config=config)
    tea.batches.update(task=task)
    assert not talks._strengths(tea, SYSTEMS).any()
