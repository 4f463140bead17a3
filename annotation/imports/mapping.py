"""Which column holds what: targets, a proposal from names and values, and checks. Pure."""

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.core.errors import DomainError
from annotation.imports import paths

# What a column may hold, in the order of the page.
TARGETS = {
    "id": gettext_lazy("id: what rows with the same id belong to"),
    "prompt": gettext_lazy("question or prompt"),
    "answer": gettext_lazy("answer, one or several"),
    "answer_a": gettext_lazy("answer A (chosen)"),
    "answer_b": gettext_lazy("answer B (rejected)"),
    "candidate": gettext_lazy("name of each answer in the labels"),
    "model": gettext_lazy("model of the answer"),
    "model_a": gettext_lazy("model of answer A"),
    "model_b": gettext_lazy("model of answer B"),
    "strategy": gettext_lazy("strategy of the answer"),
    "persona": gettext_lazy("persona: an id, a description or a profile"),
    "memory": gettext_lazy("memory of the persona"),
    "attribute": gettext_lazy("attribute of the persona"),
    "conversation": gettext_lazy("conversation with a model, of WildChat, LMSYS or ShareGPT"),
    "need": gettext_lazy("information need"),
    "type": gettext_lazy("type of question: specific or general"),
    "scenario": gettext_lazy("scenario"),
    "language": gettext_lazy("language"),
    "turn": gettext_lazy("turn of the conversation that was judged"),
    "worker": gettext_lazy("annotator"),
    "label": gettext_lazy("label: which answer won, or a verdict"),
    "score": gettext_lazy("score"),
    "criterion": gettext_lazy("criterion of the score"),
    "own_question": gettext_lazy(
        "answer to a question of your own, which the column is named after"
    ),
    "key": gettext_lazy("key: what experts said; compared with, never shown"),
    "reason": gettext_lazy("reason"),
    "submitted_at": gettext_lazy("time of the judgment"),
    "seconds": gettext_lazy("seconds it took"),
}
# Several columns are joined to one text, or are an entry each.
SEVERAL = {
    *("prompt", "answer", "label", "score", "own_question"),
    *("persona", "reason", "id", "key"),
}
# What other tools call these, in lower case, letters and digits alone.
_NAMES = {
    "id": "itemid questionid idx promptid uid qid conversationid task",
    "prompt": "question query instruction source context input turns userprompt conversation",
    "answer": "response output completion modelresponse modeloutput generation",
    "answer_a": "responsea answer1 response1 output1 outputa chosen conversationa answera",
    "answer_b": "responseb answer2 response2 output2 outputb rejected reject conversationb answerb",
    "model": "modelname system generator modelid",
    "model_a": "modela model1 systema",
    "model_b": "modelb model2 systemb",
    "strategy": "method arm",
    "persona": "profile personaid inputpersona user1personas statements",
    "memory": "memories",
    "attribute": "trait",
    "need": "goldinformationneed informationneed",
    "scenario": "topic category",
    "language": "lang",
    "worker": "annotator annotatorid rater raterid judge judgeid workerid",
    "label": "winner choice vote verdict judgment preferred",
    "score": "rating ratings scores",
    "criterion": "aspect dimension",
    "key": "gold goldlabel goldmace expertgold expertlabel humanscore goldstandard",
    "reason": "justification comment rationale",
    "submitted_at": "timestamp tstamp createdat",
    "seconds": "duration timespent",
}
# The same in Chinese and Korean.
_NAMES_ELSEWHERE = {
    "id": "编号 번호",
    "prompt": "问题 提问 提示词 질문 프롬프트",
    "answer": "回答 答案 답변 응답",
    "answer_a": "回答a 回答1 答案a 答案1 답변a 답변1 응답a 응답1",
    "answer_b": "回答b 回答2 答案b 答案2 답변b 답변2 응답b 응답2",
    "model": "模型 모델",
    "model_a": "模型a 模型1 모델a 모델1",
    "model_b": "模型b 模型2 모델b 모델2",
    "persona": "人物 페르소나",
    "need": "需求 정보요구",
    "scenario": "场景 시나리오",
    "language": "语言 언어",
    "worker": "标注者 标注员 评审员 평가자",
    "label": "选择 胜者 선택 승자",
    "score": "评分 分数 점수",
    "criterion": "标准 기준",
    "reason": "理由 이유",
}
_BY_NAME = {
    name: target
    for target, names in _NAMES.items()
    for name in (
        *names.split(),
        *_NAMES_ELSEWHERE.get(target, "").split(),
        re.sub(r"[\W_]", "", target),
    )
} | {target: target for target in TARGETS if target != "conversation"}  # more often a question
TYPES = ("specific", "spedific", "general")  # published files have both spellings
# A column “preference” with more words than that states one; with fewer it may be a label.
LABEL_WORDS = 3
LENGTHS = {"label": 60, "key": 60, "worker": 90, "id": 200}


