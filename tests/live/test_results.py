"""The ranking of systems on Results, from conversations to strengths."""

import math

import pytest

from annotation.agreement import recompute
from annotation.agreement.board import Board
from annotation.agreement.figures import figure_of
from annotation.judging.models import Slot
from annotation.judging.work import queue, submit
from annotation.live import talks
from tests.live.conftest import ask

# Who wins each conversation of oak and elm, by person: oak four of six.
WON = {"Ann": ("oak", "oak"), "Bo": ("elm", "oak"), "Chen": ("oak", "elm")}


def converse(study, person, winner: str) -> None:
    """One conversation of one turn, its choice for the system ``winner``."""
    talk = talks.begin(study, person)
    ask(talk)
    talks.end(talk.pk, person)
    slot = Slot.objects.get(pk=queue.claim(study, person))
    option = slot.item.options.get(candidate__strategy=winner)
    submit.submit(study, slot.pk, person, {"choice": str(option.candidate_id)}, key=str(slot.pk))


@pytest.fixture
def talked(cast, tea, live, at_once):
    live(talks=2)
    for name, winners in WON.items():
        person = cast.member(name, tea, "annotator")
        for winner in winners:
            converse(tea, person, winner)
    return tea


def test_conversations_with_votes_rank_the_systems(talked, cast, login):
    recompute.recompute(talked, "served")
    board = Board(talked, talked.tasks.get(name="served"))
    # Without the term of the order: odds of four to two, half of their logarithm to each side.
    for judgment in board.judgments:
        judgment.shown = []
        judgment.save(update_fields=["shown"])
    rows = {row[0]: row[1:3] for row in figure_of(board, "strategies").rows}
    assert rows == {
        "oak": (6, pytest.approx(math.log(2) / 2)),
        "elm": (6, pytest.approx(-math.log(2) / 2)),
    }
    # Both endpoints serve one model here.
    assert figure_of(board, "models").reason == "No vote compares two of them."
    page = login(cast.person("Rui")).get("/studies/tea/results/served/")
    ranked = next(one for one in page.context["figures"] if one.key == "strategies")
    assert [row[0] for row in ranked.rows] == ["oak", "elm"]
    assert "Strategies ranked" in page.content.decode()
