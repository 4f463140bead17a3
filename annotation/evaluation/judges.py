"""Judges of papers: what a model is asked that scores what people scored, and what comes of it."""

from collections.abc import Callable, Collection, Iterator
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

    # What a model may be shown, in words.
    ARMS: dict[str, StrOrPromise]
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

    def summary(self, asked: list, replies: dict[str, tuple]) -> dict:
        """The result, of {unit: (value, text)} of the replies."""

    def table(self, results: list[dict]) -> Table:
        """The results of some runs in the shape of the paper's table."""

    def queries(self, judged: Any) -> dict[tuple[str, str], str]:
        """{(user, id): text} of the queries that a system may answer."""

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


def of_folder(folder: Path) -> Judge | None:
    judges = [cast(Judge, paper.judge) for paper in papers.registered().values() if paper.judge]
    there = (judge for judge in judges for table in judge.TABLES
             if (folder / table).is_dir() or parts(folder, table))  # fmt: skip
    return next(there, None)


def in_folder(folder: Path) -> Judge:
    """``of_folder``, or DomainError."""
    if judge := of_folder(folder):
        return judge
    tables = [cast(Judge, paper.judge).TABLES[0]
              for paper in papers.registered().values() if paper.judge]  # fmt: skip
    raise DomainError(f"{folder} holds no {' and no '.join(tables)}: there is nothing to judge.",
                      code="benchmark")  # fmt: skip


class Judgments:
    """A run in which a model scores, as a paper's judge, what people scored or a system wrote."""

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
            words = _("A judge of this release is shown one of: %(names)s.")
            raise DomainError(words % {"names": ", ".join(judge.ARMS)})
        self.system, self.judged, self.arm = system, judged, arm
        self.asked: list = judge.tests(judged)[:limit]
        self.fields: dict[str, Any] = {}
        if system:
            self.fields = {"system": system.name, "context": system.context,
                           "answers": system.answers}  # fmt: skip
            self._take(system, limit)

    def _take(self, system: systems.System, limit: int | None) -> None:
        """Ask about the system's answers; the first ones where there is a limit."""
        queries = self.judge.queries(self.judged)
        texts, left_out = systems.matched(system.answers, queries)
        some = dict(list(texts.items())[:limit])
        self.asked, examples = self.judge.of_system(self.judged, some, self.arm)
        if not self.asked:
            raise DomainError(_("Every answer is an example that the judge is shown."))
        self.keys = some.keys() - examples
        dropped = left_out["queries"] + len(texts) - len(some)
        self.left_out = {**left_out, "queries": dropped, "examples": len(examples)}

    def phases(self, values: Callable[[], dict]) -> Iterator[tuple[str, list[Question]]]:
        """Judgments and claims."""
        yield "judgments", self.drawn()

    def drawn(self) -> list[Question]:
        """What the judge is asked."""
        return list(self.judge.questions(self.asked, self.arm))

    def result(self, run: Run) -> tuple[dict, dict | None]:
        """The paper's row, and the agreement with the persons where they scored the same."""
        rows = run.replies.values_list("unit", "value", "text")
        replies = {unit: (value, text) for unit, value, text in rows}
        if not self.system:
            return self.judge.summary(self.asked, replies), None
        return self.judge.scored(self.judged, self.asked, replies) | {
            "system": self.system.name,
            "context": self.system.context,
            "left_out": self.left_out,
            "asked": systems.digest(self.keys),
            "people": self.judge.people(self.judged, self.keys),
        }, None