class MappingError(DomainError):
    """The mapping fits no file, or would bring in nothing."""

    code = "mapping"


@dataclass(frozen=True)
class Mapping:
    """The columns (places) of each target, and what words in labels and scores stand for."""

    columns: dict[str, tuple[str, ...]]
    values: dict[str, str] = field(default_factory=dict)

    def as_json(self) -> dict:
        return {"columns": {key: list(names) for key, names in self.columns.items()}} | {
            "values": self.values
        }

    @classmethod
    def from_json(cls, value: object) -> "Mapping":
        """Read ``{"columns": {target: column or [columns]}, "values": {}}``; MappingError."""
        columns = value.get("columns") if isinstance(value, dict) else None
        values = value.get("values") or {} if isinstance(value, dict) else {}
        if not isinstance(columns, dict) or not isinstance(values, dict):
            raise MappingError(_("A mapping names a column for each target."))
        read = {target: _columns(target, names) for target, names in columns.items()}
        texts = {str(key): str(word) for key, word in values.items()}
        return checked(cls({target: names for target, names in read.items() if names}, texts))

    def with_constants(self, texts: dict[str, list[str]]) -> "Mapping":
        """This mapping, in which targets are ``texts`` that are the same for all rows."""
        places = {
            target: tuple(f"{paths.CONSTANT}{text}" for text in of) for target, of in texts.items()
        }
        return checked(replace(self, columns=self.columns | places))

    def has(self, *targets: str) -> bool:
        """Whether one of these targets has a column."""
        return not self.columns.keys().isdisjoint(targets)

    # Asked of every row of a file: looked up once.
    @cached_property
    def wide(self) -> bool:
        """Whether a row has several answers."""
        several = self.columns.get("answer", ())
        return self.has("answer_a", "answer_b") or len(several) > 1 or "[]" in "".join(several)

    @cached_property
    def votes(self) -> bool:
        """Whether a row has human judgments."""
        return self.has("label", "score", "own_question")

    @cached_property
    def refers(self) -> bool:
        """Whether rows only name items that the study has."""
        makes = ("prompt", "answer", "answer_a", "persona", "memory", "attribute", "conversation")
        return not self.has(*makes)


def _columns(target: str, names: object) -> tuple[str, ...]:
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise MappingError(_("“%s” must name a column.") % str(target)[:60])
    return tuple(name for name in names if name or target == "persona")


def checked(mapping: Mapping) -> Mapping:
    """``mapping``, or MappingError where it cannot make a query, an item, a persona or a vote."""
    for target, names in mapping.columns.items():
        if target not in TARGETS:
            words = {"target": target[:60], "targets": ", ".join(TARGETS)}
            raise MappingError(_("There is no target “%(target)s”. Known: %(targets)s.") % words)
        for name in names:
            _check_path(name)
        if len(names) > 1 and target not in SEVERAL:
            raise MappingError(_("“%s” takes one column.") % target)
    if mapping.has("conversation") and len(mapping.columns) > 1:
        raise MappingError(_("Conversations are read whole: map nothing beside them."))
    if mapping.has("answer_a") != mapping.has("answer_b"):
        raise MappingError(_("Answer A and answer B belong together: map both."))
    if mapping.has("answer", "answer_a") and not mapping.has("prompt", "id"):
        raise MappingError(_("Answers need the question that they answer: map “prompt” or “id”."))
    if mapping.has("memory", "attribute") and not mapping.has("persona"):
        raise MappingError(_("Memories and attributes need their persona: map “persona”."))
    if mapping.refers and not (mapping.has("id") and (mapping.votes or mapping.has("key"))):
        raise MappingError(
            _(
                "This would make no question and no item: map “prompt”, “persona”, "
                "or an id and votes."
            )
        )
    if sum(mapping.has(target) for target in ("label", "score", "own_question")) > 1:
        raise MappingError(
            _("A line is imported as a label, as scores or as own questions: map one of them.")
        )
    if mapping.votes and not _answered(mapping):
        raise MappingError(_("Judgments need their answers or the id of an item."))
    return mapping


def _answered(mapping: Mapping) -> bool:
    return mapping.has("id", "answer", "answer_a", "attribute")


def _check_path(name: str) -> None:
    try:
        paths.steps(name)
    except ValueError as error:
        raise MappingError(str(error)) from error


