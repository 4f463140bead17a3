"""Runs of models on benchmarks: asked for, worked at, resumed, and closed with their result."""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, cast

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Count, F, Q, QuerySet, Sum
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.candidates import calls, endpoints
from annotation.core import audit, jobs, sharing
from annotation.core.errors import Conflict, DomainError, NotFound
from annotation.core.records import silent
from annotation.datasets import folders
from annotation.datasets.check import differences
from annotation.datasets.models import Release
from annotation.evaluation import choices, judges, pairs, raters, systems
from annotation.evaluation.asking import Outcome, Question, Stopped, ask_all
from annotation.evaluation.models import Benchmark, Reply, Run
from annotation.studies.models import Study

# Answers that a killed run asks for again: those of so many calls, or seconds.
FLUSH_ROWS, FLUSH_SECONDS = 200, 1.0
TEXT_LIMIT = 4_000
DONE, FAILED, REQUESTED = Run.Status.DONE, Run.Status.FAILED, Run.Status.REQUESTED
GROUPS = {Run.Kind.CHOICE: "chat", Run.Kind.SCORES: "reward", Run.Kind.LEARNED: "trained"}


class Plan(Protocol):
    """What a run asks, phase by phase, and what its replies amount to."""

    @property
    def kind(self) -> str:
        """A value of Run.Kind."""

    @property
    def prompt(self) -> str:
        """The version of the prompts."""

    @property
    def fields(self) -> dict[str, Any]:
        """Further fields of Run."""

    def phases(self, values: Callable[[], dict]) -> Iterator[tuple[str, list[Question]]]:
        """Name and questions of each phase; ``values()`` are the replies so far, by unit."""

    def result(self, run: Run) -> tuple[dict, dict | None]:
        """Figures and outcomes of the run once all is answered."""


@dataclass(frozen=True)
class Wanted:
    """A run of which nothing is stored yet: its ``plan``, the fields of its row, and what it takes
    ("calls", "tokens_in", "tokens_out", "cost").

    ``subject`` is what of a release's ``folder`` it is about; ``taken`` the run that it goes on
    with, if any.
    """

    plan: Plan
    fields: dict[str, Any]
    expected: dict = field(default_factory=dict)
    subject: pairs.Benchmark | judges.Judged | None = None
    taken: Run | None = None

    @property
    def words(self) -> str:
        """What it is expected to take."""
        calls, cost = self.expected["calls"], self.expected["cost"]
        tokens = self.expected["tokens_in"] + self.expected["tokens_out"]
        server = self.fields["endpoint"]
        return f"{calls:,} calls to {server}, about {tokens:,} tokens, about {cost:.4f}"


def measured(
    folder: Path,
    endpoint: str,
    setting: str,
    limit: int | None = None,
    *,
    judge: judges.Judge | None = None,
    system: systems.System | None = None,
    resume: str | None = None,
    **fields: Any,
) -> Wanted:
    """A run on a release's folder: the endpoint's model chooses between the answers of its pairs,
    or as a paper's ``judge`` scores what people scored or a ``system`` wrote.

    ``fields`` are those of Run, such as ``model``. ``resume`` is the id of an unfinished run on the
    same release with the same settings, which is taken again. Raises DomainError.
    """
    check_limit(limit)
    server, folder = endpoints.get(endpoint), Path(folder)
    subject = opened(folder, judge)
    plan = (
        judges.Judgments(judge, subject, setting, limit, system)
        if judge
        else choices.Choices(subject, setting, limit)
    )
    expected = _estimate(plan, server)
    row = {
        "model": server.model[:200], "endpoint": server.name, "setting": setting, "limit": limit,
        "folder": str(folder.resolve()), "calls": expected["calls"],
    }  # fmt: skip
    wanted = Wanted(plan, row | fields, expected, subject)
    if not resume:
        return wanted
    same = {name: row[name] for name in ("endpoint", "setting", "limit")}
    same |= {"kind": plan.kind} | plan.fields
    return replace(wanted, taken=_resumed(resume, register(subject, folder), same))


