"""Runs of models on benchmarks: asked for, worked at, resumed, and closed with their result."""

import math
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Count, F, Q, Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.candidates import endpoints
from annotation.core import audit, jobs, sharing
from annotation.core.errors import Conflict, DomainError, NotFound
from annotation.core.jobs import Lease
from annotation.core.rows import silent
from annotation.datasets import folders
from annotation.datasets.check import differences
from annotation.datasets.models import Release
from annotation.evaluation import (
    choices,
    judges,
    pairs,
    prompts,
    raters,
    scores_file,
    systems,
    training,
    writing,
)
from annotation.evaluation.asking import Outcome, Question, Stopped, ask_all
from annotation.evaluation.budgeted import within_budget
from annotation.evaluation.models import Benchmark, Reply, Run
from annotation.studies.models import Study

# Answers that a killed run asks for again: those of so many calls, or seconds.
FLUSH_ROWS, FLUSH_SECONDS = 200, 1.0
TEXT_LIMIT = 4_000
DONE, FAILED, REQUESTED = Run.Status.DONE, Run.Status.FAILED, Run.Status.REQUESTED
GROUPS = {Run.Kind.CHOICE: "chat", Run.Kind.SCORES: "reward", Run.Kind.LEARNED: "trained"}


def opened(folder: Path) -> pairs.Benchmark:
    """The pairs of a release's folder.

    Raises DomainError where it holds none, or where a file that models are asked about is not the
    one that its manifest lists.
    """
    _refuse_changed(Path(folder), ("data/", "persona/", pairs.ALONE_TABLE))
    return pairs.read(folder)


def opened_judged(folder: Path, judge: judges.Judge) -> judges.Judged:
    """The judged responses of a release's folder; DomainError as ``opened``."""
    _refuse_changed(Path(folder), judge.TABLES)
    return judge.read(folder)


def _refuse_changed(folder: Path, asked: tuple[str, ...]) -> None:
    """DomainError where a file in one of the folders ``asked`` is not as the manifest says."""
    if not (folder / "manifest.json").is_file():
        return
    changed = [fault for fault in differences(folder) if fault["path"].startswith(asked)]
    if changed:
        faults = "; ".join(f"{fault['path']} {fault['reason']}" for fault in changed)
        raise DomainError(f"The release is not as its manifest says: {faults}.")


def register(benchmark: pairs.Benchmark | judges.Judged, folder: Path) -> Benchmark:
    """The row of a benchmark; made where there is none."""
    release = _release(benchmark.release)
    name = f"{release.study.slug} v{release.version}" if release else Path(folder).resolve().name
    row, _created = Benchmark.objects.get_or_create(
        digest=benchmark.digest,
        defaults={
            "name": name[:200],
            "layout": benchmark.layout,
            "release": release,
            "facts": choices.facts(benchmark.pairs)
            if isinstance(benchmark, pairs.Benchmark)
            else {},
        },
    )
    return row


def _release(identity: str) -> Release | None:
    try:
        wanted = uuid.UUID(identity)
    except ValueError:
        return None
    return Release.objects.select_related("study").filter(public_id=wanted).first()


def cost(endpoint: endpoints.Endpoint, estimate: dict) -> Decimal:
    """What a run of that ``estimate`` costs at the endpoint, in the currency of its prices."""
    return endpoint.cost(estimate["tokens_in"], estimate["tokens_out"])


@transaction.atomic
def request(
    benchmark: Benchmark | None,
    kind: str,
    *,
    by: User | None = None,
    start: bool = False,
    **fields: Any,
) -> Run:
    """A new run; with ``start`` this process holds it at once. A rater's has no benchmark.

    Raises Conflict where workers carry out the same ``background`` run already.
    """
    fields.setdefault("group", GROUPS.get(Run.Kind(kind), ""))
    if fields.get("background"):
        _refuse_second(benchmark, kind, fields)
    if start:
        fields |= {"status": Run.Status.RUNNING, "attempts": 1, **_lease()}
    run = Run.objects.create(benchmark=benchmark, kind=kind, created_by=by, **fields)
    if study := study_of(run):
        audit.record(by, "evaluation.request", study, run=str(run.public_id))
    run.refresh_from_db()
    return run


