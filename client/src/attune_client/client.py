"""The calls of Attune's API that a study needs, as methods."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
import uuid
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2

if TYPE_CHECKING:
    import pandas

ROWS_A_CALL = 1000
RETRIED = {429, 502, 503, 504}
Row = dict[str, Any]


class AttuneError(Exception):
    """A call that the server refused: ``status``, ``code``, and of rows their ``faults``."""

    def __init__(self, status: int, code: str, detail: str, faults: list[Row] | None = None):
        super().__init__(f"{detail} ({status} {code})")
        self.status, self.code, self.detail, self.faults = status, code, detail, faults or []


@dataclass(frozen=True)
class Progress:
    """Judgments made, of those that the open batches want."""

    done: int
    wanted: int


class Attune:
    """A server and a token: by default ATTUNE_URL and ATTUNE_TOKEN of the environment."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = 30,
        retries: int = 3,
    ):
        url, token = url or os.environ.get("ATTUNE_URL"), token or os.environ.get("ATTUNE_TOKEN")
        if not url or not token:
            raise ValueError("Name the server and a token, or set ATTUNE_URL and ATTUNE_TOKEN.")
        self.retries = retries
        self._http = httpx2.Client(
            base_url=url.rstrip("/") + "/api/v1/",
            headers={"Authorization": f"Bearer {token}"},
            timeout=timeout,
        )

    def call(self, method: str, path: str, body: Any = None, *, key: str = "") -> Any:
        """One call; its answer as JSON, None where it has none. ``key`` makes it happen once.

        A call that changes something is sent again only where it has a key.
        """
        headers = {"Idempotency-Key": key} if key else {}
        safe = method == "GET" or bool(key)
        for attempt in range(self.retries + 1):
            try:
                answer = self._http.request(method, path, json=body, headers=headers)
            except httpx2.TransportError:
                if not safe or attempt == self.retries:
                    raise
                time.sleep(2**attempt / 4)
                continue
            if answer.status_code in RETRIED and safe and attempt < self.retries:
                time.sleep(float(answer.headers.get("Retry-After") or 2**attempt / 4))
                continue
            return _read(answer)
        raise AssertionError("the last attempt returns or raises")

    def studies(self) -> list[Row]:
        """Your studies with your role in each."""
        return list(self.pages("studies/"))

    def study(self, slug: str) -> Study:
        """The study of this address; AttuneError where there is none for you."""
        self.call("GET", f"studies/{slug}/")
        return Study(self, slug)

    def create_study(self, slug: str, title: str, **fields: Any) -> Study:
        """Make a study of which you are the administrator."""
        body = {"slug": slug, "title": title, **fields}
        self.call("POST", "studies/", body, key=_key("study", body))
        return Study(self, slug)

    def study_from_frame(
        self,
        frame: pandas.DataFrame,
        *,
        slug: str,
        title: str,
        overlap: int = 3,
        prompt: str = "prompt",
        answers: Iterable[str] = ("answer_a", "answer_b"),
    ) -> Study:
        """A study that compares the columns ``answers`` of each row, open for judging.

        ``prompt`` is the column of the question. Each answer's column is its strategy. The same
        frame again changes nothing.
        """
        columns = list(answers)
        known = {row["slug"] for row in self.studies()}
        study = Study(self, slug) if slug in known else self.create_study(slug, title)
        rows = frame.reset_index(drop=True).to_dict("records")
        study.add("queries", [{"id": f"q{n}", "text": row[prompt]} for n, row in enumerate(rows)])
        study.add(
            "candidates",
            [
                {"id": f"q{n}-{column}", "query": f"q{n}", "text": row[column], "strategy": column}
                for n, row in enumerate(rows)
                for column in columns
            ],
        )
        settings = {"options": len(columns), "tie": True}
        study.define("compare", "selection", overlap=overlap, settings=settings)
        items = [
            {"id": f"q{n}", "task": "compare", "query": f"q{n}", "candidates": ids}
            for n, ids in ((n, [f"q{n}-{column}" for column in columns]) for n in range(len(rows)))
        ]
        study.add("items", items)
        return study

    def pages(self, path: str) -> Iterator[Row]:
        """The rows of a list, page after page."""
        separator = "&" if "?" in path else "?"
        address = path
        while address:
            page = self.call("GET", address)
            yield from page["results"]
            following = page.get("next")
            if page.get("more"):
                following = f"{path}{separator}since={page['since']}"
            address = following