def of_scores(folder: Path, plan: Plan, subject: pairs.Benchmark, **fields: Any) -> Run:
    """A finished run of answers' scores that are there already."""
    wanted = Wanted(plan, {"folder": str(folder.resolve())} | fields, subject=subject)
    return work(start(wanted), plan)


def of_release(
    release: Release, asked: systems.Measurement, answers: list[list[str]] | None = None
) -> Wanted:
    """A run on a finished release of ours, as ``measured``; ``answers`` are those of a system.

    Raises DomainError.
    """
    shown = settings(release.layout)
    if release.status != Release.Status.DONE or not shown:
        raise DomainError(
            _("Models are measured on finished releases in a layout of pairs or of judged answers.")
        )
    if asked.setting not in shown:
        words = _("A model on this release is shown one of: %(names)s.")
        raise DomainError(words % {"names": ", ".join(shown)})
    judge, system = judges.of_layout(release.layout), systems.of_measurement(asked, answers or [])
    if system and not judge:
        raise DomainError(_("Systems are scored on releases in a layout of judged answers."))
    folder = folders.present(release)
    single = (asked.endpoint, asked.setting, asked.limit)
    return measured(folder, *single, judge=judge, system=system)


def rating(study: Study, asked: raters.Rating, resume: str = "") -> Wanted:
    """A run of a model on the items of a task that have no verdict of that name.

    ``resume`` is the id of a stopped run, which is taken again. Raises DomainError where nothing
    is left to rate, the task cannot be rated, or the endpoint is unknown.
    """
    server, task, limit = endpoints.get(asked.endpoint), asked.task, asked.limit
    model, samples, run = (asked.name or server.model)[:200], asked.samples, None
    if resume:
        run = _resumed(resume, None, {"study": study, "task": task, "limit": limit,
                                      "endpoint": server.name})  # fmt: skip
        model, samples = run.model, run.samples
    plan = raters.Ratings(study, task, model, limit, samples, run)
    if not plan.units:
        raise DomainError(f"“{model}” has judged every item of this task.", code="nothing_new")
    expected = raters.estimate(plan.units, samples)
    cost = float(server.cost(expected["tokens_in"], expected["tokens_out"]))
    expected |= {"items": len(plan.units), "cost": cost}
    fields = {
        "study": study, "task": task, "model": model, "endpoint": server.name, "setting": "",
        "limit": limit, "samples": samples, "calls": expected["calls"],
    }  # fmt: skip
    return Wanted(plan, fields, expected, taken=run)


def check_limit(limit: int | None) -> None:
    """DomainError where ``limit`` is no number of pairs."""
    if limit is not None and not 1 <= limit < 2**31:
        raise DomainError(_("The limit must be a whole number from 1 on."))


def _estimate(plan: "choices.Choices | judges.Judgments", server: endpoints.Endpoint) -> dict:
    """Calls, tokens and cost of a run, before it; what its judge and its writer take together."""
    parts = [(server, choices.estimate(plan.drawn(), plan.TOKENS))]
    if isinstance(plan, judges.Judgments) and plan.writer:
        expected = choices.estimate(plan.writer.drafts()[0], systems.TOKENS)
        parts.append((endpoints.get(plan.fields["writer"]), expected))
    total = {name: sum(part[name] for _server, part in parts) for name in parts[0][1]}
    prices = (asked.cost(part["tokens_in"], part["tokens_out"]) for asked, part in parts)
    return total | {"cost": float(sum(prices))}


def settings(layout: str) -> tuple[str, ...]:
    """What a model may be shown that is measured on a release in ``layout``; () where none is."""
    judge = judges.of_layout(layout)
    return tuple(judge.ARMS) if judge else pairs.settings(layout)


