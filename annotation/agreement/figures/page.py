"""The figures of a task's page, in order, by what its people say."""

from django.utils.translation import gettext as _

from annotation.agreement.board import Board
from annotation.agreement.figures import kinds, progress, raters, scores, strategies, summary
from annotation.agreement.figures.base import About, Figure

FIGURES = {
    "agreement": summary.agreement,
    "tiers": progress.tiers,
    "patterns": progress.vote_patterns,
    "time": progress.over_time,
    "days": progress.by_day,
    "raters": progress.by_rater,
    "seconds": progress.seconds,
    "matrix": raters.matrix,
    "sides": raters.sides,
    "wins": strategies.wins,
    "control": strategies.control,
    "strategies": strategies.ranking,
    "models": strategies.ranking,
    "strategy_wins": strategies.win_matrix,
    "model_wins": strategies.win_matrix,
}
OF_OTHERS = FIGURES | {
    "answers": kinds.answers,
    "passages": kinds.passages,
    "strategies": kinds.strengths,
    "retest": kinds.retest,
    "strategy_means": scores.origin_means,
    "model_means": scores.origin_means,
}
WORDS = summary.WORDS | progress.WORDS | raters.WORDS | strategies.WORDS | kinds.WORDS


def names(board: Board) -> tuple[str, ...]:
    """The figures of a task. Answers that are one person's own are only counted by day."""
    if board.kind.chooses:
        return tuple(FIGURES)
    marked = ("passages",) if board.marking else ()
    if not board.measures:
        return (*marked, "days")
    if board.ranked:
        return ("agreement", "answers", "strategies", "days")
    sides = ("sides",) if board.two_sided else ()
    means = ("strategy_means", "model_means") if board.two_sided or board.scored else ()
    retest = ("retest",) if board.config["owner_only"] else ()
    by_item = ("tiers", "patterns") if board.has_tiers else ()
    return ("agreement", *by_item, "answers", *marked, *means, *sides, *retest, "days")


def figure_of(board: Board, key: str) -> Figure:
    """Compute one figure; KeyError where there is none of this name."""
    make = (FIGURES if board.kind.chooses else OF_OTHERS)[key]
    about = About(key, *map(str, WORDS[key]))
    if not board.totals["votes"]:
        return Figure(*about, reason=_("There are no votes yet."))
    return Figure(**about._asdict() | make(board, about))