def _refuse_second(benchmark: Benchmark | None, kind: str, fields: dict[str, Any]) -> None:
    """Conflict where workers carry out the same run: two would be paid for."""
    asked_of = benchmark or fields["study"]
    # Two requests at once would both see none.
    type(asked_of).objects.select_for_update(no_key=True).get(pk=asked_of.pk)
    names = ["model", "endpoint", *(("setting", "limit") if benchmark else ("study", "task"))]
    names += [name for name in ("system", "context") if name in fields]
    same = {name: fields[name] for name in names}
    under_way = Run.objects.filter(benchmark=benchmark, kind=kind, background=True, **same)
    if under_way.filter(status__in=(REQUESTED, Run.Status.RUNNING)).exists():
        raise Conflict(_("This model is being asked already."), code="under_way")


def study_of(run: Run) -> Study | None:
    """The study that a run is about; None where a release came from elsewhere."""
    if run.study:
        return run.study
    release = run.benchmark.release if run.benchmark else None
    return release.study if release else None


def _lease() -> dict:
    lease = jobs.lease(1)
    return {"lease_expires_at": lease["lease_expires_at"]}


def resume(public_id: str, benchmark: Benchmark | None, **expected: Any) -> Run:
    """Take an unfinished run again, on the same release with the same settings.

    Answers that came are not asked for again; those that failed are. Raises DomainError.
    """
    try:
        run = Run.objects.filter(public_id=public_id).first()
    except ValidationError:
        run = None
    if run is None:
        raise NotFound(f"There is no run {public_id[:40]}.")
    if run.benchmark_id != (benchmark and benchmark.pk):
        raise DomainError("That run is about another release, or its files have changed since.")
    for name, value in expected.items():
        if getattr(run, name) == value:
            continue
        if name == "answers":
            raise DomainError("That run is about other answers.")
        raise DomainError(f"That run has {name} {getattr(run, name)}, not {value}.")
    if run.status == DONE:
        return run
    rows = Run.objects.filter(pk=run.pk)
    if run.status == FAILED:
        jobs.again(rows)
    rows.filter(status=Run.Status.RUNNING, lease_expires_at__lt=timezone.now()).update(
        tries_from=F("attempts")
    )
    if not jobs.take(Run.objects.all(), run.pk):
        raise DomainError("Another process works at that run: wait until it ends, or stop it.")
    run.refresh_from_db()
    run.replies.exclude(code="").delete()
    return run


class Plan(Protocol):
    """What a run asks, phase by phase, and what its replies amount to."""

    def phases(self, values: Callable[[], dict]) -> Iterator[tuple[str, list[Question]]]:
        """Name and questions of each phase; ``values()`` are the replies so far, by unit."""

    def result(self, run: Run) -> tuple[dict, dict | None]:
        """Result and outcomes of the run once all is answered."""


class Paused(Exception):  # noqa: N818 - not an error: the rest comes in another turn
    """The time of this turn is over."""


def work(run: Run, plan: Plan, *, progress: Callable = silent, seconds: float = math.inf) -> Run:
    """Ask the run's endpoint what is still unanswered, and close the run with its result.

    The attempt must hold the run. Where the endpoint stops, or a person stops the command, the run
    becomes FAILED with the reason and can be resumed; after ``seconds`` it is given back as
    REQUESTED. Raises jobs.TakenOver where another process has it.
    """
    end = time.monotonic() + seconds
    with jobs.renewed(run) as lease:
        try:
            for name, questions in plan.phases(lambda: values_of(run)):
                _ask(run, questions, lease, progress, name, end)
        except Paused:
            # A turn that came to its end is no failed try.
            jobs.end(run, REQUESTED, tries_from=F("attempts"))
        except KeyboardInterrupt:
            _stop(run, "It was stopped by hand.", "stopped")
            raise
        except Stopped as stopped:
            _stop(run, endpoints.sentence(stopped.code, run.endpoint), stopped.code)
        except DomainError as refusal:
            _stop(run, refusal.sentence, refusal.code)
            raise
        else:
            _finish(run, *plan.result(run))
    run.refresh_from_db()
    return run


