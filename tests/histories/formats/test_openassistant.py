"""OpenAssistant's trees: one path of each."""

import pytest

from . import samples
from .samples import as_lines, chats, turns


@pytest.mark.parametrize("rows", [(samples.OASST,), samples.OASST_MESSAGES])
def test_openassistants_path_is_the_best_ranked_that_is_not_deleted(rows):
    (chat,) = chats(as_lines(*rows))
    assert (chat.id, turns(chat)) == ("t", [("user", "Why?"), ("assistant", "Second")])


def test_openassistants_threads_are_read():
    (chat,) = chats(as_lines(samples.OASST_THREAD))
    assert (chat.id, turns(chat)) == ("th", [("user", "Why?"), ("assistant", "So.")])
