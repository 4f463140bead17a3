from annotation.judging import queue, submit
from annotation.judging.models import Selection, Slot


def test_a_claim_gives_the_same_slot_until_it_is_judged(cast, tea):
    cast.open(tea, items=2, overlap=3)
    ann = cast.person("Ann")
    first = queue.claim(tea, ann)
    assert queue.claim(tea, ann) == first
    slot = Slot.objects.get(pk=first)
    choice = str(slot.item.options.get(number=2).candidate_id)
    result = submit.submit(tea, first, ann, {"choice": choice}, key="k1", claim_next=True)
    assert result.next_slot not in (None, first)
    assert Selection.objects.get().choice.number == 2
    slot.item.refresh_from_db()
    assert (slot.item.done, slot.item.votes_2) == (1, 1)
