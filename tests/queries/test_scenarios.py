"""The split of judged answers into shots and tests: whole, stable, and never across equal texts."""

from itertools import pairwise

import pytest

from annotation.queries.scenarios import FEWEST, SHOTS, draw, missing_words


def answers(*texts):
    return dict(enumerate(texts))


def different(number):
    return answers(*(f"Take bus {n}." for n in range(number)))


@pytest.mark.parametrize(("judged", "shots"), [(0, 0), (1, 1), (5, 5), (6, 5), (30, 5)])
def test_five_are_shots_and_the_sixth_is_the_first_test(judged, shots):
    assert (SHOTS, FEWEST) == (5, 6)
    assert len(draw("Which?", different(judged))) == shots


def test_the_order_of_judging_decides_nothing():
    judged = different(9)
    assert draw("Which?", judged) == draw("Which?", dict(reversed(judged.items())))


def test_every_place_is_drawn_in_its_turn():
    drawn = [answer for n in range(600) for answer in draw(f"Which of {n}?", different(6))]
    assert all(450 < drawn.count(answer) < 550 for answer in range(6))


@pytest.mark.parametrize("question", ["Which?", "Where?", "When?"])
def test_who_is_a_shot_stays_one_whatever_is_judged_later(question):
    held = [set()]
    for number in range(1, 20):
        held.append(draw(question, different(number), held=held[-1]))
    assert all(before <= after for before, after in pairwise(held))
    assert held[-1] == held[5] == set(range(5))


def test_more_held_than_wanted_all_stay():
    assert draw("Which?", different(8), 1, held=range(4)) == set(range(4))


@pytest.mark.parametrize(
    ("texts", "shots"),
    [("aabcde", 5), ("aabbcc", 4), ("aaabbb", 3), ("aaaaaab", 6), ("aaaaaa", 6), ("aabb", 4)],
)
def test_equal_texts_are_on_one_side_and_two_texts_leave_a_test(texts, shots):
    judged = answers(*texts)
    drawn = draw("Which?", judged)
    assert len(drawn) == shots
    assert not {judged[n] for n in drawn} & {judged[n] for n in judged if n not in drawn}


def test_an_answer_like_a_held_one_is_held():
    assert {0, 6} <= draw("Which?", answers(*"abcdefa"), held=[0])


RESPONSE = (
    "Take the night train at ten. It reaches the sea at six, and beds can be booked. "
    "夜车十点出发,早上六点到海边。 야간열차는 열 시에 출발해서 여섯 시에 바다에 도착합니다."
)


@pytest.mark.parametrize(
    ("claim", "missing"),
    [
        ("The night train reaches the sea at six.", []),
        ("Beds are bookable.", []),
        ("Booking a bed is possible.", ["possible"]),
        ("The train has a restaurant.", ["restaurant"]),
        ("The train leaves at 22:30.", ["leaves", "22", "30"]),
        ("夜车早上六点到海边。", []),
        ("夜车上有餐厅。", ["夜车上有餐厅"]),
        ("야간열차가 여섯 시에 도착한다.", []),
        ("야간열차에 식당이 있다.", ["식당이", "있다"]),
        ("", []),
    ],
)
def test_words_are_compared_by_their_beginning_in_three_scripts(claim, missing):
    assert missing_words(claim, RESPONSE) == missing


def test_a_response_holds_all_words_of_itself():
    assert missing_words(RESPONSE, RESPONSE) == []
