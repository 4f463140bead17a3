"""Questions within a study's budget: reserved before they are sent, settled as answers come."""

from collections.abc import Iterator

from annotation.candidates import spending
from annotation.candidates.endpoints import CallFailed, Endpoint
from annotation.evaluation.asking import Outcome, Question, Stopped, ask_all


def within_budget(study_id: int, server: Endpoint, questions: list[Question]) -> Iterator[Outcome]:
    """``asking.ask_all``, each call within the budget; Stopped where there is no more room.

    What is under way then is still waited for. A question that fails stays reserved: its call may
    have been charged.
    """
    reserved: dict[str, spending.Reservation] = {}
    refusal = ""

    def affordable() -> Iterator[Question]:
        nonlocal refusal
        for question in questions:
            try:
                messages = question.messages()
                reserved[question.unit] = spending.reserve(study_id, server, messages)
            except CallFailed as failure:
                refusal = failure.code
                return
            yield question

    for outcome in ask_all(server, affordable()):
        reservation = reserved.pop(outcome.unit)
        if not outcome.code:
            used = outcome.tokens_in + outcome.tokens_out
            cost = server.cost(outcome.tokens_in, outcome.tokens_out)
            spending.settle(reservation, used, cost)
        yield outcome
    if refusal:
        raise Stopped(refusal)
