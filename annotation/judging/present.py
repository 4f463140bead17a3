"""What an annotator may see of a slot: the one place where a page or the API gets it from."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from annotation.core.errors import NotFound
from annotation.judging import plan
from annotation.judging.kinds import kind_of
from annotation.judging.models import ItemOption, Slot

# Rows are made for every judgment: columns that nobody reads cost more than the query itself.
_NEEDED = (
    "ordinal",
    "lease_expires_at",
    "item__query__text",
    "item__query__need",
    "item__persona_version__profile",
    "item__batch__task__name",
    "item__batch__task__kind",
    "item__batch__task__config",
)


@dataclass(frozen=True)
class Shown:
    """A slot as shown: the answers in their order, without any trace of where they come from."""

    slot: Slot
    query: str
    need: str
    profile: dict | None
    answers: list[tuple[str, str]]
    task: object

    @property
    def traits(self) -> dict | None:
        """The profile without the name, which is the card's heading."""
        if self.profile is None:
            return None
        return {key: value for key, value in self.profile.items() if key != "Name"}

    @property
    def kind(self):
        return kind_of(self.task.kind)


def show(slot_id, annotator) -> Shown:
    """Return what this person sees of a slot that they hold or have judged; NotFound otherwise."""
    slots = (
        Slot.objects.filter(pk=slot_id, annotator=annotator)
        .select_related("item__batch__task", "item__query", "item__persona_version")
        .only(*_NEEDED)
    )
    slot = next(iter(slots), None)
    if slot is None:
        raise NotFound(_("You do not hold this item."))
    item = slot.item
    options = {
        number: (str(candidate), text)
        for number, candidate, text in ItemOption.objects.filter(item=item)
        .order_by()
        .values_list("number", "candidate_id", "candidate__text")
    }
    order = plan.shown_order(item.pk, slot.ordinal, len(options))
    return Shown(
        slot=slot,
        query=item.query.text,
        need=item.query.need,
        profile=item.persona_version.card if item.persona_version else None,
        answers=[options[number] for number in order],
        task=item.batch.task,
    )
