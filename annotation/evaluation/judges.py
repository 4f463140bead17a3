"""Judges of papers: what a model is asked that scores what people scored, and what comes of it."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from annotation.datasets import papers
from annotation.evaluation.asking import Question
from annotation.evaluation.tables import Table

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


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
    ARMS: dict[str, "StrOrPromise"]
    # Names the prompts that a run asked.
    VERSION: str
    # Of a reply: for the estimate of the cost alone.
    TOKENS: int
    # The folders that are read; there is no release without the first.
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

    def scored(self, asked: list, replies: dict[str, tuple]) -> dict:
        """The figures of a system's answers: ``n``, ``persons``, means and intervals."""

    def people(self, judged: Any, keys: Collection[tuple[str, str]]) -> dict:
        """The figures of the release's own answers to some queries, by those who asked them."""

    def systems(self, results: list[dict], judges: list[dict]) -> Table:
        """Systems with what they knew, people's own scores, and the judges on what people saw."""


def of_layout(layout: str) -> Judge | None:
    """The judge of releases in ``layout``, or None."""
    paper = papers.named(layout)
    return cast("Judge | None", paper.judge) if paper else None


def of_folder(folder: Path) -> Judge | None:
    """The judge of the release in ``folder``, or None."""
    judges = [cast(Judge, paper.judge) for paper in papers.registered().values() if paper.judge]
    return next((judge for judge in judges if (folder / judge.TABLES[0]).is_dir()), None)
