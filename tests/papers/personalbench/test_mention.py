"""Whether a prompt mentions an attribute."""

import pytest

from annotation.papers.personalbench.mention import explicit, mentioned


@pytest.mark.parametrize(
    ("attribute", "answer", "prompt", "share"),
    [
        ("Grows ferns at home.", "Your home ferns grow well outside.", "", 1.0),
        ("Grows ferns at home.", "Take a walk.", "", 0.0),
        # What the prompt says is no mention of the person.
        ("Grows ferns at home.", "Your ferns!", "Why do ferns wilt?", 0.0),
        ("喜欢登山", "周末可以去登山。", "", 1 / 3),
        ("They like it.", "They like it.", "", None),
    ],
)
def test_a_mention_is_the_share_of_content_words_that_the_prompt_does_not_have(
    attribute, answer, prompt, share
):
    assert mentioned(attribute, answer, prompt) == share
    assert explicit(share) is (None if share is None else share >= 0.5)
