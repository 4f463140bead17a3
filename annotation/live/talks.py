"""Conversations of people with hidden systems: every act of one, and what a page shows of it.

Everything is derived of rows, so that nothing is lost where a page, a worker or a server ends.
What the systems say is kept back until all have answered, and is then shown at one rate.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import combinations
from random import SystemRandom
from uuid import UUID

import numpy as np
import scipy
from django.db import transaction
from django.db.models import Count, F
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.agreement.statistics import bradley_terry
from annotation.agreement.statistics.prediction_powered import probabilities
from annotation.candidates import calls, clean, retrieve
from annotation.candidates.models import Candidate
from annotation.candidates.strategies import Prompt, by_name
from annotation.core.errors import Conflict, DomainError
from annotation.core.records import clean as storable
from annotation.judging.kinds import config_of_task, kind_of
from annotation.judging.models import Item, ItemOption
from annotation.live import opening
from annotation.live.models import Talk
from annotation.live.settings import Live, of_study
from annotation.personas.models import PersonaVersion
from annotation.studies.models import Study

# Characters a second in which every answer appears.
RATE = 150
TURN = Candidate.Purpose.TURN
STOPPED = (Candidate.Status.FAILED, Candidate.Status.CANCELLED)
System = tuple[str, str, str]


@dataclass(frozen=True)
class Reply:
    """What one system said in one turn, as far as it is shown by now; "" where it says nothing."""

    place: int
    text: str
    # Of its turn: the place of the answer that the conversation went on with, or None.
    with_place: int | None = None

    @property
    def chosen(self) -> bool:
        return self.with_place == self.place

    @property
    def open(self) -> bool:
        """Whether it is shown unfolded: what was not chosen is not."""
        return self.with_place in (None, self.place)

    @property
    def number(self) -> int:
        return self.place + 1


@dataclass(frozen=True)
class Shown:
    """A conversation as its person sees it.

    ``state`` is what comes next: "ask" (a message), "wait", "appear" (texts are on their way),
    "trouble" (a system does not answer), "choose" (one of the answers), or "judge".
    """

    talk: Talk
    live: Live
    turns: list[tuple[str, list[Reply]]] = field(default_factory=list)
    state: str = "ask"

    @property
    def left(self) -> int:
        """How many messages the person may still write."""
        return self.live.turns - len(self.talk.turns)

    @property
    def comparable(self) -> bool:
        """Whether there are still two systems to compare."""
        return len(self.talk.places) > 1


def current(study: Study, person: User) -> Talk | None:
    return Talk.objects.filter(study=study, person=person, ended_at=None).first()


def ended(study: Study, person: User) -> int:
    return Talk.objects.filter(study=study, person=person).exclude(ended_at=None).count()


@transaction.atomic
def begin(study: Study, person: User) -> Talk:
    """The person's conversation, begun where there is none.

    Raises Conflict where the study has no live comparison now or the person has had all of theirs,
    DomainError where too few systems can be met.
    """
    live = of_study(study)
    if live is None or study.status != Study.Status.OPEN:
        raise Conflict(_("Nobody talks with models in this study now."), code="live")
    # Two tabs that begin at once take turns.
    User.objects.select_for_update(no_key=True).get(pk=person.pk)
    if talk := current(study, person):
        return talk
    if ended(study, person) >= live.talks:
        raise Conflict(_("You have had all your conversations of this study."), code="talks")
    systems = [system for system in live.systems if _may_meet(study, person, system)]
    if len(systems) < int(live.models):
        raise DomainError(_("Too few models may see your history: allow more."), code="systems")
    drawn, chance = draw_systems(study, systems, int(live.models), live.rule)
    return Talk.objects.create(
        study=study, person=person, settings=asdict(live), systems=drawn, chance=chance,
        persona_version=_persona(study) if live.personas else None,
    )  # fmt: skip


def _may_meet(study: Study, person: User, system: System) -> bool:
    endpoint, strategy, _name = system
    return not by_name()[strategy].history or retrieve.agreed(study, person, endpoint)


def _persona(study: Study) -> PersonaVersion | None:
    """The persona that the fewest conversations were about, in its newest version."""
    there = study.personas.filter(dropped_at=None).exclude(split="training")
    rarest = there.annotate(n=Count("versions__talks")).order_by("n", "pk").first()
    return rarest.current if rarest else None


def show(talk: Talk) -> Shown:
    """What the person sees of the conversation now, and what they can do."""
    live = Live(**talk.settings)
    replies, now = _replies(talk), time.time()
    characters = _characters_out(talk, replies, now)
    turns = []
    for turn, asked in enumerate(talk.turns):
        last = turn == len(talk.turns) - 1
        rows = [(place, replies.get((turn, place))) for place in range(len(talk.systems))]
        shown = [
            Reply(place, row.text[:characters] if last else row.text, asked["chosen"])
            for place, row in rows
            if row and (not last or place in talk.places)
        ]
        turns.append((asked["text"], shown))
    return Shown(talk, live, turns, _state(talk, live, replies, characters, now))


def _state(talk: Talk, live: Live, replies: dict, characters: int, now: float) -> str:
    if not talk.turns:
        return "ask"
    asked, rows = talk.turns[-1], _last(talk, replies)
    missing = [row for row in rows if row is None or row.status != Candidate.Status.DONE]
    if missing:
        late = now > asked["asked"] + live.patience
        stopped = all(row is not None and row.status in STOPPED for row in missing)
        return "trouble" if late or stopped else "wait"
    if characters < max((len(row.text) for row in rows if row), default=0):
        return "appear"
    if live.each_turn and asked["chosen"] is None and len(rows) > 1:
        return "choose"
    return "ask" if len(talk.turns) < live.turns and rows else "judge"


def _replies(talk: Talk) -> dict[tuple[int, int], Candidate]:
    """{(turn, place): what the system says}."""
    rows = Candidate.every.filter(query=talk.query_id, purpose=TURN) if talk.query_id else ()
    return {(row.parameters["turn"], row.parameters["place"]): row
            for row in rows if "turn" in row.parameters}  # fmt: skip


def _last(talk: Talk, replies: dict) -> list[Candidate | None]:
    """What the systems that take part say in the last turn, as far as they were asked."""
    return [replies.get((len(talk.turns) - 1, place)) for place in talk.places]


def _characters_out(talk: Talk, replies: dict, now: float) -> int:
    """How much of each answer of the last turn is shown: nothing before the last is there."""
    rows = _last(talk, replies)
    times = [row.answered_at.timestamp() for row in rows if row and row.answered_at]
    return int(max(0.0, now - max(times)) * RATE) if times and len(times) == len(rows) else 0


def _held(pk: UUID, person: User) -> Talk:
    """The person's conversation, locked until the transaction ends; Conflict where it is over."""
    talks = Talk.objects.select_for_update(of=("self",)).select_related("study", "query")
    talk = talks.filter(pk=pk, person=person, ended_at=None).first()
    if talk is None:
        raise Conflict(_("This conversation is over."), code="over")
    return talk


