"""Words of a claim that its response does not have."""

import pytest

from annotation.queries.grounding import missing_words

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