class Choices:
    """A run that asks which answer of each pair is better."""

    KIND, PROMPT, TOKENS = Run.Kind.CHOICE, prompts.VERSION, choices.VERDICT_TOKENS
    fields: Mapping[str, Any] = {}

    def __init__(self, benchmark: pairs.Benchmark, setting: str, limit: int | None) -> None:
        self.asked = pairs.sample(benchmark.pairs, limit)
        self.about = choices.About(benchmark, self.asked, setting)

    def phases(self, values: Callable[[], dict]) -> Iterator[tuple[str, list[Question]]]:
        """The filter of memories where there is one, then the pairs."""
        if filters := list(self.about.filters(self.asked)):
            yield "notes", filters
            end = f":{choices.NOTES}"
            notes = {unit: value for unit, value in values().items() if unit.endswith(end)}
            self.about.take_notes({int(unit.split(":")[0]): v for unit, v in notes.items()})
        yield "verdicts", list(choices.questions(self.asked, self.about))

    def drawn(self) -> list[Question]:
        """All that is asked, as far as that is known before it begins."""
        return [*self.about.filters(self.asked), *choices.questions(self.asked, self.about)]

    def result(self, run: Run) -> tuple[dict, dict | None]:
        """Accuracies, and a score for each pair."""
        places = [pair.place for pair in self.asked]
        first, second = choices.verdicts(places, values_of(run))
        score = choices.of_verdicts(first, second)
        return choice_result(run, places, score, choices.agreement_of_orders(first, second))


def values_of(run: Run) -> dict:
    """{unit: what was read from the reply} of all replies so far."""
    return dict(run.replies.values_list("unit", "value"))


def _ask(
    run: Run, questions: list[Question], lease: Lease, progress: Callable, name: str, end: float
) -> None:
    """Ask what has no reply yet, and store what comes."""
    answered = set(run.replies.values_list("unit", flat=True))
    left = [question for question in questions if question.unit not in answered]
    if not left:
        return
    server = endpoints.get(run.writer if left[0].unit.startswith(writing.UNIT) else run.endpoint)
    outcomes = within_budget(run.study_id, server, left) if run.study_id else ask_all(server, left)
    _store(run, progress(outcomes, name, len(left)), lease, end)


def _store(run: Run, outcomes: Iterable[Outcome], lease: Lease, end: float) -> None:
    rows: list[Reply] = []
    since = time.monotonic()

    def flush() -> None:
        lease.check()
        Reply.objects.bulk_create(rows, ignore_conflicts=True)
        rows.clear()

    try:
        for outcome in outcomes:
            rows.append(_reply(run, outcome))
            if len(rows) >= FLUSH_ROWS or time.monotonic() - since > FLUSH_SECONDS:
                flush()
                since = time.monotonic()
            if time.monotonic() > end:
                raise Paused
    finally:
        flush()


def _reply(run: Run, outcome: Outcome) -> Reply:
    return Reply(
        run=run,
        unit=outcome.unit,
        value=outcome.value,
        text=outcome.text[-TEXT_LIMIT:],
        code=outcome.code,
        tokens_in=outcome.tokens_in,
        tokens_out=outcome.tokens_out,
        sure=outcome.sure,
    )


def _stop(run: Run, sentence: str, code: str) -> None:
    jobs.end(run, FAILED, error=sentence, error_code=code[:40])


def choice_result(run: Run, places: list[int], score: np.ndarray, more: dict) -> tuple:
    """Result and outcomes of a run: ``score`` (pairs,) at ``places`` of the benchmark."""
    result = {
        **begin_result(run),
        "n": len(places),
        **more,
        **choices.summary(np.array(places, dtype=int), score, cast(Benchmark, run.benchmark).facts),
        **spent(run),
    }
    return result, {"place": places, "score": score.tolist()}


def begin_result(run: Run) -> dict:
    return {"run": str(run.public_id), "setting": run.setting, "model": run.model}


def _finish(run: Run, result: dict, outcomes: dict | None) -> None:
    if not jobs.end(run, DONE, result=result, outcomes=outcomes, finished_at=timezone.now(),
                    error="", error_code=""):  # fmt: skip
        raise jobs.TakenOver
    run.refresh_from_db()


