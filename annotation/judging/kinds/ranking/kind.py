"""Put three to eight answers in order; where the task allows, with equal places."""

from collections import defaultdict
from dataclasses import dataclass
from itertools import groupby

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.core import sql
from annotation.core.errors import DomainError
from annotation.judging.kinds import base, common, planning
from annotation.judging.kinds.ranking.form import OPTIONS, RankingBody, RankingForm
from annotation.judging.kinds.ranking.tables import RankedOption, Ranking


@dataclass(frozen=True)
class Answer:
    """(option's number or None, place) of every option, in order of their numbers."""

    places: tuple[tuple[int | None, int], ...]
    detail = ""

    @property
    def label(self) -> dict[str, int]:
        """{option's number: place}, places from 1 without gaps."""
        return {str(number): place for number, place in self.places}


class RankingKind(base.Kind):
    CODE = "ranking"
    NAME = gettext_lazy("put answers in order")
    QUESTION = gettext_lazy("Which answer is best for this person, which comes next?")
    MODEL = Ranking
    Form = RankingForm
    Body = RankingBody
    ASKS = ("query", "options")
    PUBLISHED = False
    DEFAULTS = {"options": 4, "ties": False}
    LEVEL = "ranks"
    SHAPE = "ranks"

    def check_config(self, config: dict) -> dict:
        """``options`` how many answers are ordered, ``ties`` whether places may be equal."""
        full = super().check_config(config)
        common.check_whole("options", full["options"], *OPTIONS)
        return full

    def imported_config(self, file):
        if file.has("attribute") or file.has("score") or not file.orders or file.size == 1:
            return None
        ties = any("=" in label for label in file.orders)
        return {"reason": "optional", "options": file.size, "ties": ties}

    def imported_body(self, judgment):
        """The options' ids, the best first, of an order such as "A>C=B"."""
        places: list[str | list[str]] = []
        for group in judgment.label.split(">"):
            ids = [judgment.choice(name.strip()) for name in group.split("=")]
            places.append(ids if len(ids) > 1 else ids[0])
        return {"ranking": places}

    def plan(self, study, task, scope=planning.EVERYTHING):
        rows = planning.grouped(study, task, scope)
        return (row for row in rows if len(row["candidates"]) == task.config["options"])

    def labels(self, config: dict) -> list[str]:
        return [str(place) for place in range(1, config["options"] + 1)]

    def expected(self, value, row: dict, config: dict) -> dict:
        """Candidates' ids, the best first; a list of ids stands for equal places."""
        numbers = {id: n for n, id in enumerate(row["candidates"], start=1)}
        places = _listed_places(value, numbers)
        if places is None or not _allowed(places, config):
            raise DomainError(f"“expected” must list {base.listed(numbers)}, the best first")
        return _answer(places).label

    def read(self, data, held) -> Answer:
        """``place-N`` of a form, N the place at which an answer was shown; or ``ranking`` of an API
        body, a list of options' ids, the best first, with a list of ids for equal places.
        """
        if "ranking" in data:
            numbers = {option.candidate: option.number for option in held.options}
            places = _listed_places(data["ranking"], numbers)
            if places is None:
                raise DomainError(_("List every answer once, the best first."), code="ranking")
        else:
            places = {
                number: _typed_place(data, n, len(held.shown))
                for n, number in enumerate(held.shown, start=1)
            }
        if not _allowed(places, held.config):
            raise DomainError(_("Give every answer a place of its own."), code="ranking")
        return _answer(places)

    def parts(self, answer: Answer, held, judgment: int) -> list[RankedOption]:
        rows = {option.number: option.pk for option in held.options}
        return [
            RankedOption(ranking_id=judgment, option_id=rows[number], place=place)
            for number, place in answer.places
        ]

    def typed(self, answer: Answer, shown) -> dict:
        answer = self.as_shown(answer, shown.order, shown.config)
        return {f"place-{n}": [str(place)] for n, place in answer.places}

    def context(self, shown, typed) -> dict:
        places = range(1, len(shown.answers) + 1)
        return {"rows": [(n, typed.get(f"place-{n}", "")) for n in places], "places": places}

    def answers(self, judgments) -> dict[int, Answer]:
        rows = RankedOption.objects.filter(sql.among("ranking", judgments)).order_by(
            "option__number"
        )
        places = defaultdict(list)
        for ranking, number, place in rows.values_list("ranking", "option__number", "place"):
            places[ranking].append((number, place))
        return {pk: Answer(tuple(places[pk])) for pk in judgments}

    def of_label(self, label: dict[str, int]) -> Answer:
        return _answer({int(number): place for number, place in label.items()})

    def as_shown(self, answer: Answer, order, config: dict) -> Answer:
        shown = {number: n for n, number in enumerate(order, start=1)}
        places = [(shown.get(number), place) for number, place in answer.places]
        return Answer(tuple(sorted(places, key=lambda pair: pair[0] or 0)))

    def label_words(self, label: str, config: dict) -> str:
        return label

    def words(self, answer: Answer, config: dict) -> list[str]:
        """One line, the best first: "Answer 2 > Answer 1 = Answer 3"."""
        ordered = sorted(answer.places, key=lambda pair: (pair[1], pair[0] or 0))
        groups = groupby(ordered, key=lambda pair: pair[1])
        names = [[base.answer_name(number) for number, _place in group] for _p, group in groups]
        return [" > ".join(" = ".join(group) for group in names)]

    def fields(self, item, config: dict) -> list[base.Field]:
        choices = self.label_choices(config)
        numbers = [option.number for option in item.options.all()]
        return [base.Field(str(number), base.answer_name(number), choices) for number in numbers]

    def label_of(self, parts: dict[str, str]) -> dict[str, int]:
        return _answer({int(number): int(place) for number, place in parts.items()}).label

    def label_json(self, label: dict, ids: dict[int, str]) -> dict:
        """{option's id: place}."""
        return {ids[number]: place for number, place in self.of_label(label).places}

    def answer_json(self, answer: Answer, ids: dict[int, str]) -> dict:
        return {ids[number]: place for number, place in answer.places}


def _answer(places: dict[int, int]) -> Answer:
    """Places without gaps, by number."""
    dense = {place: n for n, place in enumerate(sorted(set(places.values())), start=1)}
    return Answer(tuple((number, dense[place]) for number, place in sorted(places.items())))


def _allowed(places: dict[int, int], config: dict) -> bool:
    return config["ties"] or len(set(places.values())) == len(places)


def _typed_place(data, n: int, most: int) -> int:
    sentence = _("Give answer %(n)d a place from 1 to %(most)d.") % {"n": n, "most": most}
    return common.whole_of(data.get(f"place-{n}"), 1, most, sentence, "ranking")


def _listed_places(value, numbers: dict[str, int]) -> dict[int, int] | None:
    """{number: place} of a list of ids and lists of ids; None where it is not every id once."""
    groups = value if isinstance(value, list) else []
    groups = [group if isinstance(group, list) else [group] for group in groups]
    ids = [id for group in groups for id in group]
    if not all(isinstance(id, str) for id in ids) or sorted(ids) != sorted(numbers):
        return None
    return {numbers[id]: place for place, group in enumerate(groups, start=1) for id in group}