def opened(folder: Path, judge: judges.Judge | None = None) -> Any:
    """The pairs of a release's folder, or what ``judge`` scores.

    Raises DomainError where it holds none, or where a file that models are asked about is not the
    one that its manifest lists.
    """
    asked = judge.TABLES if judge else ("data/", "persona/", pairs.ALONE_TABLE)
    changed: list[dict] = []
    if (folder / "manifest.json").is_file():
        changed = [fault for fault in differences(folder) if fault["path"].startswith(asked)]
    if changed:
        faults = "; ".join(f"{fault['path']} {fault['reason']}" for fault in changed)
        raise DomainError(f"The release is not as its manifest says: {faults}.")
    return judge.read(folder) if judge else pairs.read_pairs(folder)


def register(subject: pairs.Benchmark | judges.Judged, folder: Path) -> Benchmark:
    """The row of a benchmark; made where there is none."""
    release = _by_id(Release.objects.select_related("study"), subject.release)
    name = f"{release.study.slug} v{release.version}" if release else Path(folder).resolve().name
    facts = choices.facts(subject.pairs) if isinstance(subject, pairs.Benchmark) else {}
    defaults = {"name": name[:200], "layout": subject.layout, "release": release, "facts": facts}
    return Benchmark.objects.get_or_create(digest=subject.digest, defaults=defaults)[0]


def _by_id(rows: QuerySet, public_id: str) -> Any:
    """The row of this public id; None where there is none, or it is no id at all."""
    try:
        return rows.filter(public_id=public_id).first()
    except ValidationError:
        return None


@transaction.atomic
def start(wanted: Wanted, *, by: User | None = None, background: bool = False) -> Run:
    """The row of a run: held by this process, or in the ``background`` for a worker.

    Raises Conflict where workers carry out the same run already.
    """
    if wanted.taken:
        return wanted.taken
    plan, fields = wanted.plan, wanted.fields | wanted.plan.fields
    benchmark = register(wanted.subject, Path(fields["folder"])) if wanted.subject else None
    if background:
        _refuse_second(benchmark, plan.kind, fields)
    else:
        fields |= {"status": Run.Status.RUNNING, "attempts": 1}
        fields["lease_expires_at"] = jobs.lease(1)["lease_expires_at"]
    run = Run.objects.create(
        benchmark=benchmark, kind=plan.kind, prompt=plan.prompt, background=background,
        created_by=by, **{"group": GROUPS.get(Run.Kind(plan.kind), "")} | fields,
    )  # fmt: skip
    audit.record(by, "evaluation.request", study_of(run) or run, run=str(run.public_id))
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


def _resumed(public_id: str, benchmark: Benchmark | None, expected: dict[str, Any]) -> Run:
    """An unfinished run, held by this process; its fields must be as ``expected``.

    Answers that came are not asked for again; those that failed are. Raises DomainError.
    """
    run = _by_id(Run.objects.all(), public_id)
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
        jobs.retry_jobs(rows)
    rows.filter(status=Run.Status.RUNNING, lease_expires_at__lt=Now()).update(
        tries_from=F("attempts")
    )
    if not jobs.take(Run.objects.all(), run.pk):
        raise DomainError("Another process works at that run: wait until it ends, or stop it.")
    run.refresh_from_db()
    run.replies.exclude(code="").delete()
    return run


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
                answered = values_of(run)
                left = [question for question in questions if question.unit not in answered]
                if left:
                    _store(run, progress(_asked(run, left), name, len(left)), lease, end)
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
            _finish(run, plan)
    run.refresh_from_db()
    return run


def values_of(run: Run) -> dict:
    """{unit: what was read from the reply} of all replies so far."""
    return dict(run.replies.values_list("unit", "value"))


def _asked(run: Run, left: list[Question]) -> Iterator[Outcome]:
    """Outcomes of questions, within the budget of a study whose items are judged."""
    server = endpoints.get(run.writer if left[0].unit.startswith(systems.UNIT) else run.endpoint)
    return _within_budget(run.study_id, server, left) if run.study_id else ask_all(server, left)


