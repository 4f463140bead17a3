"""Mappings for what people have. A recipe is data: the columns of each target.

A target has alternatives, of which the first that the file has is taken; a list is all of its
columns together. ``?`` marks a target that may be missing.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.core.records import number_of
from annotation.imports.mapping import Mapping, MappingError, checked, has_type, value_at
from annotation.imports.trees import JOINED

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

Columns = str | list[str]


@dataclass(frozen=True)
class Recipe:
    """``required`` and ``optional`` targets, each with its alternatives."""

    title: "StrOrPromise"
    required: dict[str, tuple[Columns, ...]]
    optional: dict[str, tuple[Columns, ...]] = field(default_factory=dict)
    # Words in labels and scores, and what they stand for.
    values: dict[str, str] = field(default_factory=dict)
    # What is published of where such files come from (studies.Provenance.ASKED).
    provenance: dict[str, "str | list[str]"] = field(default_factory=dict)
    # Every column that is not named otherwise and holds numbers is a criterion.
    criteria: bool = False
    # Of conversations only answers to this turn of a person; 0 takes all.
    depth: int = 0


_PROMPT: tuple[Columns, ...] = (
    *("prompt", "question", ["instruction", "input"], "instruction"),
    *("query", "input", "turns"),
)
_WORKER = ("annotator", "worker", "rater", "annotator_id", "rater_id", "judge", "slot")
_ID = ("id", "item_id", "item", "task", "question_id", "idx")

_PRISM: dict[str, str | list[str]] = {
    "source": "PRISM, HannahRoseKirk/prism-alignment",
    "citation": "Kirk et al. 2024, arXiv:2404.16019",
    "licence": "CC-BY-4.0 (people), CC-BY-NC-4.0 (models)",
    "languages": ["en"],
}
_PREFEVAL: dict[str, str | list[str]] = {
    "source": "PrefEval, amazon-science/PrefEval",
    "citation": "Zhao et al. 2025, ICLR",
    "licence": "CC-BY-NC-4.0",
    "languages": ["en"],
}
GENERAL = {
    "arena": Recipe(
        gettext_lazy("Chatbot Arena battles"),
        {
            "prompt": ("conversation_a",),
            "answer_a": ("conversation_a",),
            "answer_b": ("conversation_b",),
        },
        {
            "id": ("question_id",),
            "model_a": ("model_a",),
            "model_b": ("model_b",),
            "label": ("winner",),
            "worker": ("judge",),
            "language": ("language",),
            "submitted_at": ("tstamp",),
        },
        provenance={
            "source": "Chatbot Arena conversations, lmsys/chatbot_arena_conversations",
            "citation": "Zheng et al. 2023, arXiv:2306.05685",
            "licence": "CC-BY-4.0 (prompts), CC-BY-NC-4.0 (answers)",
        },
    ),
    "pandalm": Recipe(
        gettext_lazy("PandaLM test set"),
        {
            "prompt": (["instruction", "input"], "instruction"),
            "answer_a": ("response1", "output1"),
            "answer_b": ("response2", "output2"),
        },
        {
            "id": ("idx", "id"),
            "label": (["annotator1", "annotator2", "annotator3"],),
        },
        {"0": "tie"},
        provenance={
            "source": "PandaLM test set",
            "citation": "Wang et al. 2023, arXiv:2306.05087",
            "languages": ["en"],
        },
    ),
    "mtbench": Recipe(
        gettext_lazy("MT-bench human judgments"),
        {
            "prompt": ("conversation_a",),
            "answer_a": ("conversation_a",),
            "answer_b": ("conversation_b",),
        },
        {
            "model_a": ("model_a",),
            "model_b": ("model_b",),
            "turn": ("turn",),
            "label": ("winner",),
            "worker": ("judge",),
        },
        provenance={
            "source": "MT-bench human judgments, lmsys/mt_bench_human_judgments",
            "citation": "Zheng et al. 2023, arXiv:2306.05685",
            "licence": "CC-BY-4.0",
            "languages": ["en"],
        },
    ),
    "preferences": Recipe(
        gettext_lazy("Preference pairs: prompt, chosen, rejected"),
        {"answer_a": ("chosen",), "answer_b": ("rejected", "reject")},
        {
            "prompt": (*_PROMPT, "chosen"),
            "id": _ID,
            "model_a": ("chosen_model", "chosen-model"),
            "model_b": ("rejected_model", "rejected-model"),
            "persona": ("persona", "user_id"),
        },
    ),
    "prompts": Recipe(
        gettext_lazy("Questions or prompts"),
        {"prompt": _PROMPT},
        {
            "id": _ID,
            "persona": ("persona",),
            "need": ("need", "preference"),
            "type": ("type",),
            "scenario": ("scenario", "topic", "category"),
            "language": ("language",),
        },
    ),
    "answers": Recipe(
        gettext_lazy("Answers: prompt, answer, model"),
        {
            "prompt": (*_PROMPT, "context", "source", "id", "item_id"),
            "answer": ("answer", "response", "output", "completion", "text", "candidates[].text"),
        },
        {
            "id": _ID,
            "model": ("model", "generator", "system", "candidates[].system"),
            "candidate": ("candidates[].id",),
            "strategy": ("strategy",),
            "persona": ("persona",),
            "need": ("need",),
            "language": ("language",),
        },
    ),
    "ratings": Recipe(
        gettext_lazy("Ratings: item, annotator, criterion or one column a criterion"),
        {"id": _ID, "worker": _WORKER},
        {
            "criterion": ("criterion", "aspect", "dimension"),
            "label": ("label", "choice", "winner", "verdict", "is_safe"),
            "score": ("score", "rating", "ratings", "scores"),
            "model": ("model",),
            "prompt": ("prompt", "question", ["instruction", "input"], "instruction"),
            "answer": ("answer", "response", "output"),
            "reason": ("reason", "comment", "rationale"),
            "seconds": ("seconds",),
            "submitted_at": ("submitted_at", "timestamp"),
        },
        criteria=True,
    ),
    "personas": Recipe(
        gettext_lazy("Personas"),
        {"persona": ("profile", "persona", "input persona", "statements", "user 1 personas", "")},
        {"id": ("id", "persona_id", "user_id"), "memory": ("memory",)},
    ),
    "conversations": Recipe(
        gettext_lazy("Conversations of many people: WildChat, LMSYS-Chat-1M, ShareGPT"),
        {"conversation": ("conversation", "conversations")},
    ),
    "prism": Recipe(
        gettext_lazy("PRISM utterances of opening turns: later ones need their conversation"),
        {"prompt": ("user_prompt",), "answer": ("model_response",)},
        {"model": ("model_name",), "persona": ("user_id",), "scenario": ("conversation_type",)},
        provenance=_PRISM,
        depth=1,
    ),
    "prism-conversations": Recipe(
        gettext_lazy("PRISM conversations: every turn, and the answer that was chosen"),
        {"prompt": ("messages",), "answer": ("answers[].text",), "label": ("chosen",)},
        {
            "id": ("id",),
            "candidate": ("answers[].id",),
            "model": ("answers[].model",),
            "worker": ("user_id",),
            "scenario": ("conversation_type",),
            "submitted_at": ("generated_datetime",),
        },
        provenance=_PRISM,
    ),
    "oasst": Recipe(
        gettext_lazy("OpenAssistant trees: every message with its answers"),
        {"prompt": ("messages",), "answer": ("answers[].text",), "key": ("ranking",)},
        {"id": ("id",), "candidate": ("answers[].id",), "language": ("language",)},
        provenance={
            "source": "OpenAssistant Conversations, OpenAssistant/oasst1",
            "citation": "Köpf et al. 2023, arXiv:2304.07327",
            "licence": "Apache-2.0",
        },
    ),
    "prefeval": Recipe(
        gettext_lazy("PrefEval: a stated preference, a question, options"),
        {"prompt": ("question",), "persona": ("preference",)},
        {
            "id": ("id",),
            "answer": ("options[]", "classification_task_options[]"),
            "scenario": ("topic",),
        },
        provenance=_PREFEVAL,
    ),
    # A preference that the conversation only shows: an attribute, which no question's card names.
    "prefeval-conversations": Recipe(
        gettext_lazy(
            "PrefEval conversations: a persona, a preference in it, a question at the end"
        ),
        {
            "prompt": (["messages", "question"],),
            "persona": ("persona",),
            "attribute": ("preference",),
        },
        {"id": ("id",), "turn": ("turn",), "scenario": ("topic",)},
        provenance=_PREFEVAL,
    ),
    "personamem": Recipe(
        gettext_lazy("PersonaMem questions, with the conversations where they are joined"),
        {
            "prompt": (
                *([JOINED, "user_question_or_message"], [JOINED, "question"]),
                *("user_question_or_message", "question"),
            ),
            "answer": ("options[].text",),
            "candidate": ("options[].id",),
            "key": ("correct_answer",),
        },
        {
            "id": ("question_id",),
            "persona": ("persona_id", "shared_context_id"),
            "scenario": ("topic",),
        },
        provenance={
            "source": "PersonaMem, bowen-upenn/PersonaMem",
            "citation": "Jiang et al. 2025, arXiv:2504.14225",
            "languages": ["en"],
        },
    ),
    "lamp": Recipe(
        gettext_lazy("LaMP questions"),
        {"prompt": ("input",)},
        {"id": ("id",), "persona": ("profile",)},
    ),
}


# Further recipes by name: those of papers' published tables.
SOURCES: list[Callable[[], dict[str, Recipe]]] = []


def by_name() -> dict[str, Recipe]:
    """Every recipe by its name."""
    return GENERAL | {name: made for source in SOURCES for name, made in source().items()}


def provenance_of(name: str) -> dict:
    """What the recipe ``name`` knows of where its files come from; {} where there is none."""
    recipe = by_name().get(name)
    return dict(recipe.provenance) if recipe else {}


def fitting(rows: list[dict]) -> list[str]:
    """The names of the recipes that know columns of a file that begins with ``rows``."""
    names = []
    for name in by_name():
        try:
            mapping = mapping_of(name, rows)
        except MappingError:
            continue
        # A recipe that takes the whole row for a text reads any file.
        if ("",) not in mapping.columns.values():
            names.append(name)
    return names


def mapping_of(name: str, rows: list[dict]) -> Mapping:
    """The mapping that the recipe ``name`` gives for a file that begins with ``rows``.

    MappingError where there is no such recipe, or the file lacks a column that it needs.
    """
    recipe = by_name().get(name)
    if recipe is None:
        words = {"name": name[:60], "names": ", ".join(by_name())}
        raise MappingError(_("There is no recipe “%(name)s”. Known: %(names)s.") % words)
    columns: dict[str, tuple[str, ...]] = {}
    for target, alternatives in (recipe.required | recipe.optional).items():
        names = next((names for names in alternatives if _has(rows, names)), None)
        if names is not None:
            columns[target] = (names,) if isinstance(names, str) else tuple(names)
        elif target in recipe.required:
            raise MappingError(
                _("The recipe “%(recipe)s” needs a column %(names)s; the file has %(columns)s.")
                % {
                    "recipe": name,
                    "names": _(" or ").join(f"“{_shown(names)}”" for names in alternatives),
                    "columns": ", ".join(
                        list(dict.fromkeys(key for row in rows for key in row))[:30]
                    ),
                }
            )
    if "type" in columns and not any(has_type(value_at(row, columns["type"][0])) for row in rows):
        del columns["type"]  # a column of that name means other things elsewhere
    if "score" in columns:
        columns.pop("label", None)
    if recipe.criteria and not {"score", "label"} & columns.keys():
        columns["score"] = tuple(_numbers(rows, columns))
    columns = {target: names for target, names in columns.items() if names}
    return checked(Mapping(columns, recipe.values, depth=recipe.depth))


def _has(rows: list[dict], names: Columns) -> bool:
    if isinstance(names, list):
        return all(_has(rows, name) for name in names)
    return any(value_at(row, names) is not None for row in rows)


def _shown(names: Columns) -> str:
    return names if isinstance(names, str) else " + ".join(names)


def _numbers(rows: Iterable[dict], columns: dict) -> list[str]:
    """Columns that nobody uses and whose values are all numbers."""
    used = {name for names in columns.values() for name in names}
    names = dict.fromkeys(key for row in rows for key in row if key not in used)

    def holds(value: Any) -> bool:
        return value in (None, "") or number_of(value) is not None

    return [name for name in names if all(holds(row.get(name)) for row in rows)]
