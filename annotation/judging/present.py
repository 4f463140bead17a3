"""What an annotator may see of a slot: the one place where a page or the API gets it from."""

import json
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.utils.translation import gettext as _

from annotation.core import sql
from annotation.core.errors import NotFound
from annotation.judging import plan
from annotation.judging.kinds import kind_of
from annotation.personas.schema import ordered

_SHOW = """
    SELECT s.id, s.ordinal, s.item_id, s.lease_expires_at, t.name, t.kind, t.config,
           q.text, q.need, v.profile, a.numbers, a.ids, a.texts, d.done,
           (SELECT sum(other.size) FROM judging_batch other WHERE other.study_id = s.study_id)
    FROM judging_slot s
    JOIN judging_item i ON i.id = s.item_id
    JOIN judging_batch b ON b.id = i.batch_id
    JOIN studies_taskdefinition t ON t.id = b.task_id
    JOIN queries_query q ON q.id = i.query_id
    LEFT JOIN personas_personaversion v ON v.id = i.persona_version_id
    LEFT JOIN judging_desk d ON d.study_id = s.study_id AND d.annotator_id = s.annotator_id
    CROSS JOIN LATERAL (
        SELECT array_agg(o.number) numbers, array_agg(c.id::text) ids, array_agg(c.text) texts
        FROM judging_itemoption o JOIN candidates_candidate c ON c.id = o.candidate_id
        WHERE o.item_id = s.item_id) a
    WHERE s.id = %(slot)s AND s.annotator_id = %(me)s"""


@dataclass(frozen=True)
class Shown:
    """A slot as shown: the answers in their order, without any trace of where they come from."""

    slot: UUID
    lease_expires_at: datetime
    task: str
    kind_name: str
    config: dict
    query: str
    need: str
    profile: dict | None
    # (id, text) of each answer, from the left or top.
    answers: list[tuple[str, str]]
    # How much this person has done, of how much there is in the study.
    done: int
    in_all: int

    @property
    def kind(self):
        return kind_of(self.kind_name)

    @property
    def traits(self) -> dict | None:
        """The profile without the name, which is the card's heading."""
        if self.profile is None:
            return None
        return {key: value for key, value in self.profile.items() if key != "Name"}


def show(slot_id, annotator) -> Shown:
    """Return what this person sees of a slot that they hold or have judged; NotFound otherwise."""
    row = sql.first(_SHOW, {"slot": slot_id, "me": annotator.pk})
    if row is None:
        raise NotFound(_("You do not hold this item."))
    slot, ordinal, item, lease, task, kind, config, query, need, profile, *rest = row
    numbers, ids, texts, done, in_all = rest
    options = dict(zip(numbers, zip(ids, texts, strict=True), strict=True))
    order = plan.shown_order(item, ordinal, len(options))
    return Shown(
        slot=slot,
        lease_expires_at=lease,
        task=task,
        kind_name=kind,
        config=json.loads(config),
        query=query,
        need=need,
        # The database keeps keys in an order of its own.
        profile=ordered(json.loads(profile)) if profile else None,
        answers=[options[number] for number in order],
        done=done or 0,
        in_all=in_all,
    )
