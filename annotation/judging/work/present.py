"""What an annotator may see of a slot: the one place where a page or the API gets it from."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import cached_property
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from django.http import QueryDict
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.core import sql
from annotation.core.errors import NotFound
from annotation.judging import ordering
from annotation.judging.kinds import Kind, config_of, config_of_task, kind_of
from annotation.judging.kinds.kind import Label
from annotation.judging.kinds.settings import TAGS
from annotation.judging.models import Draft, Item, Judgment
from annotation.judging.work import queue
from annotation.personas import schema
from annotation.queries import owner_queries, scenarios
from annotation.queries.models import Query
from annotation.questions.base import Question
from annotation.studies.models import Study
from annotation.studies.wording import localized

# Traits up to this length are taken first where there is one line for them.
GIST = 60
# Whose slot it is, is looked at afterwards: as a condition it leads PostgreSQL, as long as its
# statistics are those of a study in which nobody has judged, through all that the person judged.
_SHOW = """
    SELECT s.annotator_id, s.id, s.ordinal, s.item_id, s.status, s.lease_expires_at, t.id, t.name,
           t.kind, t.config, t.translations, b.purpose,
           q.id,
           CASE WHEN EXISTS (SELECT 1 FROM histories_session kept WHERE kept.owner_id = q.owner_id)
           THEN q.owner_id END, q.text, q.need, q.guide, q.messages, v.profile::text,
           study.card_first, q.asked_on,
           (SELECT json_agg(held.text ORDER BY held.id) FROM personas_attribute held
            WHERE held.persona_id = v.persona_id AND q.asked_on IS NOT NULL
              AND (held.since <= q.asked_on OR held.since IS NULL AND held.until IS NOT NULL)
              AND (held.until > q.asked_on OR held.until IS NULL)), q.language,
           a.numbers, a.ids, a.texts,
           attribute.text,
           (SELECT json_agg(e.messages ORDER BY e.number) FROM personas_evidence e
            WHERE e.attribute_id = i.attribute_id),
           gold.text,
           (SELECT json_agg(json_build_object('id', c.id, 'text', c.text) ORDER BY c.number)
            FROM queries_goldclaim c WHERE c.response_id = i.gold_id),
           draft.data, d.done, d.toured,
           CASE WHEN t.config -> 'owner_only' IS DISTINCT FROM 'true'
           THEN (SELECT sum(other.size) FROM judging_batch other
                 WHERE other.study_id = s.study_id AND other.purpose = 'work')
           ELSE (SELECT count(*) FROM judging_slot mine
                 JOIN judging_item original ON original.id = mine.item_id
                      AND original.made_for_id IS NULL
                 WHERE mine.study_id = s.study_id AND mine.reserved_for_id = %(me)s
                   AND mine.status <> 'void') END
           -- With the checks to come: nobody must see one by the number it adds.
           * (1 + coalesce(1.0 / nullif(c.gold_every, 0), 0)
                + coalesce(1.0 / nullif(c.repeat_every, 0), 0))
           + CASE WHEN c.id IS NULL THEN 0
             ELSE (SELECT count(*) FROM judging_item training
                   JOIN judging_batch other ON other.id = training.batch_id
                   WHERE other.study_id = s.study_id AND other.purpose = 'training'
                     AND training.retired_at IS NULL) END
    FROM judging_slot s
    JOIN studies_study study ON study.id = s.study_id
    JOIN judging_item i ON i.id = s.item_id
    JOIN judging_batch b ON b.id = i.batch_id
    JOIN studies_taskdefinition t ON t.id = b.task_id
    LEFT JOIN queries_query q ON q.id = i.query_id
    LEFT JOIN personas_personaversion v ON v.id = i.persona_version_id
    LEFT JOIN personas_attribute attribute ON attribute.id = i.attribute_id
    LEFT JOIN queries_goldresponse gold ON gold.id = i.gold_id
    LEFT JOIN judging_checks c ON c.study_id = s.study_id
    LEFT JOIN judging_participation d ON d.study_id = s.study_id AND d.annotator_id = s.annotator_id
    LEFT JOIN judging_draft draft ON draft.slot_id = s.id AND draft.annotator_id = s.annotator_id
    CROSS JOIN LATERAL (
        SELECT array_agg(o.number) numbers, array_agg(c.id::text) ids, array_agg(c.text) texts
        FROM judging_itemoption o JOIN candidates_candidate c ON c.id = o.candidate_id
        WHERE o.item_id = s.item_id) a
    WHERE s.id = %(slot)s AND s.status IN ('held', 'done')"""


@dataclass(frozen=True)
class Person:
    """The card of whom an item is about: a profile, as its version was stored (JSON).

    ``first`` is the group of the profile (schema.CARD_GROUPS) that the study shows first,
    ``hidden`` the fields that the task does not show.
    """

    stored: str
    first: str
    hidden: tuple[str, ...] = ()
    # The day of the question, and what is said of the person for a time and holds on it.
    day: date | None = None
    held: Sequence[str] = ()

    @cached_property
    def profile(self) -> dict:
        return schema.without(json.loads(self.stored), self.hidden)

    @property
    def name(self) -> str:
        return self.profile.get("Name", "")

    @property
    def card(self) -> list:
        """The profile as it is read, without the name, which is the card's heading."""
        card = schema.card(self.profile, self.first)
        if not self.day or not self.held:
            return card
        title = f"{_('As of')} {date_format(self.day, 'SHORT_DATE_FORMAT')}"
        return [*card, (title, [(_("Attributes"), list(self.held))])]

    @property
    def gist(self) -> str:
        """Two traits of the person, for a line that has no room for the card."""
        values = (value for _title, rows in self.card for _label, value in rows)
        words = [value for value in values if isinstance(value, str)]
        return " · ".join(sorted(words, key=lambda value: len(value) > GIST)[:2])


