"""How people of a study talk with hidden systems: the settings (``Study.live``)."""

from collections.abc import Iterable
from dataclasses import asdict

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic.dataclasses import dataclass

from annotation.accounts.models import User
from annotation.candidates import endpoints
from annotation.candidates.strategies import answers, by_name
from annotation.core import audit
from annotation.core.errors import DomainError
from annotation.core.schema import asked, built, fields_of
from annotation.core.words import StrOrPromise
from annotation.judging.kinds import config_of_task, kind_of
from annotation.studies.models import Study, TaskDefinition

RULES = {
    "equal": gettext_lazy("all pairs equally"),
    "close": gettext_lazy("more often systems that are close in strength"),
}
MODELS = {"2": gettext_lazy("two"), "3": gettext_lazy("three")}


@dataclass(frozen=True)
class Live:
    """A live comparison: who talks, how long, what is judged, and who pays attention to limits.

    A system is an endpoint with a strategy of writing answers. Money is limited by the study's
    budget of generation.
    """

    tasks: list[str] = asked(
        gettext_lazy("Tasks judged at the end"), max_length=10,
        help=gettext_lazy("They show as many answers as there are systems in a talk."),
    )  # fmt: skip
    each_turn: str = asked(
        gettext_lazy("Task judged after each turn"), "", max_length=60,
        help=gettext_lazy("Of choices: the conversation goes on with the answer that is chosen. "
                          "Left empty, each system has a conversation of its own."),
    )  # fmt: skip
    models: str = asked(gettext_lazy("Systems at once"), "2", choices=MODELS)
    endpoints: list[str] = asked(
        gettext_lazy("Endpoints"), [], max_length=50, help=gettext_lazy("Left empty: all.")
    )
    strategies: list[str] = asked(
        gettext_lazy("What they see"), ["A3"], max_length=20,
        help=gettext_lazy("Strategies of answers, such as A3, the question alone."),
    )  # fmt: skip
    personas: bool = asked(gettext_lazy("People talk as one of the study's personas"), False)
    rule: str = asked(gettext_lazy("Which systems meet"), "equal", choices=RULES)
    turns: int = asked(gettext_lazy("Turns, at most"), 5, ge=1, le=30)
    words: int = asked(gettext_lazy("Words a message, at most"), 200, ge=5, le=2_000)
    talks: int = asked(gettext_lazy("Conversations a person, at most"), 5, ge=1, le=1_000)
    patience: int = asked(gettext_lazy("Seconds to wait for an answer"), 90, ge=5, le=600)

    @property
    def systems(self) -> list[tuple[str, str, str]]:
        """(endpoint, strategy, what results call it) of every system that may meet."""
        servers = [server.name for server in endpoints.usable()]
        named = self.endpoints or servers
        return [
            (endpoint, strategy, self._name(endpoint, strategy, several=len(named) > 1))
            for endpoint in named
            for strategy in self.strategies
            if endpoint in servers
        ]

    def _name(self, endpoint: str, strategy: str, *, several: bool) -> str:
        if len(self.strategies) == 1:
            return endpoint[:40]
        return f"{strategy}-{endpoint}"[:40] if several else strategy


def of_study(study: Study) -> Live | None:
    """The study's settings, or None where nobody talks."""
    return Live(**study.live) if study.live else None


def save_live(study: Study, live: Live | None, *, by: User | None = None) -> None:
    """Let the people of ``study`` talk with systems, by now; None ends that.

    Conversations that began go on as they began. Raises DomainError with what cannot be.
    """
    if live:
        for sentence in (*_faults_of_systems(study, live), *_faults(study, live)):
            raise DomainError(sentence, code="live")
    with transaction.atomic():
        locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        locked.live = study.live = asdict(live) if live else {}
        if live and locked.status == Study.Status.DRAFT:
            locked.status = study.status = Study.Status.OPEN
        locked.save(update_fields=["live", "status"])
        audit.record(by, "live.save", study, on=bool(live))


def keep(study: Study, values: dict) -> None:
    """Store the settings of a study's definition: ``values`` of Live that fit the study's tasks.

    Which endpoints there are is asked for when people talk. Raises DomainError.
    """
    if unknown := values.keys() - fields_of(Live).keys():
        raise DomainError(f"“live” has no setting “{min(unknown)[:60]}”.", code="live")
    for sentence in _faults(study, built(Live, values)):
        raise DomainError(sentence, code="live")
    study.live = values
    study.save(update_fields=["live"])


def tasks_of(study: Study) -> list[str]:
    """The names of the tasks that may be judged in a conversation, in the order they came."""
    newest = {task.name: task for task in study.tasks.order_by("pk")}
    return [name for name, task in newest.items() if any(_shows(task, int(n)) for n in MODELS)]


def usable_strategies() -> dict[str, StrOrPromise]:
    """{name: words} of the strategies that can answer in a conversation."""
    known = by_name()
    return {name: known[name].words for name in answers()
            if not known[name].needs_attributes and not known[name].oracle}  # fmt: skip


def task_of(study: Study, name: str) -> TaskDefinition | None:
    return study.tasks.filter(name=name).order_by("-version").first()


def _faults_of_systems(study: Study, live: Live) -> Iterable[str]:
    number = int(live.models)
    if len(live.systems) < number:
        yield _("%(n)d systems are needed: configure or name more endpoints, or strategies.") % {
            "n": number
        }
    if live.personas and not study.personas.filter(dropped_at=None).exists():
        yield _("The study has no personas to talk as.")


def _faults(study: Study, live: Live) -> Iterable[str]:
    number, strategies = int(live.models), by_name()
    for name in live.strategies:
        if name not in usable_strategies():
            yield _("“%(name)s” is no strategy for a conversation.") % {"name": name[:40]}
        elif strategies[name].needs_persona and not live.personas:
            yield _("“%(name)s” needs personas to talk as.") % {"name": name}
    history = any(strategies[name].history for name in live.strategies if name in strategies)
    if not live.tasks or live.each_turn in live.tasks:
        yield _("Name a task that is judged at the end, and another one for each turn.")
    for name in [*live.tasks, *filter(None, [live.each_turn])]:
        task, words = task_of(study, name), {"task": name[:60], "n": number}
        if task is None:
            yield _("The study has no task “%(task)s”.") % words
        elif not _shows(task, number):
            yield _("“%(task)s” does not show %(n)d answers to a question.") % words
        elif history and not config_of_task(task)["owner_only"]:
            yield _("“%(task)s” must be for owners only: systems see histories.") % words
        elif name == live.each_turn and not _is_choice(task):
            yield _("“%(task)s” is no choice of an answer without a required reason.") % words


def _shows(task: TaskDefinition, number: int) -> bool:
    kind, config = kind_of(task.kind), config_of_task(task)
    least, most = kind.options_range(config)
    return least <= number <= most and not set(kind.asks(config)) - {"query", "options"}


def _is_choice(task: TaskDefinition) -> bool:
    question = kind_of(task.kind).counted_question(config_of_task(task))
    return getattr(question, "type", "") == "choice" and task.config["reason"] != "required"
