"""The presets of questions that a task can be made of; what they are is data."""

from collections.abc import Callable
from itertools import groupby
from typing import Annotated, Any, Literal

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop
from pydantic import AfterValidator, model_validator

from annotation.judging.kinds import files, planning
from annotation.judging.kinds.files import CRITERIA_LIMIT, OPTIONS_LIMIT, POINTS_LIMIT, Files
from annotation.judging.kinds.kind import Config, Data, Kind, Planner
from annotation.judging.kinds.settings import CHIP_LIMIT, Chips, Different, Settings
from annotation.questions.base import Asking, setting

# The criteria are those of a paper, the explanations ours. Stored as they are, shown in the
# reader's language.
CRITERIA = {
    gettext_noop("Need Alignment"): gettext_lazy("Does it answer the need behind the query?"),
    gettext_noop("Content Depth"): gettext_lazy(
        "Is the amount and the level of detail right for you?"
    ),
    gettext_noop("Tone"): gettext_lazy("Does its voice fit you?"),
    gettext_noop("Explanation Style"): gettext_lazy("Is it organised in the way you prefer?"),
}
# Of a scale, from the answer shown first to the one shown second.
PREFERENCES = {
    5: [
        gettext_lazy("Answer 1 is much better"),
        gettext_lazy("Answer 1 is better"),
        gettext_lazy("No preference"),
        gettext_lazy("Answer 2 is better"),
        gettext_lazy("Answer 2 is much better"),
    ],
    7: [
        gettext_lazy("Answer 1 is much better"),
        gettext_lazy("Answer 1 is better"),
        gettext_lazy("Answer 1 is slightly better"),
        gettext_lazy("No preference"),
        gettext_lazy("Answer 2 is slightly better"),
        gettext_lazy("Answer 2 is better"),
        gettext_lazy("Answer 2 is much better"),
    ],
}
VERDICTS = {
    "accepted": gettext_lazy("accepted"),
    "uncertain": gettext_lazy("uncertain"),
    "rejected": gettext_lazy("rejected"),
}
CAUSE = "cause"
CAUSES = {
    "overgeneralised": gettext_lazy("overgeneralised"),
    "missing-evidence": gettext_lazy("the conversation does not show it"),
    "task-context": gettext_lazy("it belongs to the task, not to the person"),
    "not-standalone": gettext_lazy("it cannot be understood by itself"),
    "other": gettext_lazy("something else"),
}
RELEVANT = {
    "yes": gettext_lazy("Yes, it should"),
    "no": gettext_lazy("No, it should not"),
}
DECISIONS = {
    "keep": gettext_lazy("keep"),
    "edit": gettext_lazy("edit"),
    "drop": gettext_lazy("drop"),
}
# Words of other tools.
ACCEPTED = {"yes": "accepted", "true": "accepted", "unsure": "uncertain", "maybe": "uncertain"}
ACCEPTED |= {"no": "rejected", "false": "rejected"}
YES_OR_NO = {"true": "yes", "1": "yes", "false": "no", "0": "no"}
# What an item of own questions can show beside its answers.
SHOWS = {
    "request": gettext_lazy("a request"),
    "need": gettext_lazy("the need behind it"),
    "persona": gettext_lazy("the person"),
    "attribute": gettext_lazy("an attribute of the person, with its conversations"),
}
FIRST = {"type": "label", "name": "verdict", "classes": [{"name": "yes"}, {"name": "no"}]}


def _classes(titles: dict[str, Any]) -> list[dict]:
    return [{"name": name, "title": str(title)} for name, title in titles.items()]


def _planned_by(planner: Planner) -> Callable[[Config], Planner]:
    return lambda config: planner


def _pairs(title: Any) -> Any:
    return setting(1, title=title, ge=1, le=100)


# The best of two or three answers; where the task allows, a tie or none of them.