@dataclass(frozen=True)
class Shown:
    """A slot as shown: the answers in their order, without any trace of where they come from."""

    slot: UUID
    judged: bool
    lease_expires_at: datetime | None
    task_id: int
    task: str
    kind_name: str
    config: dict
    translations: dict
    # Training items explain themselves once they are answered; other checks never show.
    training: bool
    query_id: int | None
    # Whose own question it is, where they have a history: it may stand beside it.
    owner_id: int | None
    query: str
    need: str
    # Where the query is a conversation: {"role", "content"} of each message.
    turns: list[dict]
    # Of the query, as it is stored (BCP 47); "" where it is not.
    language: str
    # The need part by part where its owner was guided (queries.owner_queries.PARTS), else empty.
    guide: dict
    person: Person | None
    # (id, text) of each answer, from the left or top, and their canonical numbers.
    answers: list[tuple[str, str]]
    order: tuple[int, ...]
    attribute: str
    # Conversations, each a list of {"role", "text"}.
    evidence: list[list[dict]]
    gold: str
    claims: list[dict]
    # What was typed before, field by field.
    draft: dict
    # How much this person has done, of how much there is for them.
    done: int
    in_all: int
    # Whether this person has seen the task's tour.
    toured: bool
    # (slot, attribute) of each item judged on this screen; [] where it is one item.
    rows: list[tuple[UUID, str]] = field(default_factory=list)

    @property
    def kind(self) -> Kind:
        return kind_of(self.kind_name)

    @property
    def questions(self) -> list[Question]:
        return self.kind.questions(self.config)

    @property
    def question(self) -> str:
        """What is asked: in the task's own words where it has some, else in the kind's."""
        asked = SimpleNamespace(translations=self.translations, config=self.config)
        return localized(asked, "question") or str(self.kind.question)

    @property
    def needs(self) -> list[tuple[str, str]]:
        """(name, text) of each part of the need; the name of what is wanted is empty."""
        parts = [
            (str(owner_queries.NAMES.get(name, "")), self.guide.get(name, ""))
            for name in owner_queries.PARTS
        ]
        return [part for part in parts if part[1]] or [("", self.need)] * bool(self.need)

    @property
    def profile(self) -> dict | None:
        return self.person.profile if self.person else None

    @property
    def places(self) -> tuple[int, ...]:
        return tuple(range(1, len(self.answers) + 1))


