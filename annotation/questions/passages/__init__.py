"""Passages of the answers' texts, each with a class where the task has some, and a remark."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.questions import base

MOST, REMARK_LIMIT = 50, 1_000
KEYS = {"option", "start", "end", "class", "text"}
# What the page's script calls them, which marks passages beside any answer, too.
SCRIPTED = {"option": "option", "start": "start", "end": "end", "sign": "class", "comment": "text"}


class PassagesQuestion(base.Question):
    """An answer is a list of {"option", "start", "end", "class"?, "text"?}; a row has an option's.

    A place counts characters (code points) of the text as it is stored. On the page they are
    selected, or written as lines, one a passage, in the answer's own words.
    """

    TITLE = gettext_lazy("passages that they mark in the answers")
    LEVEL = "none"
    COMPARES = 1
    MARKS = True

    type: Literal["passages"] = "passages"
    about: Literal["item"] = "item"
    classes: base.Classes = base.setting(
        [], title=gettext_lazy("Classes"), max_length=base.CLASSES_LIMIT
    )

    def rows(self, value: Any, options: base.Options) -> list[base.Row]:
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
            raise self.refused(_("give a list of passages"))
        if len(value) > MOST:
            raise self.refused(_("at most %(n)d passages") % {"n": MOST})
        marked: dict[int, list[base.Passage]] = {}
        for each in value:
            number = options.numbers.get(str(each.get("option")))
            if number is None:
                words = _("there is no answer “%s”") % str(each.get("option"))[:60]
                raise self.refused(words)
            marked.setdefault(number, []).append(self._passage(each, options.texts[number]))
        return [self._row(number, marked[number]) for number in sorted(marked)]

    def _passage(self, sent: dict, text: str) -> base.Passage:
        if unknown := sent.keys() - KEYS:
            raise self.refused(_("a passage has no “%s”") % str(min(unknown, key=str))[:60])
        start, end = sent.get("start"), sent.get("end")
        if type(start) is not int or type(end) is not int or not 0 <= start < end <= len(text):
            words = _("a passage begins and ends within the %(n)d characters of its answer")
            raise self.refused(words % {"n": len(text)})
        label = sent.get("class") or ""
        if label not in ([each.name for each in self.classes] or [""]):
            raise self.refused(_("“%s” is none of its classes") % str(label)[:60])
        remark = base.checked_text(self, sent.get("text") or "", most=REMARK_LIMIT)
        return base.Passage(start, end, label, remark, text[start:end])

    def _row(self, option: int, passages: list[base.Passage]) -> base.Row:
        passages.sort(key=lambda each: (each.label, each.start))
        for one, next_one in pairwise(passages):
            if one.label == next_one.label and next_one.start < one.end:
                raise self.refused(_("two passages of one class overlap"))
        passages.sort(key=lambda each: (each.start, each.end, each.label))
        return base.Row(self.name, option=option, passages=tuple(passages))

    # From a form: what its script marked, or, where there are lines of words, these

    def sent_by_form(self, data: Mapping[str, Any], options: base.Options) -> Any:
        field = self.field()
        scripted = [_renamed(each, SCRIPTED) for each in _listed(data.get(field))]
        if not any(name.startswith(f"{field}/") for name in data):
            return scripted
        sent: list[dict] = []
        for place, number in enumerate(options.order, start=1):
            id = options.ids[number]
            lines = str(data.get(self.field(place)) or "").splitlines()
            kept, taken = [each for each in scripted if each.get("option") == id], []
            for line in [line for line in lines if line.strip()][: MOST + 1]:
                taken.append(self._of_line(line, options.texts[number], kept, taken))
            sent += [{"option": id} | each for each in taken]
        return sent

    def _of_line(self, line: str, text: str, kept: list[dict], taken: list[dict]) -> dict:
        """The passage that a line has the words of, none of those ``taken``; one of ``kept`` where
        it was marked before.
        """
        label, words = self._parted(line)
        for each in kept:
            if each.get("class", "") == label and _words_of(each, text) == words:
                kept.remove(each)
                return each
        taken = [each for each in taken if each.get("class", "") == label]
        # A blank stands for any blanks: a passage may go over several lines of the text.
        for match in re.finditer(r"\s+".join(map(re.escape, words.split())), text):
            start, end = match.span()
            if not any(each["start"] < end and start < each["end"] for each in taken):
                return {"start": start, "end": end, "class": label}
        raise self.refused(_("“%s” is not in this answer, or marked already") % words[:60])

    def _parted(self, line: str) -> tuple[str, str]:
        """The class and the words of a line "CLASS: WORDS", or "WORDS" without classes."""
        words = " ".join(line.split())
        if not self.classes:
            return "", words
        for name, title in self.choices(0):
            for beginning in (f"{title}: ", f"{name}: "):
                if words.casefold().startswith(beginning.casefold()):
                    return name, words[len(beginning) :]
        raise self.refused(_("begin each line with its class and a colon"))

    def typed(self, rows: Sequence[base.Row], options: base.Options) -> dict[str, list[str]]:
        """The field that the page's script reads; ``text`` is for it the passage's own words."""
        back = {to: name for name, to in SCRIPTED.items()}
        marks = [
            {"sign": "", "comment": ""} | _renamed(sent, back) | {"text": passage.words}
            for row in rows
            for sent, passage in zip(self.exported([row], options.ids), row.passages, strict=True)
        ]
        return {self.field(): [json.dumps(marks, ensure_ascii=False) if marks else ""]}

    def context(self, data: Mapping[str, Any], field: str, options: Sequence[str]) -> dict:
        classes = self.choices(0)
        marks = _listed(data.get(field))
        lines = []
        for place, id in enumerate(options, start=1):
            written = (self._line(each) for each in marks if each.get("option") == id)
            name = f"{field}/{place}"
            lines.append((place, name, data.get(name) or "\n".join(written)))
        return {
            "marks": json.dumps(marks, ensure_ascii=False) if marks else "",
            "kinds": json.dumps(classes or [("", self.words)], ensure_ascii=False),
            "classes": classes,
            "lines": lines,
        }

    def _line(self, mark: dict) -> str:
        words = " ".join(str(mark.get("text", "")).split())
        return f"{mark.get('sign')}: {words}" if self.classes else words

    # To exports and words

    def choices(self, options: int) -> list[tuple[str, str]]:
        """(name, words) of each class."""
        return base.class_words(self.classes)

    def exported(self, rows: Sequence[base.Row], ids: Mapping[int, str]) -> Any:
        return [
            {"option": ids[row.option or 0]} | passage.stored
            for row in rows
            for passage in row.passages
        ]

    def released(self, row: base.Row, ids: Mapping[int, str]) -> Iterator[dict[str, Any]]:
        """A row each passage: its class is the label, its remark the text."""
        for each in row.passages:
            cells = {"label": each.label or None, "text": each.text or None}
            yield {**base.EMPTY_ROW, **cells, "start": each.start, "end": each.end}

    def sent_by_release(self, rows: Sequence[Mapping[str, Any]], ids: Mapping[str, str]) -> Any:
        names = {"option": "option", "start": "start", "end": "end", "label": "class"}
        return [_renamed(row, names | {"text": "text"}) for row in rows]

    def stated(self, row: base.Row) -> str:
        titles = dict(self.choices(0))
        named = (
            (titles.get(each.label, each.label), " ".join(each.words.split()))
            for each in row.passages
        )
        return "; ".join(f"{label} “{words}”".strip() for label, words in named)

    def written(self, row: base.Row) -> list[str]:
        return [each.text for each in row.passages]


def _listed(text: Any) -> list[dict]:
    """What the page's script sends as JSON: a list of objects; [] of anything else."""
    try:
        marks = json.loads(text or "[]")
    except (TypeError, ValueError, RecursionError):
        return []
    fit = isinstance(marks, list) and all(isinstance(mark, dict) for mark in marks)
    return marks if fit else []


def _renamed(mark: Mapping[str, Any], names: Mapping[str, str]) -> dict:
    return {names[name]: value for name, value in mark.items() if name in names}


def _words_of(sent: dict, text: str) -> str:
    start, end = sent.get("start"), sent.get("end")
    known = type(start) is int and type(end) is int and 0 <= start < end
    return " ".join(text[start:end].split()) if known else ""
