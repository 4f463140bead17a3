"""Turns a row of a table into what a study holds: persona, question, answers, item, votes. Pure."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from itertools import takewhile
from typing import Any
from urllib.parse import quote

from django.utils.translation import gettext as _

from annotation.core import languages
from annotation.core.errors import DomainError
from annotation.core.records import number_of, transcript
from annotation.histories.formats.chats import CorpusRow, row_of
from annotation.imports.mapping import (
    TYPES,
    Mapping,
    is_messages,
    question_of,
    role_of,
    text_of,
    value_at,
)

ID_LIMIT, ITEM_LIMIT, WORKER_LIMIT = 100, 200, 90
# Answers of a request, of which a batch shows some, and those that people judged together.
STORED_LIMIT = 50
ANSWERS_LIMIT, CRITERIA_LIMIT, CRITERION_LIMIT = 8, 12, 60
TEXT_LIMIT = 1_000_000
SHORT = {"model": 200, "strategy": 40, "scenario": 100, "language": 20}
SECONDS_LIMIT = 604_800
FIRST, DAY = datetime(1970, 1, 1, tzinfo=UTC), timedelta(days=1)
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
# Conversations written as one text.
_TRANSCRIPT = re.compile(r"\n\n(Human|Assistant): ?")
# The same, each turn after the first under its role (HelpSteer2).
_TURN = re.compile(r"\n?<extra_id_1>(User|Assistant)\n")
_SIDE = re.compile(
    r"(?:(?:model|answer|response|option|output|candidate|assistant|a"
    r"|模型|回答|答案|모델|답변|응답)[ _-]?)?([1-9][0-9]?|[a-h])"
)
_WORDS = {
    **dict.fromkeys(("tie", "equal", "draw", "same", "both", "no preference"), "tie"),
    **dict.fromkeys(("平局", "一样好", "무승부", "동점"), "tie"),
    **dict.fromkeys(("都不好", "둘 다 아님"), "none"),
    **dict.fromkeys(("none", "neither", "bothbad", "both bad", "both_bad"), "none"),
    "tie (bothbad)": "none",
    "left": "1",
    "right": "2",
    "chosen": "1",
    "rejected": "2",
}


class RowError(DomainError):
    """The row is none; the sentence says why."""

    code = "row"


@dataclass(frozen=True)
class Answer:
    """One answer; ``name`` is what labels call it."""

    id: str
    text: str
    model: str = ""
    strategy: str = ""
    name: str = ""


@dataclass(frozen=True)
class Vote:
    """What one annotator says: a label ("1", "tie", a verdict) or scores {"1/criterion": number}.

    Options have their places in the row, from 1; where the row has no answers, an option is
    called by its id or model, percent-encoded.
    """

    worker: str
    label: str = ""
    scores: dict = field(default_factory=dict)
    reason: str = ""
    submitted_at: datetime | None = None
    seconds: float | None = None


@dataclass
class Row:
    """What a row brings in; "" and empty where it does not."""

    persona: str = ""
    profile: dict | None = None
    memory: str = ""
    attribute: str = ""
    attribute_text: str = ""
    # When the attribute holds, and which turn of its conversation states it.
    since: date | None = None
    until: date | None = None
    turn: int | None = None
    query: str = ""
    prompt: str = ""
    # A conversation that is the question: {"role", "content"}; ``prompt`` is its transcript.
    messages: list[dict] = field(default_factory=list)
    need: str = ""
    type: str = "specific"
    scenario: str = ""
    language: str = ""
    answers: list[Answer] = field(default_factory=list)
    item: str = ""
    model: str = ""
    votes: list[Vote] = field(default_factory=list)
    # What experts said, by the name of the column.
    keys: dict = field(default_factory=dict)


def shape(record: dict, mapping: Mapping) -> Row:
    """The row of ``record``; RowError with a sentence where it is none."""
    if mapping.has("conversation"):
        return Row(prompt=conversation(record).conversation.messages[0].text)
    read = _Reading(record, mapping)
    row = Row(model=read.short("model") if not mapping.wide else "")
    read.person(row)
    read.question(row)
    read.answers(row)
    if mapping.votes:
        row.votes = read.votes(row)
    row.keys = read.keys(row)
    return row


def conversation(record: dict, salt: str = "") -> CorpusRow:
    """The conversation in ``record`` of a public collection; RowError where there is none."""
    row = row_of(record, salt)
    if row is None:
        raise RowError(
            _("this is no conversation as WildChat, LMSYS-Chat-1M or ShareGPT have them")
        )
    if not any(message.role == "user" and message.text for message in row.conversation.messages):
        raise RowError(_("nobody asks anything in this conversation"))
    if sum(len(message.text) for message in row.conversation.messages) > TEXT_LIMIT:
        raise RowError(_("the conversation is longer than %d characters") % TEXT_LIMIT)
    return row


class _Reading:
    """The cells of one record."""

    def __init__(self, record: dict, mapping: Mapping) -> None:
        self.record, self.mapping = record, mapping

    def cells(self, target: str) -> list:
        return [value_at(self.record, name) for name in self.mapping.columns.get(target, ())]

    def cell(self, target: str) -> Any:
        names = self.mapping.columns.get(target)
        return value_at(self.record, names[0]) if names else None

    def short(self, target: str) -> str:
        """A text of the limit that its place in the database has."""
        value = self.cell(target)
        if value is None or isinstance(value, list | dict):
            return ""
        text = clean(value, target).strip()
        if len(text) > SHORT.get(target, ID_LIMIT):
            words = {"target": target, "n": SHORT.get(target, ID_LIMIT)}
            raise RowError(_("“%(target)s” is longer than %(n)d characters") % words)
        return text

    @cached_property
    def name(self) -> str:
        """The row's id: its columns joined by a slash; "" where it has none."""
        parts = [
            clean(value, "id").strip() for value in self.cells("id") if value not in (None, "")
        ]
        if "id" in self.mapping.columns and len(parts) < len(self.mapping.columns["id"]):
            raise RowError(_("the id is missing"))
        name = "/".join(parts)
        limit = ITEM_LIMIT if self.mapping.refers else ID_LIMIT
        if not name.isprintable() or len(name) > limit:
            raise RowError(_("the id must be printable and at most %d characters long") % limit)
        return name

    def person(self, row: Row) -> None:
        if not self.mapping.has("persona"):
            return
        value = self.cell("persona")
        if value in (None, "", [], {}):
            if self.mapping.has("prompt"):
                return
            raise RowError(_("the persona is missing"))
        has_no_text = not self.mapping.has("prompt", "memory", "attribute")
        row.persona, row.profile = _persona(value, self.name if has_no_text else "")
        if row.profile is None and self.mapping.columns.keys() <= {"persona", "id"}:
            raise RowError(_("the persona has an id and no description: map its text, too"))
        if self.mapping.has("memory"):
            row.memory = clean(self.cell("memory") or "", "memory").strip()
        if self.mapping.has("attribute"):
            row.attribute_text = clean(self.cell("attribute") or "", "attribute").strip()
            if not row.attribute_text:
                raise RowError(_("the attribute is empty"))
            row.attribute = digest("a", row.persona, row.attribute_text)
            row.since, row.until = (self.day(target) for target in ("since", "until"))
            if row.since and row.until and row.until <= row.since:
                raise RowError(_("It must end after it begins."))
            turn = self.short("turn")
            row.turn = int(turn) if turn.isdecimal() and len(turn) < 9 else None

    def day(self, target: str) -> date | None:
        text = self.short(target)
        try:
            return date.fromisoformat(text[:10]) if text else None
        except ValueError as error:
            raise RowError(_("the time is not in ISO 8601")) from error

    def question(self, row: Row) -> None:
        row.scenario = self.short("scenario")
        # By their codes it is known who reads what.
        row.language = languages.code_of(self.short("language"))
        row.need = clean(self.cell("need") or "", "need")
        row.type = self.type()
        name = self.name
        if self.mapping.has("prompt"):
            turns = self.turns()
            row.messages = turns if len(turns) > 1 else []
            row.prompt = clean(transcript(turns), "prompt") if turns else ""
            if not row.prompt.strip():
                raise RowError(_("the question is empty"))
            alone = name and not self.mapping.wide
            row.query = name if alone else digest("q", row.persona, row.prompt, row.need)
        elif name and self.mapping.has("answer", "answer_a", "label", "score"):
            row.query = name

    def type(self) -> str:
        text = self.short("type").lower() or "specific"
        if text not in TYPES:
            raise RowError(_("the type of a question is “specific” or “general”"))
        return text.replace("spedific", "specific")

    def turns(self) -> list[dict]:
        """What was asked, as messages: one where it is a text."""
        # What stands before a conversation, and what is asked at its end.
        before: list[str] = []
        after: list[str] = []
        turns: list[tuple[str, str]] = []
        columns = self.mapping.columns.get("prompt", ())
        for column, value in zip(columns, self.cells("prompt"), strict=True):
            messages = self.conversations.get(column) or as_messages(value)
            if messages:
                is_answer = column in self.conversations
                turns += messages[: self.common_length] if is_answer else messages
                continue
            entries = value if isinstance(value, list) else ["" if value is None else value]
            text = "\n\n".join(clean(entry, "prompt") for entry in entries).strip()
            (after if turns else before).append(text)
        if text := "\n\n".join(filter(None, before)):
            turns.insert(0, ("user" if not turns else "system", text))
        if text := "\n\n".join(filter(None, after)):
            turns.append(("user", text))
        if turns and turns[-1][0] == "assistant" and turns[-1][1] in self.texts:
            turns.pop()  # the whole conversation, with the answer that ends it
        return [{"role": role, "content": text.strip()} for role, text in turns if text.strip()]

    @cached_property
    def conversations(self) -> dict[str, list[tuple[str, str]]]:
        """{column: messages} of answers that are conversations, up to the turn that was judged."""
        turn = self.cell("turn")
        found = {}
        for target in ("answer", "answer_a", "answer_b"):
            for name in self.mapping.columns.get(target, ()):
                messages = as_messages(value_at(self.record, name))
                if messages:
                    found[name] = _judged(messages, turn)
        return found

    @cached_property
    def common_length(self) -> int:
        """How many messages of the answers' conversations are the question.

        Those that all answers begin with, to the last one of the user; of a single conversation
        those to its first question.
        """
        several = list(self.conversations.values())
        if len(several) < 2:
            return _first(several[0]) + 1 if several else 0
        alike = takewhile(
            lambda turns: turns.count(turns[0]) == len(turns), zip(*several, strict=False)
        )
        roles = [turns[0][0] for turns in alike]
        return max((n for n, role in enumerate(roles, start=1) if role == "user"), default=0)

    def answers(self, row: Row) -> None:
        texts = self.texts
        limit = ANSWERS_LIMIT if self.mapping.votes else STORED_LIMIT
        if len(texts) > limit:
            raise RowError(_("more than %d answers") % limit)
        models, strategies = self.sides("model", len(texts)), self.strategies(len(texts))
        names = self.sides("candidate", len(texts))
        for number, text in enumerate(texts):
            parts = (row.query, models[number], strategies[number], text)
            id_ = digest("c", *parts)
            if names[number] and any(answer.id == id_ for answer in row.answers):
                id_ = digest("c", *parts, names[number])  # two of one text, told apart by name
            answer = Answer(id_, text, models[number], strategies[number], names[number])
            row.answers.append(answer)
        if len({answer.id for answer in row.answers}) < len(row.answers):
            raise RowError(_("two of its answers are the same"))
        self.item(row)

    def item(self, row: Row) -> None:
        """What the row is called as a thing to judge."""
        name = self.name
        if self.mapping.wide and row.answers:
            row.item = name or digest("i", row.query, *sorted(answer.id for answer in row.answers))
        elif row.attribute:
            row.item = digest("i", row.attribute, row.query)
        elif row.answers and not name:
            row.item = digest("i", row.answers[0].id)
        elif name and (row.answers or self.mapping.votes or self.mapping.has("key")):
            row.item = "/".join(part for part in (name, row.model) if part)
        if len(row.item) > ITEM_LIMIT:
            raise RowError(_("the id must be printable and at most %d characters long") % ID_LIMIT)

    @cached_property
    def texts(self) -> list[str]:
        """The answers; an empty text is an answer, a missing column is none."""
        if self.mapping.has("answer_a"):
            values = [self.cell("answer_a"), self.cell("answer_b")]
        else:
            values = self.cells("answer")
            if len(values) == 1 and isinstance(values[0], list) and not as_messages(values[0]):
                values = values[0]
        texts = []
        for number, value in enumerate(values, start=1):
            if value is None:
                raise RowError(_("answer %d is missing") % number)
            messages = _judged(as_messages(value), self.cell("turn"))
            texts.append(self.answer_in(messages) if messages else clean(value, "answer"))
        return texts

    def answer_in(self, messages: list[tuple[str, str]]) -> str:
        """What of a conversation answers the question: one message, or a transcript of several."""
        rest = messages[self.question_length(messages) :]
        if {role for role, _text in rest} <= {"assistant"}:
            return "\n\n".join(text for _role, text in rest)
        return transcript([{"role": role, "content": text} for role, text in rest])

    def question_length(self, messages: list[tuple[str, str]]) -> int:
        """How many messages of an answer's conversation are the question."""
        names = self.mapping.columns.get("prompt", ())
        if not self.conversations.keys().isdisjoint(names):
            return self.common_length
        asked = [turn for name in names for turn in as_messages(value_at(self.record, name))]
        while asked and asked[-1][0] == "assistant":
            asked.pop()
        repeated = asked and messages[: len(asked)] == asked
        return len(asked) if repeated else _first(messages) + 1

    def sides(self, target: str, count: int) -> list[str]:
        """The model (or name) of each answer."""
        if self.mapping.has(f"{target}_a"):
            values = [self.cell(f"{target}_a"), self.cell(f"{target}_b")]
        elif len(self.mapping.columns.get(target, ())) > 1:
            values = self.cells(target)
        else:
            value = self.cell(target)
            values = value if isinstance(value, list) else [value] * count
        if not any(values):
            return [""] * count
        limit = SHORT["model"]
        texts = [clean("" if value is None else value, target)[:limit] for value in values]
        return (texts + [""] * count)[:count]

    def strategies(self, count: int) -> list[str]:
        names = self.sides("strategy", count)
        if not any(names) and self.mapping.columns.get("answer_a") == ("chosen",):
            return ["chosen", "rejected"]
        return [name[: SHORT["strategy"]] for name in names]

    # Votes

    def votes(self, row: Row) -> list[Vote]:
        common: dict[str, Any] = {
            "reason": "\n".join(clean(value, "reason") for value in self.cells("reason") if value),
            "submitted_at": moment(self.cell("submitted_at")),
            "seconds": _seconds(self.cell("seconds")),
        }
        who = self.cell("worker")
        worker = "" if who is None else clean(who, "worker").strip()
        if self.mapping.has("worker") and not worker:
            raise RowError(_("the annotator is missing"))
        if len(worker) > WORKER_LIMIT:
            raise RowError(_("the annotator's name is longer than %d characters") % WORKER_LIMIT)
        if self.mapping.has("score"):
            scores = self.scores(row)
            if not scores and self.mapping.refers:
                raise RowError(_("the score is missing"))
            name = worker or self.mapping.columns["score"][0]
            return [Vote(name, scores=scores, **common)] if scores else []
        if self.mapping.answer_columns:
            answers = self.own_answers(row)
            return [Vote(worker or "file", scores=answers, **common)] if answers else []
        columns = self.mapping.columns["label"]
        votes = []
        for column, value in zip(columns, self.cells("label"), strict=True):
            if value in (None, ""):
                continue
            votes.append(Vote(worker or column, label=self.label(value, row), **common))
        if not votes and len(columns) == 1:
            raise RowError(_("the label is missing"))
        return votes

    def keys(self, row: Row) -> dict:
        """{column: its label, or number}; of answers to choose from, the place of the one named, or
        of the one that has the highest of their numbers.
        """
        found: dict[str, str | float] = {}
        for column, value in zip(
            self.mapping.columns.get("key", ()), self.cells("key"), strict=True
        ):
            if value in (None, "", [], {}):
                continue
            if isinstance(value, list) and len(value) == len(row.answers):
                found[re.split(r"[.\]]", column)[-1][:60]] = _best(value)
                continue
            number = number_of(value) if choice_in(str(value), row) is None else None
            found[column[:60]] = self.label(value, row)[:60] if number is None else number
        return found

    def label(self, value: object, row: Row) -> str:
        text = self.mapping.values.get(str(value), clean(value, "label")).strip()
        if "" in self.mapping.classes:
            return self.in_class(text, row)
        if len(row.answers) < 2:
            return text
        # An order, the best first: "A>C=B".
        if ">" in text and choice_in(text, row) is None:
            groups = [group.split("=") for group in text.split(">")]
            order = [[_answer_of(name, row) for name in group] for group in groups]
            # The better of two is a choice.
            return order[0][0] if len(row.answers) == 2 else ">".join(map("=".join, order))
        label = choice_in(text, row)
        if label is None:
            raise RowError(_("“%s” is none of its answers, no tie and not none") % text[:60])
        return label

    def in_class(self, text: str, row: Row) -> str:
        """``text``, one of the declared classes; where they are as they occur, no answer's name."""
        classes = self.mapping.classes[""]
        if classes and text not in classes:
            raise RowError(_("“%s” is none of the classes") % text[:60])
        if not classes and choice_in(text, row) is not None:
            words = _("“%s” names an answer, and labels of other lines do not: declare the classes")
            raise RowError(words % text[:60])
        return text

    def scores(self, row: Row) -> dict:
        """{"NUMBER/CRITERION": number} of the row's answers; of one answer also "1/CRITERION"."""
        criterion = self.cell("criterion")
        scores: dict[str, float] = {}
        columns = self.mapping.columns["score"]
        for column, value in zip(columns, self.cells("score"), strict=True):
            name = clean(criterion, "criterion").strip() if criterion is not None else ""
            self.add_scores(scores, name or column.rsplit(".", 1)[-1], value, row)
        return scores

    def own_answers(self, row: Row) -> dict:
        """{"PLACE/QUESTION": answer}, place 0 for the item; a column may hold {place or name of an
        answer: answer}.
        """
        names, answers = [answer.name or answer.model for answer in row.answers], {}
        for target, column in self.mapping.answer_columns.items():
            value = value_at(self.record, column)
            name, place = question_of(target)
            each = value if isinstance(value, dict) else {place: value}
            for key, entry in each.items():
                if entry not in (None, "", [], {}):
                    part = key if str(key).isdigit() else _place(key, names)
                    answers[f"{part}/{name}"] = self.as_in_body(entry)
        return answers

    def as_in_body(self, value: Any) -> Any:
        """An answer as the API takes it: a number, a text, a list of texts or of passages."""
        if isinstance(value, list):
            return [
                {str(name): clean(part, "label") if isinstance(part, str) else part
                 for name, part in entry.items()}
                if isinstance(entry, dict) else clean(entry, "label").strip()
                for entry in value
            ]  # fmt: skip
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        text = self.mapping.values.get(str(value), clean(value, "label")).strip()
        return int(text) if text.isascii() and text.isdigit() and len(text) < 4 else text

    def add_scores(self, scores: dict, name: str, value: object, row: Row) -> None:
        names = [answer.name or answer.model for answer in row.answers]
        if isinstance(value, dict):
            for key, entry in value.items():
                # {"grammar": 3} or {"bart": {"grammar": 3}}
                if isinstance(entry, dict):
                    place = _place(key, names)
                    for criterion, number in entry.items():
                        if not isinstance(number, list | dict):
                            self.add(scores, place, criterion, number)
                elif not isinstance(entry, list | dict):
                    self.add(scores, 1, key, entry)
        elif isinstance(value, list) and len(value) == len(row.answers):
            for number, entry in enumerate(value, start=1):
                self.add(scores, number, name, entry)
        else:
            self.add(scores, 1, name, value)

    def add(self, scores: dict, number: int | str, criterion: str, value: Any) -> None:
        criterion = clean(criterion, "criterion").strip()[:CRITERION_LIMIT]
        value = self.mapping.values.get(str(value), value)
        if value in (None, ""):
            return
        if (score := number_of(value)) is None:
            words = {"score": str(value)[:60], "criterion": criterion}
            raise RowError(_("the score “%(score)s” of “%(criterion)s” is no number") % words)
        scores[f"{number}/{criterion}"] = int(score) if score.is_integer() else score


