"""The figures of a task of selections, in the order of its page."""

from annotation.agreement.figures import progress, raters, strategies, summary
from annotation.agreement.figures.board import Board

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
    "flags": raters.rater_flags,
}


class SelectionBoard(Board):
    """One task whose answers are choices between answers."""

    @property
    def makers(self) -> dict:
        """Every figure."""
        return FIGURES

    def words(self) -> dict[str, tuple]:
        """Of every figure."""
        return words()


def words() -> dict[str, tuple]:
    """{figure: title, lead and how}."""
    every: dict[str, tuple] = {}
    for part in (summary, progress, raters, strategies):
        every |= part.words()
    return every