class Study:
    """One study."""

    def __init__(self, attune: Attune, slug: str):
        self.attune, self.slug, self._path = attune, slug, f"studies/{slug}/"

    def add(self, name: str, rows: list[Row]) -> int:
        """Add rows of the bundle's file ``name`` ("personas", "queries", …); how many there are.

        AttuneError names each faulty row, counted within its call of up to 1000.
        """
        stored = 0
        for start in range(0, len(rows), ROWS_A_CALL):
            body = {"rows": rows[start : start + ROWS_A_CALL]}
            path = f"{self._path}{name}/"
            stored += self.attune.call("POST", path, body, key=_key(path, body))["stored"]
        return stored

    def rows(self, name: str, since: str = "") -> Iterator[Row]:
        """The study's rows of ``name``, those after ``since`` where it is given."""
        return self.attune.pages(f"{self._path}{name}/" + (f"?since={since}" if since else ""))

    def define(
        self, name: str, kind: str, *, overlap: int = 9, settings: Row | None = None, **fields: Any
    ) -> Row:
        """Define a task; one that exists with the same words stays as it is."""
        body = {
            "name": name,
            "kind": kind,
            "overlap": overlap,
            "settings": settings or {},
            **fields,
        }
        return self.attune.call("POST", f"{self._path}tasks/", body, key=str(uuid.uuid4()))

    def open(self, task: str, *, overlap: int | None = None, **part: Any) -> Row:
        """Open a batch of what ``task`` can ask and has not yet.

        ``part`` keeps it to ``queries``, ``personas``, ``strategies``, ``languages`` or a
        ``number``; ``mixed=True`` puts its items in a random order, and ``dry_run=True`` answers
        what would be opened.
        """
        body = {"task": task, **part} | ({"overlap": overlap} if overlap else {})
        return self.attune.call("POST", f"{self._path}batches/", body, key=str(uuid.uuid4()))

    def invite(self, role: str, email: str = "") -> str:
        """A link that lets one person join."""
        body = {"role": role, "email": email}
        return self.attune.call("POST", f"{self._path}invitations/", body)["link"]

    def progress(self) -> Progress:
        """How far judging is."""
        batches = list(self.attune.pages(f"{self._path}batches/"))
        return Progress(sum(b["judgments"] for b in batches), sum(b["wanted"] for b in batches))

    def watch(self, *, every: float = 5, seconds: float | None = None) -> Progress:
        """Show a bar on stderr until everything is judged, or ``seconds`` have passed."""
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            now = self.progress()
            filled = round(30 * now.done / now.wanted) if now.wanted else 0
            bar = "█" * filled + "·" * (30 - filled)
            print(f"\r{self.slug} {bar} {now.done}/{now.wanted}", end="", file=sys.stderr)
            if (now.wanted and now.done >= now.wanted) or (end and time.monotonic() >= end):
                print(file=sys.stderr)
                return now
            time.sleep(every)

    def judgments(self, since: int = 0) -> Iterator[Row]:
        """The judgments that count, oldest first; those after the judgment ``since``."""
        return self.attune.pages(f"{self._path}judgments/?page_size=1000&since={since}")

    def judgments_frame(self, since: int = 0) -> pandas.DataFrame:
        """``judgments`` as a DataFrame."""
        import pandas

        return pandas.DataFrame(list(self.judgments(since)))

    def release(self, layout: str, folder: str | Path, *, every: float = 1, **fields: Any) -> Path:
        """Freeze a release, wait for it, check its size and unpack it; its folder.

        AttuneError where it could not be written.
        """
        body = {"layout": layout, **fields}
        status = self.attune.call("POST", f"{self._path}releases/", body)
        while status["status"] not in ("done", "failed"):
            time.sleep(every)
            status = self.attune.call("GET", f"releases/{status['id']}/")
        if status["status"] == "failed":
            raise AttuneError(409, "release_failed", status["error"])
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{self.slug}-v{status['version']}"
        packed = folder / f"{name}.zip"
        with self.attune._http.stream("GET", f"releases/{status['id']}/download/") as answer:
            if answer.status_code != 200:
                answer.read()
                _read(answer)
            with packed.open("wb") as file:
                for piece in answer.iter_bytes():
                    file.write(piece)
        with zipfile.ZipFile(packed) as archive:
            archive.extractall(folder / name)
        packed.unlink()
        return folder / name


def _key(name: str, body: Any) -> str:
    """The same call has the same key: sent again after a lost answer, it is not repeated."""
    words = json.dumps([name, body], sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(words.encode()).hexdigest()


def _read(answer: httpx2.Response) -> Any:
    if answer.is_success:
        return answer.json() if answer.content else None
    try:
        problem = answer.json()
    except ValueError:
        problem = {}
    raise AttuneError(
        answer.status_code,
        problem.get("code", "http"),
        problem.get("detail", f"The server answered {answer.status_code}."),
        problem.get("faults"),
    )