class SelectionSettings(Settings):
    options: Literal[3, 2] = setting(2, title=gettext_lazy("Answers side by side"))
    pairs_per_query: int = _pairs(gettext_lazy("Pairs a query (for two answers)"))
    tie: bool = setting(False, title=gettext_lazy("Allow “equally good”"))
    none: bool = setting(False, title=gettext_lazy("Allow “none meets the need”"))
    strength: bool = setting(False, title=gettext_lazy("Ask how much better the choice is"))


SELECTION = Kind(
    code="selection",
    name=gettext_lazy("choose the best answer"),
    question=gettext_lazy("Which answer fits this person best and helps most?"),
    settings=SelectionSettings,
    shows=("query", "options"),
    asks_for=lambda config: [
        {name: config[name] for name in ("tie", "none", "strength")}
        | {"type": "choice", "name": "choice", "reminder": _("Choose one of the answers first.")}
        | {"wording": {"none": _("None meets the need")}}
    ],
    planner=_planned_by(planning.compared),
    primary="choice",
    tiers=True,
    files=Files(
        config=files.choice_config,
        imported=files.choice_imported,
        released=files.choice_released,
        published_config=files.choice_published,
    ),
)


# How much better one of two answers is.


class PreferenceSettings(Settings):
    options: Literal[2] = 2
    points: Literal[5, 7] = setting(5, title=gettext_lazy("Points of the scale"))
    pairs_per_query: int = _pairs(gettext_lazy("Pairs a query"))
    # Whether items name the attribute by which one of the answers was personalised.
    attribute: bool = setting(
        False,
        title=gettext_lazy("Show an attribute of the person"),
        description=gettext_lazy(
            "Items are then planned from attributes that a majority held relevant to a prompt: the "
            "generic answer against one written from the attribute."
        ),
    )


PREFERENCE = Kind(
    code="preference",
    name=gettext_lazy("rate two answers on a scale"),
    question=gettext_lazy("Which answer is better for this person?"),
    settings=PreferenceSettings,
    shows=("query", "options"),
    asks_for=lambda config: [
        {"type": "scale", "name": "preference", "points": config["points"]}
        | {"names": [str(name) for name in PREFERENCES[config["points"]]]}
        | {"reminder": _("Choose a place on the scale first.")}
    ],
    planner=lambda config: planning.by_attribute if config.get("attribute") else planning.compared,
    primary="preference",
    files=Files(
        config=files.scale_config,
        imported=files.scale_imported,
        released=files.scale_released,
        published_config=files.scale_published,
    ),
)


# Scores on a task's criteria, each with diagnostic feedback, for every answer.


class FeedbackSettings(Settings):
    criteria: Annotated[
        list[str], AfterValidator(Different(CRITERIA_LIMIT, CHIP_LIMIT, least=1))
    ] = setting(
        list(CRITERIA),
        title=gettext_lazy("Criteria"),
        description=gettext_lazy("One a line; each is scored from 1 to the points of the scale."),
    )
    points: int = setting(5, title=gettext_lazy("Points of the scale"), ge=2, le=POINTS_LIMIT)
    options: int = setting(1, title=gettext_lazy("Answers side by side"), ge=1, le=5)
    feedback: Asking = setting("required", title=gettext_lazy("Feedback on each criterion"))
    least: int = setting(1, title=gettext_lazy("Characters of feedback, at least"), ge=1, le=1000)
    feedback_chips: Chips = setting(
        [], title=gettext_lazy("Common feedback to tick"), description=gettext_lazy("One a line.")
    )


def _criteria(config: Config) -> list[dict]:
    shared = {"points": config["points"], "comment": config["feedback"], "least": config["least"]}
    shared |= {"type": "rating", "about": "option", "chips": config["feedback_chips"]}
    return [
        {"name": name, "title": _(name), "help": str(CRITERIA.get(name, ""))} | shared
        for name in config["criteria"]
    ]