def _best(scores: list) -> str:
    """The place of the highest of the scores of several answers, "tie" where two have it."""
    numbers = [number_of(score) for score in scores]
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers):
        raise RowError(_("not every answer has a number: %s") % str(scores)[:60])
    return "tie" if known.count(max(known)) > 1 else str(known.index(max(known)) + 1)


def _place(name: str, names: list[str]) -> int | str:
    """The place of the answer called ``name``, of a line that only names its item that name."""
    if names.count(name) == 1:
        return names.index(name) + 1
    if names:
        raise RowError(_("the scores of “%s” belong to no answer of this line") % name[:60])
    return quote(name, safe="")


def choice_in(text: str, row: Row) -> str | None:
    """``choice_of`` with the names and models of the row's answers."""
    names = [answer.name for answer in row.answers]
    models, texts = [each.model for each in row.answers], [each.text for each in row.answers]
    return choice_of(text, names, models, texts)


def _answer_of(text: str, row: Row) -> str:
    """The place of the answer that a part of an order names."""
    label = choice_in(text.strip(), row)
    if label is None or not label.isdigit():
        raise RowError(_("“%s” is none of its answers, no tie and not none") % text.strip()[:60])
    return label


def choice_of(
    text: str, names: list[str], models: list[str], texts: Sequence[str] = ()
) -> str | None:
    """The place (from 1) of the answer that a label names, "tie" or "none"; None for neither.

    An answer is named by its own name, its model, its text, a number, a letter or a side.
    """
    for words in (names, models, texts):
        if text and words.count(text) == 1:
            return str(words.index(text) + 1)
    lower = text.lower()
    word = _WORDS.get(lower, "")
    side = _SIDE.fullmatch(lower)
    if side and not word:
        word = side[1] if side[1].isdigit() else str("abcdefgh".index(side[1]) + 1)
    if word.isdigit() and int(word) > len(names):
        return None
    return word or None


