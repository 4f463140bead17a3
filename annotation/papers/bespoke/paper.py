"""The paper, and its arms of search-augmented answers: what each shows of the asker's history."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

from django.utils.translation import gettext_lazy as _

from annotation.candidates import strategies
from annotation.candidates.strategies import Ask, Brief, Draft, Strategy, from_sources
from annotation.datasets.papers import Card, Paper
from annotation.imports.recipes import Recipe
from annotation.papers.bespoke import judge, layout, reader

# Characters that are shown of the owner's history.
HISTORY, SMALL_HISTORY = 24_000, 2_500


def _searched_raw(brief: Brief, ask: Ask) -> Draft:
    return from_sources(brief, ask, _joined(brief))


def _searched_static(brief: Brief, ask: Ask) -> Draft:
    about = ask("static_profile", strategies.static_profile(_joined(brief), brief.manner))
    return from_sources(brief, ask, about)


def _searched_aware(brief: Brief, ask: Ask) -> Draft:
    prompt = strategies.aware_profile(brief.question, _joined(brief), brief.manner)
    return from_sources(brief, ask, ask("aware_profile", prompt))


def _joined(brief: Brief) -> str:
    """The sessions one after another, each with an equal share of the room at least."""
    room = SMALL_HISTORY if brief.manner.small else HISTORY
    if not brief.history:
        return ""
    share = max(200, room // len(brief.history))
    return "\n\n---\n\n".join(text[:share] for text in brief.history)[:room]


# Of the newest sessions, and of those that are nearest to the question.
ARMS = {
    "search-raw": (
        _searched_raw,
        _("raw history, the newest sessions"),
        _("raw history, the sessions nearest to the question"),
    ),
    "search-static": (
        _searched_static,
        _("static profile, from the newest sessions"),
        _("static profile, from the nearest sessions"),
    ),
    "search-aware": (
        _searched_aware,
        _("query-aware profile, from the newest sessions"),
        _("query-aware profile, from the nearest sessions"),
    ),
}


def _strategies() -> Iterator[tuple[str, Strategy]]:
    places = count(11)
    for name, (write, newest, nearest) in ARMS.items():
        for suffix, words in (("", newest), ("-selected", nearest)):
            shown = {"searches": True, "history": True, "selects": bool(suffix)}
            twice = write is not _searched_raw
            strategy = Strategy(write, words=words, place=next(places), asks_twice=twice, **shown)
            yield f"{name}{suffix}", strategy
    words = _("oracle: the model is shown the need")
    oracle = Strategy(from_sources, words=words, place=next(places), searches=True, oracle=True)
    yield "search-oracle", oracle


RECIPE = Recipe(
    _("BESPOKE queries"),
    {"prompt": ("query",), "id": (["user", "query-id"], ["user", "query_id"])},
    {"persona": ("user",), "need": ("gold_information_need",)},
)
PAPER = Paper(
    name="bespoke",
    title="BESPOKE: Benchmark for Search-Augmented Large Language Model Personalization via "
    "Diagnostic Feedback",
    kinds=("feedback",),
    persons=True,
    needs="scored feedback by the owners of histories",
    layout=layout,
    store=reader.store,
    tables=(layout.QUERIES,),
    faults=layout.leaks,
    judge=judge,
    shots=True,
    recipes=Path(__file__).parent / "recipes",
    mappings={"bespoke": RECIPE},
    strategies=dict(_strategies()),
    card=Card(
        about="Queries that people asked of their own accord, the need behind each, their scores "
        "and feedback on answers, the gold information they kept, rubrics, and as much of their "
        "histories as they agreed to publish. Users are pseudonyms of this release alone.",
        limits=("Each answer was judged by its asker alone: there is no agreement to report.",),
        remarks={
            "too_few_responses": "Too few responses, so all of them are shots",
            "rubric_left_out": "Rubric left out: it may be written from the responses that are "
            "tested",
            "without_rubric": "Tested without a rubric; its file is empty",
            "without_gold_information": "Tested without gold information; its file lists no claim",
        },
    ),
)
