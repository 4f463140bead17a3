"""A claim's work does not grow with what its person has judged already."""

from annotation.judging.models import Participation, Slot
from annotation.judging.work import queue, submit


def judge(study, user) -> int:
    """Claim and judge one item; its position."""
    slot = Slot.objects.get(pk=queue.claim(study, user))
    choice = str(slot.item.options.first().candidate_id)
    submit.submit(study, slot.pk, user, {"choice": choice}, key=f"k{slot.pk}")
    return slot.position


def cursor(study, user) -> int:
    return Participation.objects.get(study=study, annotator=user).cursor


def test_a_lap_goes_on_from_where_it_found_something(cast, tea, ann):
    first, *_, last = cast.open(tea, items=5, overlap=2).items.order_by("position")
    queue.claim(tea, ann)
    Slot.objects.filter(annotator=ann).update(status="open", annotator=None)
    Participation.objects.filter(annotator=ann).update(
        cursor=last.position
    )  # as if all had been taken
    positions = [judge(tea, ann), judge(tea, ann)]
    assert positions == [first.position, first.position + 1]
    participation = Participation.objects.get(annotator=ann)
    assert (participation.cursor, participation.lapped) == (last.position, first.position + 1)


def test_a_returned_slot_does_not_move_the_cursor_back(cast, tea, ann, bo):
    cast.open(tea, items=4, overlap=1)
    returned = Slot.objects.get(pk=queue.claim(tea, ann))
    judge(tea, bo)
    before = judge(tea, bo)
    queue.hand_back(returned.pk, ann, "released")
    assert judge(tea, bo) == returned.position
    assert cursor(tea, bo) == before == returned.position + 2
    assert judge(tea, bo) == before + 1