def failures(run: Run) -> dict[str, int]:
    """How many questions have no answer at all, by the class of the cause."""
    rows = run.replies.exclude(code="").values_list("code")
    return dict(rows.annotate(n=Count("pk")).order_by("code"))


def spent(run: Run) -> dict:
    """Failures by cause, calls answered, tokens and cost of a run so far."""
    written = Q(unit__startswith=writing.UNIT)
    calls = tokens = 0
    price = 0.0
    for name, rows in ((run.writer, run.replies.filter(written)),
                       (run.endpoint, run.replies.exclude(written))):  # fmt: skip
        total = rows.aggregate(
            calls=Count("pk", filter=Q(code="")), read=Sum("tokens_in"), wrote=Sum("tokens_out")
        )
        read, wrote = total["read"] or 0, total["wrote"] or 0
        server = endpoints.configured(name) if name else None
        calls, tokens = calls + total["calls"], tokens + read + wrote
        price += float(server.cost(read, wrote)) if server else 0.0
    return {"failures": failures(run), "calls": calls, "tokens": tokens, "cost": price}


def unfinished(run: Run) -> str:
    """Why the run stopped, how far it came, and how it goes on."""
    return (
        f"{run.error} {run.replies.count():,} of {run.calls:,} answers are stored; go on with "
        f"--resume {run.public_id}"
    )


def score_run(run: Run, benchmark: pairs.Benchmark, scores: dict[str, float]) -> Run:
    """Close a run whose model gave each answer a score, by the answer's id. Raises DomainError."""
    asked = pairs.sample(benchmark.pairs, run.limit)
    try:
        chosen, reject = scores_file.of_pairs(asked, scores)
    except DomainError as refusal:
        _stop(run, refusal.sentence, refusal.code)
        raise
    missing = int((np.isnan(chosen) | np.isnan(reject)).sum())
    more = {"unparsed": missing, "position_consistency": None}
    places = [pair.place for pair in asked]
    _finish(run, *choice_result(run, places, choices.of_scores(chosen, reject), more))
    return run


def estimate(plan: "Choices | Judgments", endpoint: endpoints.Endpoint) -> dict:
    """Calls, tokens and cost of a run, before it; what its judge and its writer take together."""
    parts = [(endpoint, choices.estimate(plan.drawn(), plan.TOKENS))]
    if isinstance(plan, Judgments) and plan.writer:
        expected = choices.estimate(plan.writer.drafts()[0], writing.TOKENS)
        parts.append((endpoints.get(plan.fields["writer"]), expected))
    total = {name: sum(part[name] for _server, part in parts) for name in parts[0][1]}
    return total | {"cost": float(sum(cost(server, part) for server, part in parts))}


def fields_of(
    endpoint: endpoints.Endpoint, setting: str, limit: int | None, folder: Path | str, calls: int
) -> dict:
    """Values of a run that asks ``endpoint`` for choices."""
    return {
        "model": endpoint.model[:200],
        "endpoint": endpoint.name,
        "setting": setting,
        "limit": limit,
        "prompt": prompts.VERSION,
        "folder": str(folder),
        "calls": calls,
    }


def check_limit(limit: int | None) -> None:
    """DomainError where ``limit`` is no number of pairs."""
    if limit is not None and not 1 <= limit < 2**31:
        raise DomainError(_("The limit must be a whole number from 1 on."))


