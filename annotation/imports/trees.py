"""Records of published sets that are no row as they stand, as rows. Pure.

OpenAssistant has trees (``prompt`` with ``replies``), PRISM lists (``conversation_history``): each
turn with several answers is a row with id, depth (the person's turn, from 1), ``messages`` up to
that turn, and the answers to it, with what else is said of a PRISM conversation. A PRISM utterance
gets its depth: later turns say nothing of what came before. PersonaMem has options as one text, and
conversations by their name, of which questions say where they were asked; PrefEval numbers the
turns of a conversation. Chatbot Arena's 55k battles have lists of turns and a column for each
outcome, PandaLM both models in one name, Nectar a rank in each answer, Synthetic-Persona-Chat both
people of a conversation.
"""

import ast
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext as _

from annotation.imports.mapping import is_messages

# Levels of a tree that are followed.
DEPTH_LIMIT = 100
# Characters of options, and digits of a place in a conversation.
OPTIONS_LIMIT, LONGEST_NUMBER = 100_000, 9
JOINED = "shared_context_id.conversation"
_LETTER = re.compile(r"(\([a-z]\))\s*(.+)", re.DOTALL)
_ROLES = {"prompter": "user", "model": "assistant"}
# Both people of a conversation in Synthetic-Persona-Chat.
_PAIR = ("user 1 personas", "user 2 personas")
# Columns of a battle, and the outcome that each of three columns stands for.
_TURNS = {"response_a": "conversation_a", "response_b": "conversation_b"}
_WINNERS = {"winner_model_a": "model_a", "winner_model_b": "model_b", "winner_tie": "tie"}


def tree_rows(record: dict) -> Iterator[dict | str]:
    """The rows of ``record``: itself, where it is no such conversation; a reason in place of a
    row that cannot be told.
    """
    prompt, history = record.get("prompt"), record.get("conversation_history")
    if isinstance(prompt, dict) and isinstance(prompt.get("replies"), list):
        yield from _turns(prompt, [])
    elif isinstance(history, list) and all(isinstance(turn, dict) for turn in history):
        yield from _rounds(record, history)
    elif all(name in record for name in _PAIR):
        rest = {name: value for name, value in record.items() if name not in _PAIR}
        yield from (rest | {"persona": record[name]} for name in _PAIR)
    elif "user_prompt" in record and type(record.get("turn")) is int:
        yield record | {"depth": record["turn"] + 1}
    elif isinstance(record.get("all_options"), str):
        options = _options(record["all_options"])
        yield record | {"options": options} if options else record
    else:
        for form in (_named, _numbered, _battle, _compared, _ranked):
            if row := form(record):
                yield row
                return
        yield record


def until_asked(record: dict) -> dict:
    """``record``, whose joined conversation ends where its question was asked (PersonaMem)."""
    turns, end = record.get(JOINED), str(record.get("end_index_in_shared_context", ""))
    if isinstance(turns, list) and end.isdecimal() and len(end) < LONGEST_NUMBER:
        return record | {JOINED: turns[: int(end)]}
    return record


def _options(text: str) -> list[dict]:
    """The options in the text of a Python list, each with its letter: "(a) A walk."."""
    try:
        read = ast.literal_eval(text) if len(text) <= OPTIONS_LIMIT else None
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        read = None
    options = read if isinstance(read, list) else []
    parts = [_LETTER.fullmatch(option) for option in options if isinstance(option, str)]
    return [{"id": part[1], "text": part[2]} for part in parts if part]


def _named(record: dict) -> dict | None:
    """A conversation that is the one value of its record, under its name."""
    ((name, turns),) = record.items() if len(record) == 1 else [("", None)]
    if not is_messages(turns):
        return None
    row = {"shared_context_id": name, "conversation_id": name, "source": "synthetic"}
    return row | {"conversation": turns}


def _numbered(record: dict) -> dict | None:
    """``record`` with the messages of {"0": {"user": "…", "assistant": "…"}, …}."""
    turns = record.get("conversation")
    if not isinstance(turns, dict) or not all(isinstance(turn, dict) for turn in turns.values()):
        return None
    messages = [
        {"role": role, "content": turn[role]}
        for turn in turns.values()
        for role in ("user", "assistant")
        if isinstance(turn.get(role), str)
    ]
    return record | {"messages": messages}