FEEDBACK = Kind(
    code="feedback",
    name=gettext_lazy("score answers on criteria, with feedback"),
    question=gettext_lazy("How well does this answer serve you?"),
    settings=FeedbackSettings,
    shows=("query", "options"),
    asks_for=_criteria,
    planner=_planned_by(planning.grouped),
    shape="scores",
    files=Files(
        config=files.criteria_config,
        imported=files.criteria_imported,
        released=files.criteria_released,
        published_config=files.criteria_published,
        answer=files.criteria_answer,
        label=files.criteria_label,
    ),
)


# Does an attribute hold that a model extracted from a conversation?


def folded(messages: list[dict]) -> list[tuple[bool, list[dict]]]:
    """A conversation in runs of turns: (whether it is context to unfold, turns).

    Open are the turns with evidence and one before and after each; where no turn has any, all.
    """
    marked = [place for place, turn in enumerate(messages) if turn.get("spans")]
    near = {place + step for place in marked for step in (-1, 0, 1)} or set(range(len(messages)))
    runs = groupby(enumerate(messages), key=lambda turn: turn[0] not in near)
    return [(folded, [turn for _place, turn in run]) for folded, run in runs]


ATTRIBUTE = Kind(
    code="attribute",
    name=gettext_lazy("judge extracted attributes"),
    question=gettext_lazy("Does the conversation show that this is true of the person?"),
    settings=Settings,
    shows=("attribute",),
    asks_for=lambda config: [
        {"type": "label", "name": "verdict", "classes": _classes(VERDICTS)}
        | {"reminder": _("Choose a verdict first.")},
        {"type": "label", "name": CAUSE, "classes": _classes(CAUSES)}
        | {"asked_when": {"question": "verdict", "labels": ["uncertain", "rejected"]}}
        | {"title": _("What is wrong with it? (not asked where it is accepted)")}
        | {"reminder": _("Say what is wrong with the attribute.")},
    ],
    planner=_planned_by(planning.attributes),
    primary="verdict",
    detail_question=CAUSE,
    context=lambda shown, typed: {"chats": [folded(each) for each in shown.evidence]},
    files=Files(
        config=lambda file: {} if file.has("attribute") and not file.has("prompt") else None,
        imported=files.classes_imported(ACCEPTED, ("uncertain", "rejected"), "other"),
        released=files.classes_released,
    ),
)


# Should an attribute of the person change the response to a prompt in any way?


class RelevanceSettings(Settings):
    together: bool = setting(
        False,
        title=gettext_lazy("Show all attributes of a prompt on one screen"),
        description=gettext_lazy("One vote an attribute; a reason cannot be required then."),
    )

    @model_validator(mode="after")
    def _one_reason_at_most(self) -> "RelevanceSettings":
        if self.together and self.reason == "required":
            raise ValueError(
                _("A reason for all attributes of a screen can be optional, not required.")
            )
        return self


def _screen(shown: Any, typed: Data) -> dict[str, Any]:
    """The items of a screen: (field, statement, answer) of each."""
    fields = [(f"answer-relevant-{slot}", words) for slot, words in shown.rows]
    return {"rows": [(field, words, typed.get(field, "")) for field, words in fields]}


RELEVANCE = Kind(
    code="relevance",
    name=gettext_lazy("judge the relevance of attributes"),
    question=gettext_lazy("Should this attribute change the response in any way?"),
    settings=RelevanceSettings,
    shows=("query", "attribute"),
    asks_for=lambda config: [
        {"type": "label", "name": "relevant", "classes": _classes(RELEVANT)}
        | {"reminder": _("Choose yes or no first.")}
    ],
    planner=_planned_by(planning.attributes_by_query),
    primary="relevant",
    context=_screen,
    files=Files(
        config=lambda file: {} if file.has("attribute", "prompt") else None,
        imported=files.classes_imported(YES_OR_NO),
        released=files.classes_released,
    ),
)


# Keep, edit or drop each atomic claim of a gold response; what is left is the gold information.


def _drop_ungrounded(shown: Any, typed: QueryDict) -> QueryDict:
    """Drop every claim with words that the response does not have."""
    typed = typed.copy()
    for place, claim in enumerate(shown.claims, start=1):
        if claim["missing"]:
            typed[f"answer-claims/{place}"] = "drop"
    return typed