def clean(value: object, what: str) -> str:
    """A cell as text; RowError where it cannot be stored."""
    if isinstance(value, str):
        text = value
    elif isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, float) and value.is_integer():
        text = str(int(value))
    elif isinstance(value, dict | list):
        text = json.dumps(value, ensure_ascii=False)
    else:
        text = str(value)
    if _UNSTORABLE.search(text):
        raise RowError(
            _("“%s” holds bytes that are no text in UTF-8: choose the file's encoding") % what
        )
    if len(text) > TEXT_LIMIT:
        raise RowError(
            _("“%(what)s” is longer than %(n)d characters") % {"what": what, "n": TEXT_LIMIT}
        )
    return text


def digest(sign: str, *parts: str) -> str:
    """A short id that the same texts always give."""
    text = "\x1f".join(parts).encode()
    return f"{sign}-{hashlib.blake2b(text, digest_size=9).hexdigest()}"


def _persona(value: object, name: str) -> tuple[str, dict | None]:
    """Id and profile; a text without blanks is the id of a persona described elsewhere."""
    if isinstance(value, str | int) and not isinstance(value, bool):
        text = clean(value, "persona").strip()
        if not name and len(text) <= ID_LIMIT and text.isprintable() and not re.search(r"\s", text):
            return text, None
        value = {"Description": text}
    elif isinstance(value, list):
        value = {"Statements": value}
    if not isinstance(value, dict):
        raise RowError(_("the persona is neither text nor a profile"))
    text = clean(value, "persona")
    named = value.get("Name")
    inner_name = clean(named, "persona").strip() if not name and isinstance(named, str) else ""
    return name or inner_name[:ID_LIMIT] or digest("p", text), value