def show(slot_id: UUID, annotator: User) -> Shown:
    """Return what this person sees of a slot that they hold or have judged; NotFound otherwise."""
    row = sql.first(_SHOW, {"slot": slot_id, "me": annotator.pk})
    if row is None or row[0] != annotator.pk:
        raise NotFound(_("You do not hold this item."))
    return _shown(row)


def _shown(row: Sequence[Any]) -> Shown:
    _holder, slot, ordinal, item, status, lease, task_id, task, kind, config, *rest = row
    translations, purpose, query_id, owner, query, need, guide, turns, *rest = rest
    profile, card_first, day, held, language, numbers, ids, texts, *rest = rest
    attribute, evidence, gold, claims, draft, done, toured, in_all = rest
    options = dict(zip(numbers or (), zip(ids or (), texts or (), strict=True), strict=True))
    order = ordering.shown_order(item, ordinal, len(options))
    settings = config_of(kind, json.loads(config))
    hidden = tuple(settings.pop("hidden"))  # its very names would tell what there is
    return Shown(
        slot=slot,
        judged=status == "done",
        lease_expires_at=lease,
        task_id=task_id,
        task=task,
        kind_name=kind,
        config=settings,
        translations=json.loads(translations),
        training=purpose == "training",
        query_id=query_id,
        owner_id=owner,
        query=query or "",
        need=need or "",
        turns=json.loads(turns) if turns else [],
        language=language or "",
        guide=json.loads(guide) if guide else {},
        person=Person(profile, card_first, hidden, day, held or ()) if profile else None,
        answers=[options[number] for number in order],
        order=order,
        attribute=attribute or "",
        evidence=evidence or [],
        gold=gold or "",
        claims=[
            claim | {"missing": scenarios.missing_words(claim["text"], gold or "")}
            for claim in claims or ()
        ],
        draft=json.loads(draft) if draft else {},
        done=done or 0,
        in_all=max(round(in_all or 0), (done or 0) + (status == "held")),
        toured=task in json.loads(toured or "[]"),
    )


def with_companions(shown: Shown, study: Study, annotator: User) -> Shown:
    """``shown`` with all items that are judged on its screen, in an order of this slot's own."""
    if shown.judged or not shown.config.get("together"):
        return shown
    queue.gather(study, shown.slot, annotator)
    return with_held(shown, annotator)


def with_held(shown: Shown, annotator: User) -> Shown:
    """``shown`` with the items that ``annotator`` holds together with it."""
    held = queue.companions(shown.slot, annotator).select_related("item__attribute")
    texts = {slot.pk: slot.item.attribute.text if slot.item.attribute else "" for slot in held}
    texts[shown.slot] = shown.attribute
    order = ordering.mixed(sorted(texts), str(shown.slot))
    return replace(shown, rows=[(slot, texts[slot]) for slot in order])


def form(shown: Shown, typed: QueryDict) -> dict:
    """What the kind's template needs: its own context, and the tags and chips as ticked."""
    flags, chips, flagged = (typed.getlist(name) for name in ("flags", "chips", "flagged"))
    tags = TAGS.items() if shown.config["tags"] else ()
    places = shown.places if len(shown.places) > 1 else ()
    return {
        "flag_places": tuple((place, str(place) in flagged) for place in places),
        "tags": tuple((name, label, name in flags) for name, label in tags),
        "chips": [(chip, chip in chips) for chip in shown.config["chips"]],
        "strengths": json.dumps([("+", _("Strength")), ("-", _("Weakness"))], ensure_ascii=False),
        **shown.kind.page(shown, typed),
    }


def open_sets(study: Study, annotator: User) -> list[dict]:
    """``queue.open_sets``, each with ``person`` (Person or None) and its type in ``words``."""
    rows = queue.open_sets(study, annotator)
    hidden = {field for task in study.tasks.all() for field in config_of_task(task)["hidden"]}
    for row in rows:
        profile = row.pop("profile")
        row["words"] = Query.Type(row["type"]).label if row["type"] else ""
        row["person"] = profile and Person(profile, study.card_first, tuple(hidden))
    return rows