CLAIMS = Kind(
    code="claims",
    name=gettext_lazy("check the claims of a gold response"),
    question=gettext_lazy("Which claims belong to a right answer?"),
    settings=Settings,
    shows=("query", "gold"),
    asks_for=lambda config: [
        {"type": "label", "name": "claims", "about": "part", "classes": _classes(DECISIONS)}
        | {"reminder": _("Decide on claim %(n)d.")},
        {"type": "text", "name": "edited", "about": "part"}
        | {"reminder": _("Write the new text of claim %(n)d.")}
        | {"asked_when": {"question": "claims", "labels": ["edit"]}},
    ],
    planner=_planned_by(planning.gold_responses),
    shape="parts",
    compared=False,
    context=lambda shown, typed: {
        "ungrounded": sum(1 for claim in shown.claims if claim["missing"])
    },
    fill=_drop_ungrounded,
    files=Files(
        config=lambda file: None,
        imported=files.claims_imported,
        released=files.claims_released,
        claims=files.released_claims,
        answer=files.claims_answer,
        label=files.claims_label,
    ),
)


# Three to eight answers in order; where the task allows, with equal places.


class RankingSettings(Settings):
    options: int = setting(4, title=gettext_lazy("Answers to order"), ge=3, le=OPTIONS_LIMIT)
    ties: bool = setting(False, title=gettext_lazy("Allow equal places"))


RANKING = Kind(
    code="ranking",
    name=gettext_lazy("put answers in order"),
    question=gettext_lazy("Which answer is best for this person, which comes next?"),
    settings=RankingSettings,
    shows=("query", "options"),
    asks_for=lambda config: [
        {"type": "ranking", "name": "ranking", "ties": config["ties"], "title": _("Ranking")}
    ],
    planner=_planned_by(planning.grouped),
    shape="ranks",
    files=Files(
        config=files.ranking_config,
        imported=files.ranking_imported,
        released=files.ranking_released,
        published_config=lambda texts, attribute: {"options": len(texts("candidates"))},
        answer=files.ranking_answer,
    ),
)


# Questions of the task's own, of any type.


class QuestionsSettings(Settings):
    shows: list[str] = ["request", "need", "persona"]
    options: int = setting(
        1,
        title=gettext_lazy("Answers side by side"),
        description=gettext_lazy("0: there are no answers to judge."),
        ge=0,
        le=OPTIONS_LIMIT,
    )
    pairs_per_query: int = _pairs(None)
    questions: Any = [FIRST]

    @model_validator(mode="after")
    def _shows_something(self) -> "QuestionsSettings":
        if unknown := set(self.shows) - set(SHOWS):
            raise ValueError(f"shows has “{min(unknown)}”. Known: {', '.join(SHOWS)}.")
        if not self.options and not {"request", "attribute"} & set(self.shows):
            raise ValueError(_("An item without answers needs a request or an attribute."))
        if self.options and "request" not in self.shows:
            raise ValueError(_("Answers need the request that they answer."))
        return self


def _planner(config: Config) -> Planner:
    if config["options"]:
        return planning.compared if config["options"] == 2 else planning.grouped
    if "attribute" in config["shows"]:
        both = "request" in config["shows"]
        return planning.attributes_by_query if both else planning.attributes
    return planning.requests


QUESTIONS = Kind(
    code="questions",
    name=gettext_lazy("ask questions of your own"),
    question="",
    settings=QuestionsSettings,
    shows=("query", "options"),
    asks_for=lambda config: config["questions"],
    planner=_planner,
    shape="questions",
    tiers=True,
    files=Files(config=files.questions_config, imported=files.questions_imported),
)
KINDS = {
    kind.code: kind
    for kind in (
        *(SELECTION, PREFERENCE, FEEDBACK, ATTRIBUTE, RELEVANCE, CLAIMS, RANKING, QUESTIONS),
    )
}