@transaction.atomic
def keep_draft(pk: UUID, person: User, text: str, turn: int) -> None:
    """Keep what the person has typed of message ``turn``, unless it was sent meanwhile."""
    talk = _held(pk, person)
    if turn != len(talk.turns):
        return
    talk.draft = storable(text)[:20_000]
    talk.save(update_fields=["draft"])


@transaction.atomic
def say(pk: UUID, person: User, text: str, turn: int) -> None:
    """Send a message to all systems; ``turn`` counts those before it: a repeat sends nothing.

    Raises DomainError where the message is empty or too long, Conflict where it is not the
    person's turn.
    """
    talk = _held(pk, person)
    if turn < len(talk.turns):
        return
    shown, text = show(talk), storable(text).strip()
    if shown.state != "ask" or talk.study.status != Study.Status.OPEN:
        raise Conflict(_("It is not your turn now."), code="turn")
    if not text:
        raise DomainError(_("Write a message first."), code="text")
    if clean.count_words(text) > shown.live.words:
        raise DomainError(_("A message has at most %(n)d words.") % {"n": shown.live.words})
    replies = _replies(talk)
    talk.turns.append({"text": text, "asked": time.time(), "chosen": None})
    talk.draft = ""
    if talk.query is None:
        talk.query = opening.query_of(talk, 0, [{"role": "user", "content": text}])
    rows = [_request(talk, place, replies) for place in talk.places]
    Candidate.every.bulk_create(rows)
    talk.save(update_fields=["turns", "draft", "query"])
    transaction.on_commit(calls.notify_of_calls)