def propose(rows: Iterable[dict]) -> Mapping | None:
    """A mapping by the names of columns and their values; None where nothing was recognised."""
    places: dict[str, object] = {}
    for row in rows:
        for place, value in paths.leaves(row).items():
            if places.get(place) in (None, ""):
                places[place] = value
    columns: dict[str, tuple[str, ...]] = {}
    # Whole columns first; what is inside a column where no column has the name.
    for place in sorted(places, key=_rank):
        target = _target(place, places[place])
        if _are_texts(places[place]) and place == "options":
            target, place = "answer", "options[]"
        if target == "key":
            columns["key"] = (*columns.get("key", ()), place)
        elif target and target not in columns:
            columns[target] = (place,)
        elif target == "persona" and columns["persona"][0].lower().endswith("id"):
            columns.setdefault("id", columns["persona"])
            columns["persona"] = (place,)
    _tidy(columns, places)
    try:
        return checked(Mapping(columns))
    except MappingError:
        return None


def _rank(place: str) -> int:
    return place.count(".") + place.count("[")


def has_type(value: object) -> bool:
    """Whether a cell holds a type of question."""
    return str(value).strip().lower() in TYPES


def _target(place: str, value: object) -> str | None:
    name = re.sub(r"[\W_]", "", re.split(r"[.\]]", place)[-1].lower())
    if place.endswith(("[].text", "[].response", "[].content", "[].output")):
        return "answer" if "turn" not in place and "message" not in place else None
    if re.search(r"\[\]\.(id|name)$", place):
        return "candidate"
    if re.search(r"\[\]\.(system|model)$", place):
        return "model"
    if "[" in place:
        return None
    target = _BY_NAME.get(name)
    if target == "type" and not has_type(value):
        return None
    if name == "preference" and len(str(value).split()) > LABEL_WORDS:
        return "need"
    limit = LENGTHS.get(target or "")
    if limit and not isinstance(value, int | float) and len(str(value)) > limit:
        return None
    # Inside a column only texts are looked for: what else is there has its own meaning.
    return target if "." not in place or target in ("prompt", "answer") else None


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, str) for v in value)


def _tidy(columns: dict[str, tuple[str, ...]], places: dict[str, object]) -> None:
    """Resolve what single names leave open."""
    if "answer_a" in columns and "answer_b" in columns:
        columns.pop("answer", None)
        columns.pop("model", None)
    else:
        columns.pop("answer_a", None)
        columns.pop("answer_b", None)
    # What an instruction is about stands beside it in the files of instruction data sets.
    asked = columns.get("prompt", ("",))[0]
    within = asked.removesuffix("instruction").removesuffix("input")
    pair = (f"{within}instruction", f"{within}input")
    if asked in pair and places.keys() >= set(pair):
        columns["prompt"] = pair
    messages = columns.get("answer_a") or columns.get("answer")
    if "prompt" not in columns and messages and is_messages(places.get(messages[0])):
        columns["prompt"] = messages
    if "label" in columns:
        columns.pop("score", None)
    if "worker" not in columns:
        for target in ("label", "score", "criterion", "reason", "seconds", "submitted_at"):
            columns.pop(target, None)


def is_messages(value: object) -> bool:
    """Whether ``value`` is a conversation: a list of objects with a role and a text."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(turn, dict) and role_of(turn) and text_of(turn) is not None for turn in value
        )
    )


def role_of(turn: dict) -> str:
    """ "user", "assistant" or another role of a message; "" where it has none."""
    role = str(turn.get("role") or turn.get("from") or turn.get("speaker") or "")
    return {"human": "user", "gpt": "assistant", "model": "assistant"}.get(role, role)


def text_of(turn: dict) -> str | None:
    text = turn.get("content", turn.get("value", turn.get("text")))
    return text if isinstance(text, str) else None


def unknown(mapping: Mapping, columns: Iterable[str], sample: Iterable[dict] = ()) -> list[str]:
    """What the mapping leaves out: whole columns in order, then places inside columns of sample."""
    columns = list(columns)
    read = [name for names in mapping.columns.values() for name in names]
    if "" in read:
        return []
    used = {paths.column_of(name, columns) for name in read}
    inside = dict.fromkeys(place for row in sample for place in paths.unread(row, read))
    return [*(name for name in columns if name not in used), *inside]


def named(mapping: Mapping, sample: list[dict]) -> list[str]:
    """Columns that are not read, although their names say what they hold."""
    if mapping.has("conversation"):
        return []
    columns = list(dict.fromkeys(key for row in sample for key in row))
    left = unknown(mapping, columns)
    return [name for name in left if re.sub(r"[\W_]", "", name.lower()) in _BY_NAME]


def suggestion(column: str) -> str | None:
    """The target that a column's name is nearly: "need" for "nedd"; None where it is not."""
    near = difflib.get_close_matches(column.lower(), TARGETS, n=1, cutoff=0.72)
    return near[0] if near and column.lower() not in _BY_NAME else None