def proposals(shown: Shown, annotator: User) -> dict[UUID, dict]:
    """What the form begins with, of each slot on the screen: {"from", "of", "label"}
    (Judgment.proposal).

    It is chosen when the slot is first shown, and stays until the answer, beside the draft.
    """
    if shown.config["proposal"] == "off" or shown.judged:
        return {}
    slots = [slot for slot, _words in shown.rows] or [shown.slot]
    begun = ((slot, _proposal(slot, shown, annotator)) for slot in slots)
    return {slot: proposal for slot, proposal in begun if proposal}


def _proposal(slot: UUID, shown: Shown, annotator: User) -> dict | None:
    draft, _made = Draft.objects.get_or_create(slot_id=slot, annotator=annotator)
    if draft.proposal is None and not shown.draft:
        source = shown.config["proposal"]
        item = Item.objects.select_related("repeats").get(slots=slot)
        # A check shows what the item that it was made of would: nobody must know it by this.
        item = item.repeats or item
        proposed = (
            _of_model(item, shown) if source == "model" else _of_another(item, annotator, shown)
        )
        draft.proposal = proposed and {"from": source, "of": proposed[0], "label": proposed[1]}
        draft.save(update_fields=["proposal"])
    return draft.proposal


def _of_model(item: Item, shown: Shown) -> tuple[str, Label] | None:
    """The model that last gave verdicts on an item, and the label that they make."""
    newest = item.verdicts.order_by("-pk").first()
    if newest is None:
        return None
    questions = {each.name: each.question for each in shown.kind.measures(shown.config)}
    parts = {}
    for verdict in item.verdicts.filter(model=newest.model, question__in=questions):
        name = questions[verdict.question]
        parts[f"{verdict.option}/{name}" if verdict.option else name] = verdict.label
    return newest.model, parts.get(shown.kind.primary, parts)


def _of_another(item: Item, annotator: User, shown: Shown) -> tuple[int, Label] | None:
    """The newest judgment of somebody else, and its label: their words stay theirs."""
    others = Judgment.objects.standing().filter(slot__item=item).exclude(annotator=annotator)
    newest = others.order_by("-pk").first()
    return newest and (newest.pk, shown.kind.answer_of(newest).label)


def proposed(shown: Shown, begun: dict[UUID, dict]) -> dict[str, list[str]]:
    """The form's fields that give what it begins with (``proposals``)."""
    given = {}
    for slot, proposal in begun.items():
        answer = shown.kind.of_label(proposal["label"], shown.config)
        # On a screen with several items a field is named after its slot.
        of_slot = f"-{slot}" if shown.rows else ""
        typed = shown.kind.typed(answer, shown)
        given |= {f"{name}{of_slot}": values for name, values in typed.items()}
    return given


def fields(data: dict) -> QueryDict:
    """Typed fields, each a list of text, in the shape of a form's."""
    typed = QueryDict(mutable=True)
    for name, values in data.items():
        typed.setlist(name, values)
    return typed


def answered(shown: Shown, judgment: Judgment) -> QueryDict:
    """The form's fields that would give a stored judgment again."""
    answer = shown.kind.answer_of(judgment)
    fields_of_all = {
        "reason": [judgment.reason],
        "flags": judgment.flags,
        "flagged": [
            str(place)
            for place, number in enumerate(shown.order, start=1)
            if number in judgment.circumstances.get("flagged", ())
        ],
        "chips": judgment.chips,
        "marks": [json.dumps(_marks(judgment.marks, shown), ensure_ascii=False)],
    }
    return fields(fields_of_all | shown.kind.typed(answer, shown))


def _marks(marks: list[dict], shown: Shown) -> list[dict]:
    """Marks by candidate, as the page sends them."""
    ids = {number: id for number, (id, _text) in zip(shown.order, shown.answers, strict=True)}
    return [mark | {"option": ids[mark["option"]]} for mark in marks]