def _request(talk: Talk, place: int, replies: dict) -> Candidate:
    """The row of a system's next answer: its first prompt, and the conversation since."""
    endpoint, strategy, _name = talk.systems[place]
    turn, first = len(talk.turns) - 1, replies.get((0, place))
    row = Candidate(
        study_id=talk.study_id, query=talk.query, purpose=TURN, endpoint=endpoint,
        strategy=strategy, status=Candidate.Status.REQUESTED,
        external_id=f"talk-{talk.pk.hex}-{turn}-{place}",
        persona_version=talk.persona_version if by_name()[strategy].needs_persona else None,
        source=replies.get((turn - 1, place)),
        parameters={"turn": turn, "place": place, "seed": talk.pk.int % 2**31},
    )  # fmt: skip
    if first:
        thread = _thread(talk, place, replies)
        row.template = first.template
        # A prompt that was erased since held a history; the conversation goes on without it.
        row.prompt = [*(first.prompt or thread[:1]), *thread[1:]]
        row.prompt_digest = Prompt(row.template, row.prompt).digest
        if sessions := first.parameters.get("sessions"):
            row.parameters["sessions"] = sessions
    return row


def _thread(talk: Talk, place: int, replies: dict) -> list[dict]:
    """The conversation with one system, the person's first message first.

    Where the person chooses after each turn, all systems go on with what was chosen.
    """
    messages: list[dict] = []
    for turn, asked in enumerate(talk.turns):
        messages.append({"role": "user", "content": asked["text"]})
        before = asked["chosen"] is not None and turn < len(talk.turns) - 1
        reply = replies.get((turn, asked["chosen"] if before else place))
        if reply and reply.text:
            messages.append({"role": "assistant", "content": reply.text})
    return messages


def _missing(talk: Talk) -> list[Candidate]:
    rows = _last(talk, _replies(talk))
    return [row for row in rows if row and row.status != Candidate.Status.DONE]


@transaction.atomic
def go_without(pk: UUID, person: User) -> None:
    """Go on without the systems that did not answer: they are out of this conversation."""
    talk = _held(pk, person)
    if show(talk).state != "trouble":
        return
    rows = _missing(talk)
    # An answer that comes late is not stored: its row is given up.
    late = Candidate.every.filter(pk__in=[row.pk for row in rows])
    late = late.exclude(status=Candidate.Status.DONE)
    late.update(status=Candidate.Status.CANCELLED, lease_expires_at=None)
    talk.silent = sorted({*talk.silent, *(row.parameters["place"] for row in rows)})
    talk.save(update_fields=["silent"])


@transaction.atomic
def ask_again(pk: UUID, person: User) -> None:
    talk = _held(pk, person)
    if show(talk).state != "trouble":
        return
    stopped = [row.pk for row in _missing(talk) if row.status in STOPPED]
    calls.retry_calls(Candidate.every.filter(pk__in=stopped))
    talk.turns[-1]["asked"] = time.time()
    talk.save(update_fields=["turns"])


@transaction.atomic
def choose(pk: UUID, person: User, place: int, turn: int) -> None:
    """Go on with the answer of one system, which is a vote of the task that is judged each turn."""
    talk = _held(pk, person)
    if turn != len(talk.turns) - 1 or talk.turns[turn]["chosen"] is not None:
        return
    shown = show(talk)
    if shown.state != "choose" or place not in talk.places:
        raise Conflict(_("There is nothing to choose now."), code="turn")
    options = _options(talk)
    opening.vote(talk, shown.live.each_turn, options, options[talk.places.index(place)])
    talk.turns[turn]["chosen"] = place
    talk.save(update_fields=["turns"])


@transaction.atomic
def end(pk: UUID, person: User) -> int:
    """End the conversation and open what is judged of it; how many items those are.

    None where fewer than two systems took part to the end, or nothing was asked.
    """
    talk = _held(pk, person)
    shown = show(talk)
    if talk.turns and shown.state not in ("ask", "judge"):
        raise Conflict(_("Answers are on their way, or wait for your choice."), code="turn")
    opened = 0
    if talk.turns and shown.comparable:
        opened = opening.open_items(talk, shown.live.tasks, _options(talk))
    Talk.objects.filter(pk=talk.pk).update(ended_at=Now(), draft="")
    return opened


