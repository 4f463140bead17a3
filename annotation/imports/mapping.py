"""Which column holds what: targets, a proposal from names and values, and checks. Pure.

A column may be a place inside a record: ``conversation_a[1].content``, ``answers[].text``.
"""

import csv
import difflib
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import takewhile
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.core.errors import DomainError

CONSTANT = "="
_NAME = re.compile(r"[^.\[\]]+")
_PATH = re.compile(r"[^.\[\]]+(\.[^.\[\]]+|\[-?\d*\])*")
_STEP = re.compile(r"([^.\[\]]+)|\[(-?\d*)\]")


@lru_cache(maxsize=1024)
def steps(path: str) -> tuple[str | int | None, ...]:
    """The parts of ``path``: names, places (from 0, or from the end), None for every place.

    ValueError where it is no path.
    """
    if path.startswith(CONSTANT):
        return (path,)
    taken: list[str | int | None] = []
    position = 0
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None:
            raise ValueError(f"“{path[:80]}” is no place in a record")
        taken.append(match[1] or (int(match[2]) if match[2] not in ("", "-") else None))
        position = match.end()
        if position < len(path) and path[position] == ".":
            position += 1
    return tuple(taken)


def value_at(record: dict, path: str) -> Any:
    """What stands at ``path``; None where nothing does.

    A column called exactly like the path comes first: its name may hold dots and brackets. "=TEXT"
    is the TEXT itself, the same in every record.
    """
    if path in record:
        return record[path]
    if path.startswith(CONSTANT):
        return path.removeprefix(CONSTANT)
    if name := _column(path, record):
        return _walk(record[name], steps(path[len(name) :].removeprefix(".")))
    return _walk(record, steps(path))


def _walk(value: Any, path: tuple) -> Any:
    for number, step in enumerate(path):
        if step is None:
            if not isinstance(value, list):
                return None
            return [_walk(entry, path[number + 1 :]) for entry in value]
        if isinstance(step, str) and isinstance(value, dict):
            value = value.get(step)
        elif isinstance(step, int) and isinstance(value, list) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return None
    return value


def column_of(path: str, columns: Collection[str]) -> str:
    """The column that ``path`` begins in."""
    return _column(path, columns) or str(steps(path)[0])


def _column(path: str, columns: Collection[str]) -> str:
    """The longest name that ``path`` begins with: that of a joined column holds dots."""
    return next((name for name in _beginnings(path) if name in columns), "")


@lru_cache(maxsize=1024)
def _beginnings(path: str) -> tuple[str, ...]:
    """What of ``path`` may be a column's name, the longest first."""
    ends = (n for n in range(len(path) - 1, 0, -1) if path[n] in ".[")
    return (path, *(path[:n] for n in ends))


def leaves(record: dict, limit: int = 200) -> dict[str, object]:
    """Every place of ``record`` a value can be taken from, with the value; lists by ``[]``."""
    places: dict[str, object] = {}

    def offer(value: object, path: str) -> None:
        if len(places) < limit and (path not in record or value is record[path]):
            places.setdefault(path, value)

    def visit(value: object, path: str) -> None:
        offer(value, path)
        if isinstance(value, dict):
            for key, entry in value.items():
                if _NAME.fullmatch(str(key)):
                    visit(entry, f"{path}.{key}")
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for key in value[0]:
                if _NAME.fullmatch(str(key)):
                    entries = [_walk(entry, (str(key),)) for entry in value]
                    offer(entries, f"{path}[].{key}")

    for name, value in record.items():
        if _PATH.fullmatch(str(name)):
            visit(value, str(name))
        elif name:
            offer(value, str(name))
    return places


def columns_of(rows: Iterable[dict]) -> list[str]:
    """The columns of rows, in order."""
    return list(dict.fromkeys(key for row in rows for key in row))


def unread(record: dict, read: list[str]) -> list[str]:
    """Places beside those that ``read`` takes of each object in a list: ``answers[].score``."""
    lists = {name.partition("[]")[0] for name in read if "[]." in name}
    return [
        place
        for place in leaves(record)
        if "[]." in place and place.partition("[]")[0] in lists and place not in read
    ]