def _battle(record: dict) -> dict | str | None:
    """Two conversations and a winner of lists of turns (``["…", "…"]``, also as text)."""
    lists = [_texts(record.get(name)) for name in ("prompt", *_TURNS)]
    if not all(lists):
        return None
    asked, *sides = filter(None, lists)
    if any(len(side) != len(asked) for side in sides):
        return _("the question and the two answers have different numbers of turns")
    row = {name: value for name, value in record.items() if name not in {*_TURNS, *_WINNERS}}
    del row["prompt"]
    for name, said in zip(_TURNS.values(), sides, strict=True):
        pairs = zip(asked, said, strict=True)
        texts = [text for pair in pairs for text in pair]
        roles = ("user", "assistant")
        row[name] = [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]
    if record.keys() >= _WINNERS.keys():
        won = [word for name, word in _WINNERS.items() if str(record[name]) in ("1", "1.0")]
        if len(won) != 1:
            return _("of %s exactly one must be 1") % ", ".join(_WINNERS)
        row["winner"] = won[0]
    return row


def _texts(value: Any) -> list[str] | None:
    """A list of texts, also one written as JSON; null is an empty text. None for anything else."""
    if isinstance(value, str) and value.startswith("["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    if not value or not isinstance(value, list):
        return None
    texts = ["" if text is None else text for text in value]
    return texts if all(isinstance(text, str) for text in texts) else None


def _compared(record: dict) -> dict | None:
    """The models of both answers, which PandaLM joins: "bloom-7b_opt-7b"."""
    models = str(record.get("cmp_key", "")).split("_")
    if len(models) != 2 or not record.keys() >= {"response1", "response2"}:
        return None
    rest = {name: value for name, value in record.items() if name != "cmp_key"}
    return rest | {"model1": models[0], "model2": models[1]}


def _ranked(record: dict) -> dict | None:
    """An order, the best first ("2>1=3"), of the ranks that stand in a list of answers."""
    for name, answers in record.items():
        if not isinstance(answers, list) or len(answers) < 2 or "ranked" in record:
            continue
        ranks = [answer.get("rank") if isinstance(answer, dict) else None for answer in answers]
        if not all(type(rank) in (int, float) for rank in ranks):
            continue
        groups: dict[Any, list[str]] = defaultdict(list)
        for number, rank in enumerate(ranks, start=1):
            groups[rank].append(str(number))
        order = ">".join("=".join(groups[rank]) for rank in sorted(groups))
        rest = [{key: each[key] for key in each if key != "rank"} for each in answers]
        return record | {name: rest, "ranked": order}
    return None


def _turns(message: dict, before: list[dict]) -> Iterator[dict]:
    """Of a person's message in a tree and all below it: a row for each that was answered."""
    asked = [*before, _message(message)]
    depth = len(asked) // 2 + 1
    answers = [reply for reply in message.get("replies") or () if isinstance(reply, dict)]
    if not answers or depth > DEPTH_LIMIT:
        return
    answers = [answer for answer in answers if not answer.get("deleted")]
    ranked = sorted((a["rank"], n) for n, a in enumerate(answers, 1) if type(a.get("rank")) is int)
    order = ">".join(str(number) for _rank, number in ranked)
    yield {
        "id": message.get("message_id"),
        "depth": depth,
        "language": message.get("lang"),
        "messages": asked,
        "answers": [
            {"id": answer.get("message_id"), "text": answer.get("text")} for answer in answers
        ],
        "ranking": order if len(ranked) == len(answers) > 1 else None,
    }
    for answer in answers:
        for reply in answer.get("replies") or ():
            if isinstance(reply, dict):
                yield from _turns(reply, [*asked, _message(answer)])


def _rounds(record: dict, history: list[dict]) -> Iterator[dict]:
    """A row for each turn of a list in which several models answer and one goes on."""
    turns: dict[int, list[dict]] = defaultdict(list)
    for message in history:
        turn = message.get("turn")
        turns[turn if type(turn) is int else 0].append(message)
    rest = {name: value for name, value in record.items() if name != "conversation_history"}
    before: list[dict] = []
    for depth, turn in enumerate(sorted(turns), start=1):
        asked = [_message(each) for each in turns[turn] if each.get("role") == "user"]
        answers = [each for each in turns[turn] if each.get("role") == "model"]
        chosen = [n for n, each in enumerate(answers, 1) if each.get("if_chosen")]
        yield rest | {
            "id": f"{record.get('conversation_id')}/{turn}",
            "depth": depth,
            "messages": [*before, *asked],
            "answers": [
                # Two answers of one model may be alike.
                {"id": f"{turn}/{n}", "text": each.get("content"), "model": each.get("model_name")}
                for n, each in enumerate(answers, 1)
            ],
            "score": [each.get("score") for each in answers],
            "chosen": f"{turn}/{chosen[0]}" if len(chosen) == 1 and len(answers) > 1 else None,
        }
        before = [*before, *asked, *(_message(answers[number - 1]) for number in chosen[:1])]


def _message(message: dict) -> dict:
    role, text = message.get("role"), message.get("text", message.get("content"))
    return {"role": _ROLES.get(str(role), str(role)), "content": text if text else ""}
