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
from annotation.core.schema import asked
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
        help=gettext_lazy("Names. They show as many answers as there are systems in a talk."),
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


def save(study: Study, live: Live | None, *, by: User | None = None) -> None:
    """Let the people of ``study`` talk with systems, by now; None ends that.

    Conversations that began go on as they began. Raises DomainError with what cannot be.
    """
    if live:
        for sentence in _faults(study, live):
            raise DomainError(sentence, code="live")
    with transaction.atomic():
        locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        locked.live = study.live = asdict(live) if live else {}
        if live and locked.status == Study.Status.DRAFT:
            locked.status = study.status = Study.Status.OPEN
        locked.save(update_fields=["live", "status"])
        audit.record(by, "live.save", study, on=bool(live))


def task_of(study: Study, name: str) -> TaskDefinition | None:
    """The newest version of a task."""
    return study.tasks.filter(name=name).order_by("-version").first()


def _faults(study: Study, live: Live) -> Iterable[str]:
    number = int(live.models)
    if len(live.systems) < number:
        yield _("%(n)d systems are needed: configure or name more endpoints, or strategies.") % {
            "n": number
        }
    strategies = by_name()
    for name in live.strategies:
        strategy = strategies.get(name)
        special = strategy and (strategy.needs_attributes or strategy.oracle)
        if strategy is None or special or name not in answers():
            yield _("“%(name)s” is no strategy for a conversation.") % {"name": name[:40]}
        elif strategy.needs_persona and not live.personas:
            yield _("“%(name)s” needs personas to talk as.") % {"name": name}
    if live.personas and not study.personas.filter(dropped_at=None).exists():
        yield _("The study has no personas to talk as.")
    history = any(by_name()[name].history for name in live.strategies if name in strategies)
    if not live.tasks or live.each_turn in live.tasks:
        yield _("Name a task that is judged at the end, and another one for each turn.")
    for name in [*live.tasks, *filter(None, [live.each_turn])]:
        yield from _faults_of_task(study, name, number, history)
    choice = task_of(study, live.each_turn) if live.each_turn else None
    if choice:
        question = kind_of(choice.kind).counted_question(config_of_task(choice))
        if getattr(question, "type", "") != "choice" or choice.config["reason"] == "required":
            words = _("“%(task)s” is no choice of an answer without a required reason.")
            yield words % {"task": choice.name}


def _faults_of_task(study: Study, name: str, number: int, history: bool) -> Iterable[str]:
    task = task_of(study, name)
    words = {"task": name[:60], "n": number}
    if task is None:
        yield _("The study has no task “%(task)s”.") % words
        return
    kind, config = kind_of(task.kind), config_of_task(task)
    least, most = kind.options_range(config)
    if not least <= number <= most or set(kind.asks(config)) - {"query", "options"}:
        yield _("“%(task)s” does not show %(n)d answers to a question.") % words
    if history and not config["owner_only"]:
        yield _("“%(task)s” must be for owners only: systems see histories.") % words