# --- Mappings -------------------------------------------------------------------------------------


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
    "since": gettext_lazy("day from which the attribute holds"),
    "until": gettext_lazy("day from which it holds no longer"),
    "conversation": gettext_lazy("conversation with a model, of WildChat, LMSYS or ShareGPT"),
    "need": gettext_lazy("information need"),
    "type": gettext_lazy("type of question: specific or general"),
    "scenario": gettext_lazy("scenario"),
    "language": gettext_lazy("language"),
    "turn": gettext_lazy("turn of the conversation that was judged, or states the attribute"),
    "worker": gettext_lazy("annotator"),
    "label": gettext_lazy("label: which answer won, or a verdict"),
    "score": gettext_lazy("score"),
    "criterion": gettext_lazy("criterion of the score"),
    "key": gettext_lazy("key: what experts said; compared with, never shown"),
    "reason": gettext_lazy("reason"),
    "submitted_at": gettext_lazy("time of the judgment"),
    "seconds": gettext_lazy("seconds it took"),
}
# Several columns are joined to one text, or are an entry each.
SEVERAL = {
    *("prompt", "answer", "label", "score"),
    *("persona", "reason", "id", "key"),
}
# May have a column of each answer, where the answers have several columns.
SIDED = ("model", "strategy")
# What columns of the answers to one question end with.
SIDES = ("abcdefgh", "ABCDEFGH", "12345678")
# "answers.QUESTION" is a target, too: what was said to a question of the task's own.
OWN = "answers."
ALIASES = {"query": "prompt"}
LEVELS = {
    "nominal": gettext_lazy("classes without an order"),
    "ordinal": gettext_lazy("classes in order, from low to high"),
    "interval": gettext_lazy("numbers: points on a scale"),
}
# What other tools call these, in lower case, letters and digits alone.
_NAMES = {
    "id": "itemid questionid idx promptid uid qid conversationid task",
    "prompt": "question query instruction source context input turns userprompt fulltext "
    "conversation",
    "answer": "response output completion modelresponse modeloutput generation",
    "answer_a": "responsea answer1 response1 output1 outputa chosen conversationa answera",
    "answer_b": "responseb answer2 response2 output2 outputb rejected reject conversationb answerb",
    "model": "modelname system generator modelid",
    "model_a": "modela model1 systema",
    "model_b": "modelb model2 systemb",
    "strategy": "method arm",
    "persona": "profile personaid inputpersona statements",
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
# Names of a request where no other column has one: else they say where a row comes from.
OTHER_MEANINGS = ("source", "context", "conversation")
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
QUESTION_LIMIT = 60
LENGTHS = {"label": 60, "key": 60, "worker": 90, "id": 200}


class MappingError(DomainError):
    """The mapping fits no file, or would bring in nothing."""

    code = "mapping"


@dataclass(frozen=True)
class Mapping:
    """The columns (places) of each target, and what words in labels and scores stand for.

    ``classes`` are those declared of the label ("") and of questions, in order; ``level`` is one of
    LEVELS, or "" where the values say it. ``depth``: of conversations with answers at several turns
    only those at this one (from 1); 0 takes all.
    """

    columns: dict[str, tuple[str, ...]]
    values: dict[str, str] = field(default_factory=dict)
    classes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    level: str = ""
    depth: int = 0

    @classmethod
    def from_json(cls, value: object) -> "Mapping":
        """Read a mapping's fields, of which "columns" is required; MappingError."""
        fields = value if isinstance(value, dict) else {}
        columns: Any = fields.get("columns")
        values, classes = fields.get("values") or {}, fields.get("classes") or {}
        level, depth = fields.get("level") or "", fields.get("depth") or 0
        if not all(isinstance(part, dict) for part in (columns, values, classes)):
            raise MappingError(_("A mapping names a column for each target."))
        if not isinstance(level, str) or type(depth) is not int or not 0 <= depth <= 100:
            raise MappingError(_("The level is a word, the depth a number from 0 to 100."))
        named = {ALIASES.get(target, target): names for target, names in columns.items()}
        read = {target: _columns(target, names) for target, names in named.items()}
        mapping = cls(
            {target: names for target, names in read.items() if names},
            {str(key): str(word) for key, word in values.items()},
            {str(key): tuple(map(str, _columns(key, names))) for key, names in classes.items()},
        )
        return checked(replace(mapping, level=level, depth=depth))

    def with_classes(self, texts: Iterable[str], level: str = "") -> "Mapping":
        """This mapping with classes "A,B,C" of its label, "QUESTION:A,B,C" of a question.

        MappingError where nothing that is mapped can have them.
        """
        classes = dict(self.classes)
        for text in texts:
            name, sign, rest = text.partition(":")
            question = name if sign and name in self.questions else ""
            (words,) = csv.reader([rest if question else text], skipinitialspace=True)
            classes[question] = tuple(word.strip() for word in words)
        return checked(replace(self, classes=classes, level=level or self.level))

    def with_constants(self, texts: dict[str, list[str]]) -> "Mapping":
        """This mapping, in which targets are ``texts`` that are the same for all rows."""
        places = {target: tuple(f"{CONSTANT}{text}" for text in of) for target, of in texts.items()}
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
    def listed(self) -> bool:
        """Whether the answers are a list, of any length, and nobody has judged them."""
        return not self.votes and "[]" in "".join(self.columns.get("answer", ()))

    @cached_property
    def votes(self) -> bool:
        """Whether a row has human judgments."""
        return self.has("label", "score") or bool(self.answer_columns)

    @cached_property
    def answer_columns(self) -> dict[str, str]:
        """{"QUESTION" or "QUESTION/PLACE": column} of answers to questions of the task's own."""
        named = (item for item in self.columns.items() if item[0].startswith(OWN))
        return {target.removeprefix(OWN): names[0] for target, names in named}

    @cached_property
    def questions(self) -> set[str]:
        """The names of the task's own questions."""
        return {question_of(name)[0] for name in self.answer_columns}

    @cached_property
    def refers(self) -> bool:
        """Whether rows only name items that the study has."""
        makes = ("prompt", "answer", "answer_a", "persona", "memory", "attribute", "conversation")
        return not self.has(*makes)


def question_of(name: str) -> tuple[str, str]:
    """The question of "QUESTION/PLACE", and the place: "0", the item, where none is named."""
    question, _slash, place = name.rpartition("/")
    return (question, place) if question and place.isdigit() else (name, "0")


def _columns(target: str, names: object) -> tuple[str, ...]:
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise MappingError(_("“%s” must name a column.") % str(target)[:60])
    return tuple(name for name in names if name or target == "persona")


def checked(mapping: Mapping) -> Mapping:
    """``mapping``, or MappingError where it cannot make a query, an item, a persona or a vote."""
    for target, names in mapping.columns.items():
        if not is_target(target):
            words = {"target": target[:60], "targets": ", ".join(TARGETS)}
            raise MappingError(_("There is no target “%(target)s”. Known: %(targets)s.") % words)
        for name in names:
            try:
                steps(name)
            except ValueError as error:
                raise MappingError(str(error)) from error
        each = target in SIDED and len(names) == len(mapping.columns.get("answer", ()))
        if len(names) > 1 and target not in SEVERAL and not each:
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
    if mapping.has("label") + mapping.has("score") + bool(mapping.answer_columns) > 1:
        raise MappingError(
            _("A line is imported as a label, as scores or as own questions: map one of them.")
        )
    if mapping.votes and not mapping.has("id", "answer", "answer_a", "attribute"):
        raise MappingError(_("Judgments need their answers or the id of an item."))
    _check_classes(mapping)
    return mapping


def is_target(name: str) -> bool:
    """Whether columns can be mapped to ``name``."""
    return name in TARGETS or (name.startswith(OWN) and 0 < len(name) - len(OWN) <= QUESTION_LIMIT)


def _check_classes(mapping: Mapping) -> None:
    for question, names in mapping.classes.items():
        if not question and (not mapping.has("label") or mapping.has("attribute")):
            words = _("Classes are those of labels about answers, or of a question: QUESTION:A,B.")
            raise MappingError(words)
        if "" in names or len(set(names)) < len(names):
            raise MappingError(_("Each class is named once: %s.") % ", ".join(names))
    if mapping.level and mapping.level not in LEVELS:
        raise MappingError(_("The level is one of: %s.") % ", ".join(LEVELS))
    if mapping.level and not mapping.has("label") and not mapping.answer_columns:
        raise MappingError(_("A level belongs to labels or answers: map them."))
    if mapping.level == "interval" and mapping.classes:
        raise MappingError(_("Classes are nominal or ordinal: they are no numbers."))


def propose(rows: Iterable[dict]) -> Mapping | None:
    """A mapping by the names of columns and their values; None where nothing was recognised."""
    places: dict[str, object] = {}
    for row in rows:
        for place, value in leaves(row).items():
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


def _rank(place: str) -> tuple[int, bool]:
    return place.count(".") + place.count("["), place.lower() in OTHER_MEANINGS


def has_type(value: object) -> bool:
    """Whether a cell holds a type of question."""
    return str(value).strip().lower() in TYPES


def _target(place: str, value: object) -> str | None:
    name = re.sub(r"[\W_]", "", re.split(r"[.\]]", place)[-1].lower())
    if place.endswith(("[].text", "[].response", "[].content", "[].output", "[].answer")):
        return "answer" if "turn" not in place and "message" not in place else None
    if re.search(r"\[\]\.(id|name)$", place):
        return "candidate"
    if re.search(r"\[\]\.(system|model)$", place):
        return "model"
    if "[]." in place and _BY_NAME.get(name) == "key":
        return "key"
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
    if target in ("prompt", "answer") and isinstance(value, dict):
        return None
    # Inside a column only texts are looked for: what else is there has its own meaning.
    is_text = isinstance(value, str) or is_messages(value)
    return target if "." not in place or (is_text and target in ("prompt", "answer")) else None


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, str) for v in value)