class Judgments:
    """A run in which a model scores, as a paper's judge, what people scored or a system wrote.

    A system's answers are brought, or an endpoint writes them first.
    """

    def __init__(
        self,
        judge: judges.Judge,
        judged: judges.Judged,
        arm: str,
        limit: int | None,
        system: systems.System | None = None,
    ) -> None:
        self.judge, self.PROMPT, self.TOKENS = judge, judge.VERSION, judge.TOKENS
        self.KIND = Run.Kind.SYSTEM if system else Run.Kind.JUDGE
        if arm not in judge.ARMS:
            raise _not_among(_("A judge of this release is shown one of: %(names)s."), judge.ARMS)
        self.system, self.judged, self.arm, self.limit = system, judged, arm, limit
        self.asked: list = judge.tests(judged)[:limit]
        self.writer: judges.Writing | None = None
        if system and system.writer:
            if system.context not in judge.WRITERS:
                words = _("A system on this release is written from one of: %(names)s.")
                raise _not_among(words, judge.WRITERS)
            self.writer = judge.writing(judged, system.context, limit)
        elif system:
            self._take(*systems.matched(system.answers, judge.queries(judged)))

    def _take(
        self, texts: dict[tuple[str, str], str], left_out: Mapping[str, int] | None = None
    ) -> None:
        """What is asked about a system's ``texts``; the first ones where there is a limit."""
        left_out = left_out or {"answers": 0, "queries": len(self._keys()) - len(texts)}
        some = dict(list(texts.items())[: self.limit])
        self.asked, examples = self.judge.of_system(self.judged, some, self.arm)
        if not self.asked and self._keys():
            raise DomainError(_("Every answer is an example that the judge is shown.") if texts
                              else _("The endpoint wrote no answer."))  # fmt: skip
        self.keys = some.keys() - examples
        dropped = left_out["queries"] + len(texts) - len(some)
        self.left_out = {**left_out, "queries": dropped, "examples": len(examples)}

    def _keys(self) -> Collection[tuple[str, str]]:
        return self.judge.queries(self.judged)

    @property
    def fields(self) -> dict[str, Any]:
        """What a run keeps of the system."""
        system = self.system
        return {"system": system.name, "context": system.context, "answers": system.answers,
                "writer": system.writer} if system else {}  # fmt: skip

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
            figures = self.judge.summary(self.asked, replies)
        else:
            figures = self.judge.scored(self.judged, self.asked, replies) | {
                "system": self.system.name,
                "context": self.system.context,
                "writer": self.system.writer,
                "left_out": self.left_out,
                "asked": systems.digest(self.keys),
                "people": self.judge.people(self.judged, self.keys),
            }
        return {**begin_result(run), **figures, **spent(run)}, None


def _not_among(words: str, names: Iterable[str]) -> DomainError:
    return DomainError(words % {"names": ", ".join(names)})


class Ratings:
    """A run in which a model judges the items of a task as people do.

    Items with a verdict under the same name are left out; those of ``run`` itself stay.
    """

    def __init__(
        self,
        study: Study,
        task: str,
        model: str,
        limit: int | None,
        samples: int = 1,
        run: Run | None = None,
    ) -> None:
        self.samples = samples
        self.units = raters.units(study, task, model, run.created_at if run else None)[:limit]

    def phases(self, values: Callable[[], dict]) -> Iterator[tuple[str, list[Question]]]:
        """One: ``samples`` questions an item, for each order of its answers."""
        yield "items", list(raters.questions(self.units, self.samples))

    def result(self, run: Run) -> tuple[dict, dict | None]:
        """Stores the verdicts; how many there are, unread ones, and both orders' agreement."""
        return {**begin_result(run), **raters.store(run, self.units, self.samples),
                **spent(run)}, None  # fmt: skip


class Learned:
    """A trained reward model on the pairs of personas that it was not trained on.

    Raises DomainError where there is none, or the release lacks what the setting needs.
    """

    def __init__(
        self,
        benchmark: pairs.Benchmark,
        rate: Callable,
        card: dict,
        setting: str,
        limit: int | None,
    ) -> None:
        drawn = pairs.sample(benchmark.pairs, limit)
        self.asked = training.unseen(benchmark, drawn, card)
        self.left_out = len(drawn) - len(self.asked)
        self.about = training.about_users(benchmark, self.asked, setting)
        # (pairs, what is known of their users) -> rewards of the chosen and of the other answers
        self.rate = rate


def learned_run(run: Run, plan: Learned) -> Run:
    """Close a run of a trained model."""
    chosen, reject = plan.rate(plan.asked, plan.about)
    more = {"unparsed": 0, "position_consistency": None, "left_out": plan.left_out}
    places = [pair.place for pair in plan.asked]
    _finish(run, *choice_result(run, places, choices.of_scores(chosen, reject), more))
    return run


