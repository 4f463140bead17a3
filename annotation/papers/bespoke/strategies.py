"""The paper's arms of search-augmented answers: what each shows of the asker's history. Pure."""

from django.utils.translation import gettext_lazy as _

from annotation.candidates import prompts
from annotation.candidates.strategies import Ask, Brief, Draft, Strategy, from_sources

# Characters that are shown of the owner's history.
HISTORY, SMALL_HISTORY = 24_000, 2_500


def _searched_raw(brief: Brief, ask: Ask) -> Draft:
    return from_sources(brief, ask, _joined(brief))


def _searched_static(brief: Brief, ask: Ask) -> Draft:
    about = ask("static_profile", prompts.static_profile(_joined(brief), brief.manner))
    return from_sources(brief, ask, about)


def _searched_aware(brief: Brief, ask: Ask) -> Draft:
    prompt = prompts.aware_profile(brief.question, _joined(brief), brief.manner)
    return from_sources(brief, ask, ask("aware_profile", prompt))


def _joined(brief: Brief) -> str:
    """The sessions one after another, each with an equal share of the room at least."""
    room = SMALL_HISTORY if brief.manner.small else HISTORY
    if not brief.history:
        return ""
    share = max(200, room // len(brief.history))
    return "\n\n---\n\n".join(text[:share] for text in brief.history)[:room]


STRATEGIES = {
    "search-raw": Strategy(
        _searched_raw,
        words=_("raw history, the newest sessions"),
        place=11,
        searches=True,
        history=True,
    ),
    "search-raw-selected": Strategy(
        _searched_raw,
        words=_("raw history, the sessions nearest to the question"),
        place=12,
        searches=True,
        history=True,
        selects=True,
    ),
    "search-static": Strategy(
        _searched_static,
        words=_("static profile, from the newest sessions"),
        place=13,
        asks_twice=True,
        searches=True,
        history=True,
    ),
    "search-static-selected": Strategy(
        _searched_static,
        words=_("static profile, from the nearest sessions"),
        place=14,
        asks_twice=True,
        searches=True,
        history=True,
        selects=True,
    ),
    "search-aware": Strategy(
        _searched_aware,
        words=_("query-aware profile, from the newest sessions"),
        place=15,
        asks_twice=True,
        searches=True,
        history=True,
    ),
    "search-aware-selected": Strategy(
        _searched_aware,
        words=_("query-aware profile, from the nearest sessions"),
        place=16,
        asks_twice=True,
        searches=True,
        history=True,
        selects=True,
    ),
    "search-oracle": Strategy(
        from_sources,
        words=_("oracle: the model is shown the need"),
        place=17,
        searches=True,
        oracle=True,
    ),
}