def _tidy(columns: dict[str, tuple[str, ...]], places: dict[str, object]) -> None:
    """Resolve what single names leave open."""
    _count_from_0(columns, places)
    if "answer_a" in columns and "answer_b" in columns:
        columns.pop("answer", None)
        columns.pop("model", None)
        if len(ends := _ends_of_answers(columns, places)) > 2:
            _list_sides(columns, places, ends)
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
    # Keys of what is listed are those of the answers.
    listed = columns.get("answer", ("",))[0].partition("[].")[0]
    keys = (name for name in columns.pop("key", ()) if name.partition("[].")[0] in (name, listed))
    if kept := tuple(keys):
        columns["key"] = kept
    if "label" in columns:
        columns.pop("score", None)
    if "worker" not in columns:
        for target in ("label", "score", "criterion", "reason", "seconds", "submitted_at"):
            columns.pop(target, None)


def _count_from_0(columns: dict[str, tuple[str, ...]], places: dict[str, object]) -> None:
    """Take answer_0 for the first and answer_1 for the second, where both are there."""
    for place in places:
        second = place[:-1] + "1"
        target = _target(second, places.get(second)) if place.endswith("0") else None
        if second in places and target in ("answer_a", "model_a"):
            columns |= {target: (place,), f"{target[:-1]}b": (second,)}