def _options(talk: Talk) -> list[Candidate]:
    """What the systems that take part said, a stored answer each, in the order shown.

    The answer is the whole conversation after the opening message, or where the person chooses
    after each turn, what was said last.
    """
    replies, last = _replies(talk), len(talk.turns) - 1
    threads = {place: _thread(talk, place, replies) for place in talk.places}
    # Up to here it is one conversation with all systems.
    shared = 2 * last + 1 if talk.settings["each_turn"] else 1
    query = opening.query_of(talk, shared // 2, threads[talk.places[0]][:shared])
    return [
        opening.answer_of(talk, query, place, replies[last, place], thread[shared:])
        for place, thread in threads.items()
    ]


def given(study: Study, person: User) -> Iterator[dict]:
    """What the person wrote in each conversation, and what they were answered, by places."""
    for talk in Talk.objects.filter(study=study, person=person).order_by("created_at"):
        turns = [
            {"text": text, "answers": {reply.number: reply.text for reply in replies}}
            for text, replies in show(talk).turns
        ]
        times = {"begun": talk.created_at, "ended": talk.ended_at}
        yield {**times, "draft": talk.draft, "turns": turns}


# --- Which systems meet ---------------------------------------------------------------------------


def draw_systems(
    study: Study, systems: list[System], number: int, rule: str
) -> tuple[list[System], float]:
    """``number`` of ``systems`` in a random order, and the probability with which they were drawn.

    "equal" draws all sets alike; "close" in proportion to √(p(1 − p)), p the probability by
    Bradley and Terry that one of a pair wins, mixed with equal parts (``probabilities``).
    """
    sets = list(combinations(range(len(systems)), number))
    spread = np.ones(len(sets))
    if rule == "close":
        closeness = _closeness(_strengths(study, systems))
        spread = np.array([np.mean([closeness[pair] for pair in combinations(each, 2)])
                           for each in sets])  # fmt: skip
    chances = probabilities(spread, 1.0) if len(sets) > 1 else np.ones(1)
    random = SystemRandom()
    drawn = random.choices(range(len(sets)), weights=chances.tolist())[0]
    order = list(sets[drawn])
    random.shuffle(order)
    return [systems[place] for place in order], float(chances[drawn])


def _closeness(strength: np.ndarray) -> np.ndarray:
    p = scipy.special.expit(strength[:, None] - strength[None, :])
    return np.sqrt(p * (1 - p))


def _strengths(study: Study, systems: list[System]) -> np.ndarray:
    """Bradley-Terry strengths by the choices so far; all 0 before there are any."""
    code = {name: place for place, (_endpoint, _strategy, name) in enumerate(systems)}
    votes = _sides(study)
    shown: dict = {}
    options = ItemOption.objects.filter(item__in=votes).annotate(name=F("candidate__strategy"))
    for item, number, name in options.values_list("item", "number", "name"):
        if name in code:
            shown.setdefault(item, []).append((code[name], str(number)))
    rows = []
    for item, sides in shown.items():
        for (first, a), (second, b) in combinations(sides, 2):
            won, lost, tied = (votes[item][side] for side in (a, b, "tie"))
            if total := won + lost + tied:
                rows.append((first, second, (won + tied / 2) / total))
    if not rows:
        return np.zeros(len(systems))
    first, second, score = np.array(rows, dtype=float).T
    fit = bradley_terry.bradley_terry(first.astype(int), second.astype(int), score, len(systems))
    return np.zeros(len(systems)) if fit.strength is None else fit.strength


def _sides(study: Study) -> dict[UUID, Counter[str]]:
    """{item: its votes by the option that they prefer}, where a label prefers one."""
    votes: dict[UUID, Counter[str]] = defaultdict(Counter)
    for task in study.tasks.all():
        question = kind_of(task.kind).counted_question(config_of_task(task))
        # Labels of others, such as points of a rating, are no numbers of options.
        if question is None or question.type not in ("choice", "scale"):
            continue
        items = Item.objects.filter(batch__task=task, done__gt=0)
        for item, counts in items.values_list("pk", "counts"):
            for label, n in counts.items():
                votes[item][question.side(label)] += n
    return votes