# --- Conversations -------------------------------------------------------------------------------


def as_messages(value: Any) -> list[tuple[str, str]]:
    """(role, text) of a conversation: a list of messages, also as JSON, or a text with Human: and
    Assistant:.
    """
    if isinstance(value, str) and value.startswith('[{"'):
        value = _parsed(value)
    if is_messages(value):
        return [(role_of(turn), clean(text_of(turn), "conversation")) for turn in value]
    if isinstance(value, str) and value.startswith("\n\nHuman:"):
        _before, *parts = _TRANSCRIPT.split(value)
    elif isinstance(value, str) and _TURN.search(value):
        parts = ["User", *_TURN.split(value)]
    else:
        return []
    roles = {"Human": "user", "User": "user", "Assistant": "assistant"}
    return [
        (roles[role], clean(text, "conversation"))
        for role, text in zip(parts[::2], parts[1::2], strict=True)
    ]


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _first(messages: list[tuple[str, str]]) -> int:
    """The place of the first thing that the user says; -1 where that is nothing."""
    return next((n for n, (role, _text) in enumerate(messages) if role == "user"), -1)


def _judged(messages: list[tuple[str, str]], turn: object) -> list[tuple[str, str]]:
    """``messages`` to the answer of the turn (from 1) that was judged, all where none is named."""
    if isinstance(turn, int | float | str) and str(turn).split(".")[0].isdigit():
        return messages[: _first(messages) + 2 * int(float(turn))]
    return messages


# --- Times ---------------------------------------------------------------------------------------


def moment(value: Any) -> datetime | None:
    """A time in ISO 8601 or in seconds since 1970; without a zone it is UTC."""
    if value in (None, ""):
        return None
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            at = datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
        elif re.fullmatch(r"\d{9,13}(\.\d+)?", str(value)):
            return moment(float(value))
        else:
            at = datetime.fromisoformat(clean(value, "submitted_at").strip())
    except (ValueError, OverflowError, OSError) as error:
        raise RowError(_("the time is not in ISO 8601")) from error
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    if not FIRST <= at <= datetime.now(UTC) + DAY:
        raise RowError(_("the time lies before 1970 or in the future"))
    return at


def _seconds(value: Any) -> float | None:
    if value in (None, ""):
        return None
    seconds = number_of(value)
    if seconds is None or not 0 <= seconds <= SECONDS_LIMIT:
        raise RowError(_("seconds must be a number from 0 to 604,800."))
    return seconds
