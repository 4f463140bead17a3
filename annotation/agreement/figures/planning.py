"""A plan from the planner's form: assumptions, or what a task's votes say in their place."""

import numpy as np
from django.utils.translation import gettext as _

from annotation.agreement.board import Board
from annotation.agreement.statistics import kappas, sample_size


def plan(wanted: dict, board: Board | None = None) -> dict:
    """Items, judgments and hours for ``wanted``, the cleaned data of the form.

    ``board`` is the task whose votes are the pilot. The answer also says what was used: ``kappa``,
    ``spread`` (None for a win rate) and ``seconds``. Raises ValueError with a sentence where the
    pilot cannot say, or there are fewer annotators than votes an item.
    """
    inputs = _pilot(board, wanted) if board else {**wanted, "spread": None}
    votes, half = wanted["votes"], wanted["half_width"]
    if wanted["goal"] == "kappa":
        if inputs["spread"] is None:
            inputs["spread"] = sample_size.assumed_kappa_spread(
                inputs["kappa"], votes, inputs["options"]
            )
        items = sample_size.items_for_kappa(half, inputs["spread"])
    else:
        inputs["spread"] = None
        kappa = min(max(inputs["kappa"], 0.0), 1.0)
        items = sample_size.items_for_win_rate(half, votes, kappa, wanted["rate"] or 0.5)
    used = {name: inputs[name] for name in ("kappa", "spread", "seconds")}
    return used | sample_size.workload(items, votes, inputs["seconds"], wanted["raters"])


def _pilot(board: Board, wanted: dict) -> dict:
    """Kappa, its spread over items and the median time of the pilot's votes."""
    counts = np.array([votes for votes, _complete, _items in board.patterns])
    weight = np.array([items for _votes, _complete, items in board.patterns])
    patterns = kappas.Patterns(counts, weight)
    kappa, spread = kappas.symmetric_kappa(patterns), sample_size.kappa_spread(patterns)
    if kappa.value is None or spread is None:
        raise ValueError(_("The pilot says nothing about kappa: two items need two votes each."))
    timed = board.rows.seconds[np.isfinite(board.rows.seconds)]
    seconds = float(np.median(timed)) if len(timed) else wanted["seconds"]
    if seconds is None:
        raise ValueError(_("The pilot's times are not known: say how long a judgment takes."))
    return {"kappa": kappa.value, "spread": spread, "seconds": seconds}
