"""Judges of papers: what a model is asked that scores what people scored, and what comes of it."""

from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol, cast

from django.utils.translation import gettext as _

from annotation.core.errors import DomainError
from annotation.core.words import StrOrPromise
from annotation.datasets import papers
from annotation.datasets.release_files import parts
from annotation.evaluation import systems
from annotation.evaluation.asking import Question
from annotation.evaluation.models import Run
from annotation.evaluation.systems import Writing
from annotation.evaluation.tables import Table


class Judged(Protocol):
    """What of a release is judged; ``layout`` is the paper's name, ``digest`` that of the files."""

    @property
    def layout(self) -> str: ...
    @property
    def digest(self) -> str: ...
    @property
    def release(self) -> str: ...


class Judge(Protocol):
    """A paper's module ``judge``. Pure."""

    # What a model may be shown, in words; and how an endpoint may write a system's answers.
    ARMS: dict[str, StrOrPromise]
    WRITERS: dict[str, StrOrPromise]
    # What the page says above the tables, and of their figures below them.
    ABOUT: StrOrPromise
    NOTE: StrOrPromise
    # Names the prompts that a run asked.
    VERSION: str
    # Of a reply: for the estimate of the cost alone.
    TOKENS: int
    # The tables, or folders of tables, that are read; a release has at least one.
    TABLES: tuple[str, ...]

    def read(self, folder: Path) -> Judged:
        """What is judged in a release's folder; DomainError with the first fault."""

    def tests(self, judged: Any) -> list:
        """All that is judged, in the release's order."""

    def questions(self, asked: list, arm: str) -> Iterator[Question]:
        """What a model is asked about some of ``tests``."""

    def later(self, asked: list, arm: str, values: dict) -> Iterator[Question]:
        """What follows from the replies to ``questions`` by unit; of no replies, for an estimate,
        all that may follow.
        """

    def summary(self, asked: list, replies: dict[str, tuple]) -> dict:
        """The result, of {unit: (value, text)} of the replies."""

    def table(self, results: list[dict]) -> Table:
        """The results of some runs in the shape of the paper's table."""

    def queries(self, judged: Any) -> dict[tuple[str, str], str]:
        """{(user, id): text} of the queries that a system may answer."""

    def writing(self, judged: Any, arm: str, limit: int | None) -> Writing:
        """A system that is written by one of WRITERS from the release's folder alone."""

    def of_system(self, judged: Any, texts: dict[tuple[str, str], str], arm: str) -> tuple:
        """What a model is asked about a system's ``texts``, as ``tests``, and the set of keys that
        are left out because the judge is shown these texts as examples.
        """

    def scored(self, judged: Any, asked: list, replies: dict[str, tuple]) -> dict:
        """The figures of a system's answers: ``n``, ``persons``, means and intervals."""

    def words(self, result: dict) -> str:
        """A run's result as a person reads it."""

    def people(self, judged: Any, keys: Collection[tuple[str, str]]) -> dict:
        """The figures of the release's own answers to some queries, by those who asked them."""

    def systems(self, results: list[dict], judges: list[dict]) -> Table:
        """Systems with what they knew, people's own scores, and the judges on what people saw."""


def of_layout(layout: str) -> Judge | None:
    paper = papers.named(layout)
    return cast("Judge | None", paper.judge) if paper else None


def _every() -> list[Judge]:
    return [cast(Judge, paper.judge) for paper in papers.registered().values() if paper.judge]


def of_folder(folder: Path) -> Judge | None:
    there = (judge for judge in _every() for table in judge.TABLES
             if (folder / table).is_dir() or parts(folder, table))  # fmt: skip
    return next(there, None)


def in_folder(folder: Path) -> Judge:
    """``of_folder``, or DomainError."""
    if judge := of_folder(folder):
        return judge
    tables = " and no ".join(judge.TABLES[0] for judge in _every())
    raise DomainError(f"{folder} holds no {tables}: there is nothing to judge.", code="benchmark")


class Judgments:
    """A run in which a model scores, as a paper's judge, what people scored or a system wrote.

    A system's answers are brought, or an endpoint writes them first.
    """

    def __init__(
        self,
        judge: Judge,
        judged: Judged,
        arm: str,
        limit: int | None,
        system: systems.System | None = None,
    ) -> None:
        self.judge, self.prompt, self.TOKENS = judge, judge.VERSION, judge.TOKENS
        self.kind: str = Run.Kind.SYSTEM if system else Run.Kind.JUDGE
        if arm not in judge.ARMS:
            raise _not_among(_("A judge of this release is shown one of: %(names)s."), judge.ARMS)
        self.system, self.judged, self.arm, self.limit = system, judged, arm, limit
        self.asked: list = judge.tests(judged)[:limit]
        self.writer: Writing | None = None
        self.fields: dict[str, Any] = {}
        if not system:
            return
        self.queries = judge.queries(judged)
        self.fields = {"system": system.name, "context": system.context,
                       "answers": system.answers, "writer": system.writer}  # fmt: skip
        if not system.writer:
            self._take(*systems.matched(system.answers, self.queries))
            return
        if system.context not in judge.WRITERS:
            words = _("A system on this release is written from one of: %(names)s.")
            raise _not_among(words, judge.WRITERS)
        self.writer = judge.writing(judged, system.context, limit)

    def _take(
        self, texts: dict[tuple[str, str], str], left_out: dict[str, int] | None = None
    ) -> None:
        """What is asked about a system's ``texts``; the first ones where there is a limit."""
        left_out = left_out or {"answers": 0, "queries": len(self.queries) - len(texts)}
        some = dict(list(texts.items())[: self.limit])
        self.asked, examples = self.judge.of_system(self.judged, some, self.arm)
        if not self.asked and self.queries:
            raise DomainError(_("Every answer is an example that the judge is shown.") if texts
                              else _("The endpoint wrote no answer."))  # fmt: skip
        self.keys = some.keys() - examples
        dropped = left_out["queries"] + len(texts) - len(some)
        self.left_out = {**left_out, "queries": dropped, "examples": len(examples)}

    def phases(self, values: Callable[[], dict]) -> Iterator[tuple[str, list[Question]]]:
        """What a writer is asked, step by step; judgments and claims; what follows from these."""
        if self.writer:
            for questions in self.writer.phases(values):
                yield "answers", questions
            self._take(self.writer.texts(values()))
        yield "judgments", list(self.judge.questions(self.asked, self.arm))
        if later := list(self.judge.later(self.asked, self.arm, values())):
            yield "feedback", later

    def drawn(self) -> list[Question]:
        """What the judge is asked, as far as that is known before it begins."""
        if self.writer:
            self._take(self.writer.drafts()[1])
        asked = self.asked, self.arm
        return [*self.judge.questions(*asked), *self.judge.later(*asked, {})]

    def result(self, run: Run) -> tuple[dict, dict | None]:
        """The paper's row, and the agreement with the persons where they scored the same."""
        rows = run.replies.values_list("unit", "value", "text")
        replies = {unit: (value, text) for unit, value, text in rows}
        if not self.system:
            return self.judge.summary(self.asked, replies), None
        return self.judge.scored(self.judged, self.asked, replies) | {
            "system": self.system.name,
            "context": self.system.context,
            "writer": self.system.writer,
            "left_out": self.left_out,
            "asked": systems.digest(self.keys),
            "people": self.judge.people(self.judged, self.keys),
        }, None


def _not_among(words: str, names: Iterable[str]) -> DomainError:
    return DomainError(words % {"names": ", ".join(names)})