def request_in_background(
    release: Release,
    endpoint_name: str,
    setting: str,
    limit: int | None,
    system: systems.System | None = None,
    *,
    by: User,
) -> Run:
    """A run on a finished release of ours that workers carry out. Raises DomainError.

    With ``system`` the endpoint's model judges that system's answers.
    """
    plan, server, benchmark = background_plan(release, endpoint_name, setting, limit, system)
    expected = estimate(plan, server)
    folder = folders.present(release)
    fields = fields_of(server, setting, limit, folder, expected["calls"])
    fields |= {"prompt": plan.PROMPT} | plan.fields
    return request(register(benchmark, folder), plan.KIND, by=by, background=True, **fields)


def settings(layout: str) -> tuple[str, ...]:
    """What a model may be shown that is measured on a release in ``layout``; () where none is."""
    judge = judges.of_layout(layout)
    return tuple(judge.ARMS) if judge else pairs.settings(layout)


def background_plan(
    release: Release,
    endpoint_name: str,
    setting: str,
    limit: int | None,
    system: systems.System | None = None,
) -> tuple:
    """Plan, endpoint and benchmark of such a run, of which nothing is stored yet."""
    check_limit(limit)
    shown = settings(release.layout)
    if release.status != Release.Status.DONE or not shown:
        raise DomainError(
            _("Models are measured on finished releases in a layout of pairs or of judged answers.")
        )
    if setting not in shown:
        raise _not_among(_("A model on this release is shown one of: %(names)s."), shown)
    server, folder = endpoints.get(endpoint_name), folders.present(release)
    if judge := judges.of_layout(release.layout):
        judged = opened_judged(folder, judge)
        return Judgments(judge, judged, setting, limit, system), server, judged
    if system:
        raise DomainError(_("Systems are scored on releases in a layout of judged answers."))
    benchmark = opened(folder)
    return Choices(benchmark, setting, limit), server, benchmark


def carry_on(run_id: int, seconds: float) -> Run | None:
    """One turn of a background run; None where somebody else has it."""
    rows = Run.objects.filter(background=True)
    if not jobs.take(rows, run_id):
        return None
    run = Run.objects.select_related("benchmark__release", "study").get(pk=run_id)
    try:
        plan = _plan_of(run)
    except DomainError as refusal:
        _stop(run, refusal.sentence, refusal.code)
        raise
    return work(run, plan, seconds=seconds)


def _plan_of(run: Run) -> Plan:
    """What a background run asks."""
    if run.kind == Run.Kind.RATER:
        return Ratings(cast(Study, run.study), run.task, run.model, run.limit, run.samples, run)
    if run.kind in (Run.Kind.JUDGE, Run.Kind.SYSTEM):
        judge = _judge_of(cast(Benchmark, run.benchmark))
        wrote = (systems.System(run.system, run.context, run.answers, run.writer)
                 if run.system else None)  # fmt: skip
        return Judgments(judge, opened_judged(_folder(run), judge), run.setting, run.limit, wrote)
    return Choices(opened(_folder(run)), run.setting, run.limit)


def _judge_of(benchmark: Benchmark) -> judges.Judge:
    judge = judges.of_layout(benchmark.layout)
    if judge is None:
        raise DomainError(f"No judge is installed for the layout {benchmark.layout}.")
    return judge


def _folder(run: Run) -> Path:
    """The release's folder on this machine: another one may have begun the run."""
    release = cast(Benchmark, run.benchmark).release
    return folders.present(release) if release and sharing.object_store() else Path(run.folder)


def due() -> list[int]:
    """Background runs that wait for a worker; those whose worker was lost too often are closed."""
    rows = Run.objects.filter(background=True)
    for run in jobs.exhausted(rows):
        rows.filter(pk=run.pk).update(
            status=FAILED,
            error=endpoints.sentence("worker_lost", run.endpoint),
            error_code="worker_lost",
            lease_expires_at=None,
        )
    return list(jobs.startable(rows).order_by("created_at").values_list("pk", flat=True))


def again(run: Run, *, by: User) -> None:
    """Let workers go on with a run that stopped; failed answers are asked for again."""
    if not jobs.again(Run.objects.filter(pk=run.pk, status=FAILED, background=True)):
        raise DomainError(_("Only a run that stopped can go on."))
    run.replies.exclude(code="").delete()
    if study := study_of(run):
        audit.record(by, "evaluation.again", study, run=str(run.public_id))