def _ends_of_answers(columns: dict[str, tuple[str, ...]], places: dict[str, object]) -> str:
    """The letters, or numbers, by which columns of all answers end: "abc"."""
    first, second = columns["answer_a"][0], columns["answer_b"][0]
    ends = next((ends for ends in SIDES if (first[-1], second[-1]) == (ends[0], ends[1])), "")
    if first[:-1] != second[:-1]:
        return ""
    return "".join(takewhile(lambda end: first[:-1] + end in places, ends))


def _list_sides(columns: dict[str, tuple[str, ...]], places: dict[str, object], ends: str) -> None:
    """Put the columns of more than two answers, and of their models, in a list each."""
    for target in ("answer", *SIDED):
        pair = [columns.pop(f"{target}_{side}", ("",))[0] for side in "ab"]
        named = tuple(pair[0][:-1] + end for end in ends)
        if list(named[:2]) == pair and places.keys() >= set(named):
            columns[target] = named


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
    used = {column_of(name, columns) for name in read}
    inside = dict.fromkeys(place for row in sample for place in unread(row, read))
    return [*(name for name in columns if name not in used), *inside]


def named(mapping: Mapping, sample: list[dict]) -> list[str]:
    """Columns that are not read, although their names say what they hold."""
    if mapping.has("conversation"):
        return []
    left = unknown(mapping, columns_of(sample))
    return [name for name in left if re.sub(r"[\W_]", "", name.lower()) in _BY_NAME]


def suggestion(column: str) -> str | None:
    """The target that a column's name is nearly: "need" for "nedd"; None where it is not."""
    near = difflib.get_close_matches(column.lower(), TARGETS, n=1, cutoff=0.72)
    return near[0] if near and column.lower() not in _BY_NAME else None
