"""What a model's answer says, and what its prompt shows."""

import pytest
from hypothesis import given, strategies

from annotation.evaluation import choices


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("Verdict: 1", 1),
        ("2", 2),
        ("Answer 2.", 2),
        ("I weigh them.\n\n**Verdict:** 2", 2),
        ("Verdict: 1\nOn reflection:\nVerdict: 2", 2),
        ("<think>Verdict: 1</think>\nVerdict: 2", 2),
        ("Verdict: 1</think>Verdict: 2", 2),
        ("<think>Verdict: 1", None),
        ("Verdict: 1 or 2", None),
        ("Verdict: 12", None),
        ("Verdict: 3", None),
        ("They are equal.", None),
        ("", None),
        ('{"verdict": 1}', 1),
        ("My choice is 2", 2),
        ("选择：1", 1),
        ("판정: 2", 2),
    ],
)
def test_a_verdict_is_read_or_is_none(text, choice):
    assert choices.read_choice(text) == choice


@given(strategies.text())
def test_any_text_is_a_verdict_or_none(text):
    assert choices.read_choice(text) in (1, 2, None)
    named = choices.read_filter(text, 3)
    assert named is None or set(named) <= {0, 1, 2}


def test_notes_that_are_named_are_shown_and_others_not():
    assert choices.read_filter("Notes: 1, 3, 9", 3) == [0, 2]
    assert choices.read_filter("so\n**Notes:** none", 3) == []
    assert choices.read_filter("none of them", 3) is None