def _within_budget(
    study_id: int, server: endpoints.Endpoint, questions: list[Question]
) -> Iterator[Outcome]:
    """``ask_all``, each call reserved in the budget; Stopped where there is no more room.

    What is under way then is still waited for. A question that fails stays reserved: its call may
    have been charged.
    """
    reserved: dict[str, calls.Reservation] = {}
    refusal = ""

    def affordable() -> Iterator[Question]:
        nonlocal refusal
        for question in questions:
            try:
                messages = question.messages()
                reserved[question.unit] = calls.reserve(study_id, server, messages)
            except endpoints.CallFailed as failure:
                refusal = failure.code
                return
            yield question

    for outcome in ask_all(server, affordable()):
        reservation = reserved.pop(outcome.unit)
        if not outcome.code:
            cost = server.cost(outcome.tokens_in, outcome.tokens_out)
            calls.settle(reservation, outcome.tokens_in + outcome.tokens_out, cost)
        yield outcome
    if refusal:
        raise Stopped(refusal)


def _store(run: Run, outcomes: Iterable[Outcome], lease: jobs.Lease, end: float) -> None:
    rows: list[Reply] = []
    since = time.monotonic()

    def flush() -> None:
        lease.check()
        Reply.objects.bulk_create(rows, ignore_conflicts=True)
        rows.clear()

    try:
        for outcome in outcomes:
            rows.append(Reply(run=run, **asdict(outcome) | {"text": outcome.text[-TEXT_LIMIT:]}))
            if len(rows) >= FLUSH_ROWS or time.monotonic() - since > FLUSH_SECONDS:
                flush()
                since = time.monotonic()
            if time.monotonic() > end:
                raise Paused
    finally:
        flush()


def _stop(run: Run, sentence: str, code: str) -> None:
    jobs.end(run, FAILED, error=sentence, error_code=code[:40])


def _finish(run: Run, plan: Plan) -> None:
    figures, outcomes = plan.result(run)
    head = {"run": str(run.public_id), "setting": run.setting, "model": run.model}
    result = head | figures | spent(run)
    if not jobs.end(run, DONE, result=result, outcomes=outcomes, finished_at=timezone.now(),
                    error="", error_code=""):  # fmt: skip
        raise jobs.TakenOver


def spent(run: Run) -> dict:
    """Failures by cause, calls answered, tokens and cost of a run so far."""
    written = Q(unit__startswith=systems.UNIT)
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
    causes = run.replies.exclude(code="").values_list("code").annotate(n=Count("pk"))
    failures = dict(causes.order_by("code"))
    return {"failures": failures, "calls": calls, "tokens": tokens, "cost": price}


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
        study = cast(Study, run.study)
        return raters.Ratings(study, run.task, run.model, run.limit, run.samples, run)
    benchmark = cast(Benchmark, run.benchmark)
    # Another machine may have begun the run.
    release = benchmark.release if sharing.object_store() else None
    folder = folders.present(release) if release else Path(run.folder)
    if run.kind == Run.Kind.CHOICE:
        return choices.Choices(opened(folder), run.setting, run.limit)
    judge = judges.of_layout(benchmark.layout)
    if judge is None:
        raise DomainError(f"No judge is installed for the layout {benchmark.layout}.")
    system = (systems.System(run.system, run.context, run.answers, run.writer)
              if run.system else None)  # fmt: skip
    return judges.Judgments(judge, opened(folder, judge), run.setting, run.limit, system)


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


def repeat_run(run: Run, *, by: User) -> None:
    """Let workers go on with a run that stopped; failed answers are asked for again."""
    if not jobs.retry_jobs(Run.objects.filter(pk=run.pk, status=FAILED, background=True)):
        raise DomainError(_("Only a run that stopped can go on."))
    run.replies.exclude(code="").delete()
    audit.record(by, "evaluation.again", study_of(run) or run, run=str(run.public_id))
