"""Put three to eight answers in order; where the task allows, with equal places."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, cast

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.core.errors import DomainError
from annotation.judging import models
from annotation.judging.kinds import base, body, common, planning
from annotation.judging.kinds.imported import ImportedFile, ImportedJudgment, ReleasedAnswer
from annotation.judging.kinds.planning import EVERYTHING, Scope
from annotation.judging.kinds.ranking.form import (
    OPTIONS,
    PLACES,
    RankingBody,
    RankingForm,
    allowed,
    complete,
)
from annotation.judging.kinds.slots import Config, Data, Held, Ordered, Shown
from annotation.judging.models import Item
from annotation.studies.models import Study, TaskDefinition


@dataclass(frozen=True)
class Answer:
    """(option's number or 0, place) of every option, in order of their numbers."""

    places: tuple[tuple[int, int], ...]
    detail = ""

    @property
    def label(self) -> dict[str, int]:
        """{option's number: place}, places from 1 without gaps."""
        return {str(number): place for number, place in self.places}


class RankingKind(base.Kind[Answer, RankingBody, dict[str, int]]):
    CODE = "ranking"
    NAME = gettext_lazy("put answers in order")
    QUESTION = gettext_lazy("Which answer is best for this person, which comes next?")
    PRIMARY = "ranking"
    Form = RankingForm
    Body = RankingBody
    ASKS = ("query", "options")
    DEFAULTS = {"options": 4, "ties": False}
    LEVEL = "ranks"
    SHAPE = "ranks"

    def check_config(self, config: Config) -> dict:
        """``options`` how many answers are ordered, ``ties`` whether places may be equal."""
        full = super().check_config(config)
        common.check_whole("options", full["options"], *OPTIONS)
        return full

    def imported_config(self, file: ImportedFile) -> Config | None:
        if file.has("attribute") or file.has("score") or not file.orders or file.size == 1:
            return None
        ties = any("=" in label for label in file.orders)
        return {"reason": "optional", "options": file.size, "ties": ties}

    def imported_body(self, judgment: ImportedJudgment) -> dict[str, Any]:
        """The options' ids, the best first, of an order such as "A>C=B"."""
        places: list[str | list[str]] = []
        for group in judgment.label.split(">"):
            ids = [judgment.choice(name.strip()) for name in group.split("=")]
            places.append(ids if len(ids) > 1 else ids[0])
        return {"ranking": places}

    def published_config(self, texts: Callable[[str], list[str]], attribute: bool) -> Config:
        return {"options": len(texts("candidates"))}

    def answered_config(self, released: ReleasedAnswer) -> dict[str, Any]:
        places = released.answer.values() if isinstance(released.answer, dict) else ()
        return {"ties": len(set(map(str, places))) < len(places)}

    def released_body(self, released: ReleasedAnswer) -> dict[str, Any]:
        places = defaultdict(list)
        for name, place in released.parts.items():
            if type(place) is not int:
                raise DomainError(_("“%s” is no place on the scale") % str(place)[:60])
            places[place].append(released.candidate(name))
        return {"ranking": [places[place] for place in sorted(places)]}

    def plan(self, study: Study, task: TaskDefinition, scope: Scope = EVERYTHING) -> Iterator[dict]:
        rows = planning.grouped(study, task, scope)
        return (row for row in rows if len(row["candidates"]) == task.config["options"])

    def labels(self, config: Config) -> list[str]:
        return [str(place) for place in range(1, config["options"] + 1)]

    def expected(self, value: Any, row: dict, config: Config) -> dict:
        """Candidates' ids, the best first; a list of ids stands for equal places."""
        numbers = {id: n for n, id in enumerate(row["candidates"], start=1)}
        try:
            groups = complete(PLACES.validate_python(value), numbers)
        except ValueError:
            groups = []
        if not groups or not allowed(groups, config):
            raise DomainError(f"“expected” must list {base.listed(numbers)}, the best first")
        return _ranked(groups, numbers).label

    def fields_sent(self, data: Data, held: Held) -> Data:
        """A form has ``place-N``, N the place at which an answer was shown."""
        if "ranking" in data:
            return data
        candidates = {option.number: option.candidate for option in held.options}
        groups: dict[int, list[str]] = defaultdict(list)
        for n, number in enumerate(held.shown, start=1):
            groups[_typed_place(data, n, len(held.shown))].append(candidates[number])
        return {"ranking": [groups[place] for place in sorted(groups)]}

    def answer(self, sent: RankingBody, held: Held) -> Answer:
        numbers = {option.candidate: option.number for option in held.options}
        return _ranked(sent.ranking, numbers)

    def rows(self, answer: Answer) -> list[models.Answer]:
        return [
            models.Answer(question=self.PRIMARY, option=number, value=place)
            for number, place in answer.places
        ]

    def typed(self, answer: Answer, shown: Ordered) -> dict[str, list[str]]:
        answer = self.as_shown(answer, shown.order, shown.config)
        return {f"place-{n}": [str(place)] for n, place in answer.places}

    def context(self, shown: Shown, typed: Data) -> dict[str, Any]:
        places = range(1, len(shown.answers) + 1)
        return {"rows": [(n, typed.get(f"place-{n}", "")) for n in places], "places": places}

    def of_rows(self, rows: Sequence[models.Answer]) -> Answer:
        places = [(cast(int, row.option), cast(int, row.value)) for row in rows]
        return Answer(tuple(sorted(places)))

    def of_label(self, label: dict[str, int]) -> Answer:
        return _answer({int(number): place for number, place in label.items()})

    def as_shown(self, answer: Answer, order: Sequence[int], config: Config) -> Answer:
        shown = {number: n for n, number in enumerate(order, start=1)}
        places = [(shown.get(number, 0), place) for number, place in answer.places]
        return Answer(tuple(sorted(places, key=lambda pair: pair[0])))

    def label_words(self, label: str, config: Config) -> str:
        return label

    def words(self, answer: Answer, config: Config) -> list[str]:
        """One line, the best first: "Answer 2 > Answer 1 = Answer 3"."""
        ordered = sorted(answer.places, key=lambda pair: (pair[1], pair[0]))
        groups = groupby(ordered, key=lambda pair: pair[1])
        names = [[base.answer_name(number) for number, _place in group] for _p, group in groups]
        return [" > ".join(" = ".join(group) for group in names)]

    def fields(self, item: Item, config: Config) -> list[base.Field]:
        choices = self.label_choices(config)
        numbers = [option.number for option in item.options.all()]
        return [base.Field(str(number), base.answer_name(number), choices) for number in numbers]

    def label_of(self, parts: dict[str, str], config: Config) -> dict[str, int]:
        return _answer({int(number): int(place) for number, place in parts.items()}).label

    def label_json(self, label: dict[str, int], ids: dict[int, str], config: Config) -> dict:
        """{option's id: place}."""
        return {ids[number]: place for number, place in self.of_label(label).places}

    def answer_json(self, answer: Answer, ids: dict[int, str], config: Config) -> dict:
        return {ids[number]: place for number, place in answer.places}


def _answer(places: dict[int, int]) -> Answer:
    """Places without gaps, by number."""
    dense = {place: n for n, place in enumerate(sorted(set(places.values())), start=1)}
    return Answer(tuple((number, dense[place]) for number, place in sorted(places.items())))


def _ranked(groups: Sequence[Sequence[str]], numbers: dict[str, int]) -> Answer:
    """The answer of ids at each place, the best first."""
    return _answer(
        {numbers[id]: place for place, group in enumerate(groups, start=1) for id in group}
    )


def _typed_place(data: Data, n: int, most: int) -> int:
    place = body.number(data.get(f"place-{n}"))
    if type(place) is not int or not 1 <= place <= most:
        sentence = _("Give answer %(n)d a place from 1 to %(most)d.") % {"n": n, "most": most}
        raise DomainError(sentence, code="ranking")
    return place
