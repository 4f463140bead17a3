"""The annotator's own desk and past judgments: what waits, what was done, what may be changed."""

import json
from datetime import timedelta
from html import unescape

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.accounts.models import Consent
from annotation.core.errors import NotFound
from annotation.judging.annotator import overview
from annotation.judging.kinds import KINDS
from annotation.judging.models import Batch, Item, ItemComment, Judgment, Participation, Slot
from annotation.judging.work import comments, queue, submit
from annotation.queries.models import GoldClaim
from annotation.questions.base import Row
from annotation.studies import messages
from annotation.studies.models import Study
from tests import everykind
from tests.judging.conftest import PAST, as_role, choose, judge, place


def test_what_is_waiting_is_what_the_hand_out_gives(cast, tea, ann, bo):
    """Some are judged, skipped, full, somebody else's or Ann's own: the desk knows as the queue."""
    cast.open(tea, items=8, overlap=1)
    judge(tea, bo)
    judge(tea, ann)
    queue.hand_back(queue.claim(tea, ann), ann, "skipped", "no idea")
    items = list(Item.objects.filter(slots__status="open").order_by("position"))
    Slot.objects.filter(item=items[-1]).update(reserved_for=bo)
    Slot.objects.filter(item=items[-2]).update(withheld_from=ann)
    Slot.objects.filter(item=items[-3]).update(reserved_for=ann)
    told = place(tea, ann)
    given = 0
    while judge(tea, ann):
        given += 1
    assert (told.waiting, told.more, given) == (3, False, 3)
    assert (place(tea, ann).waiting, place(tea, ann).state) == (0, "done")


def test_a_long_list_is_counted_up_to_a_limit_and_said_so(cast, tea, ann, monkeypatch):
    monkeypatch.setattr(overview, "LOOK", 6)
    cast.open(tea, items=5, overlap=3)
    told = place(tea, ann)
    assert (told.waiting, told.more, told.in_all) == (2, True, None)


def test_the_desk_tells_what_was_done_and_the_time_apart_from_idle_time(cast, tea, ann, page):
    cast.open(tea, items=5, overlap=1)
    assert place(tea, ann).pay is None and "Pay" not in page.get("/").text
    Study.objects.update(pay_per_hour="12.00", pay_per_judgment="0.50", currency="EUR")
    for _ in range(3):
        slot = judge(tea, ann, data={"circumstances": json.dumps({"idle": 60})}, seconds=1200)
    told = place(tea, ann)
    assert (told.done, told.waiting, told.in_all, told.active, told.idle) == (3, 2, 5, 3600, 180)
    assert told.last == Participation.objects.get(annotator=ann).last_judged_at is not None
    assert told.pay == 12 + 3 * 0.5
    html = page.get("/").text
    assert all(words in html for words in ("1 h 00 min", "3 min", "13.50 EUR", "of up to 5"))
    assert "last on" in html
    # A change is no second judgment, but takes its time.
    submit.revise(tea, slot, ann, choose(slot, 2), key="k2", seconds=5)
    assert (place(tea, ann).done, place(tea, ann).active) == (3, 3605)


def test_the_desk_takes_as_many_statements_for_three_studies_as_for_one(cast, tea, ann, page):
    counts = []
    for slugs in ([], ["rain", "snow"]):
        for slug in slugs:
            other = cast.study(slug)
            cast.member("Ann", other, "annotator")
            cast.open(other, items=2)
            judge(other, ann)
            messages.send_message(
                as_role(other, "curator"), cast.person("Carol"), f"Welcome to {slug}."
            )
        with CaptureQueriesContext(connection) as queries:
            html = page.get("/").text
        counts.append(len(queries))
    assert html.count("<article>") == 3
    assert "Welcome to rain." in html
    assert counts[0] == counts[1] <= 9


PAUSED = "Please read the guideline &lt;once&gt; more &amp; write to us."


@pytest.mark.parametrize(
    ("change", "state", "words"),
    [
        ({"status": "draft"}, "draft", "has not begun yet"),
        ({"status": "closed"}, "closed", "This study is closed"),
        ({"status": "open"}, "done", "Nothing is waiting for you"),
        ("paused", "stopped", PAUSED),
        ("no consent", "consent", "Read the consent and begin"),
        ("in hand", "closed", "Go on with the item in your hands"),
    ],
)
def test_the_desk_says_why_there_is_nothing_to_do(cast, tea, ann, page, change, state, words):
    if change == "paused":
        fields = {"stopped_at": timezone.now(), "stop_reason": unescape(PAUSED)}
        Participation.objects.create(study=tea, annotator=ann, **fields)
    elif change == "no consent":
        Consent.objects.filter(user=ann).delete()
    elif change == "in hand":
        cast.open(tea)
        queue.claim(tea, ann)
        Study.objects.update(status="closed")
    else:
        Study.objects.update(**change)
    html = page.get("/").text
    assert (place(tea, ann).state, words in html) == (state, True)
    assert ("/judge/" in html) == (change == "in hand")


def test_somebody_without_a_study_is_told_how_to_get_into_one(cast, login):
    html = login(cast.person("Nobody")).get("/").text
    assert "You are not part of a study yet" in html
    assert 'href="/join/"' in html


def test_every_kind_of_answer_is_told_in_words_as_it_was_seen(cast, tmp_path, login, ann):
    mix = everykind.judged(cast, tmp_path)
    mix = Study.objects.filter(pk=mix.pk).with_membership(ann).get()
    told = {
        one["judgment"].slot.item.external_id: one["words"]
        for one in overview.judgment_rows(mix, overview.judgments(mix, ann))
    }
    given = list(Judgment.objects.filter(annotator=ann))
    # Where the answers called own, generic and sea in the files were shown.
    places = {
        vote.slot.item.external_id: {
            option.candidate.external_id: vote.shown.index(option.number) + 1
            for option in vote.slot.item.options.all()
        }
        for vote in given
    }
    own, generic = places["i-own"]["c-own"], places["i-own"]["c-generic"]
    order = [places["i-order"][f"c-{name}"] for name in ("own", "sea", "generic")]
    polite = sorted([f"Answer {own}, polite: Yes", f"Answer {generic}, polite: No"])
    assert told == {
        "i-better": [f"Answer {places['i-better']['c-own']}"],
        "i-rate": [f"Answer {places['i-rate']['c-own']} is much better"],
        "i-feel": ["Tone 4, Depth 2"],
        "i-a1": ["accepted"],
        "i-a2": ["uncertain: the conversation does not show it"],
        "i-m1": ["Yes, it should"],
        "i-order": [" > ".join(f"Answer {place}" for place in order)],
        "i-own": [f"best: Answer {own}", *polite, "depth: 6", f"Answer {own}, odd: Fact “Repot”"],
    }
    page = login(ann)
    html = page.get("/studies/mix/mine/").text
    assert all(f"/studies/mix/judged/{vote.slot_id}/" in html for vote in given)
    assert "What should I do this weekend?" in html and "Grows ferns at home." in html
    answer = page.get("/studies/mix/mine/download/")
    judged = json.loads(answer.getvalue())["judgments"]
    sent = {one["task"]: one["revisions"][0] for one in judged}
    assert sent["feel"]["answer"] == {
        "1": {
            "Tone": {"score": 4, "feedback": "4 it is", "chips": []},
            "Depth": {"score": 2, "feedback": "2 it is", "chips": []},
        }
    }
    names = dict(zip(("own", "sea", "generic"), map(str, order), strict=True))
    assert sent["order"]["answer"] == {names["own"]: 1, names["sea"]: 2, names["generic"]: 3}
    details = [one["revisions"][0]["detail"] for one in judged]
    assert [detail for detail in details if detail] == ["missing-evidence"]


def test_a_review_of_claims_is_told_claim_by_claim():
    kind, said = KINDS["claims"], ("keep", "edit")
    claims = {n: GoldClaim(pk=n, number=n - 6, text=f"Claim {n}") for n in (7, 8)}
    rows = [Row("claims", part=n, label=label) for n, label in zip(claims, said, strict=True)]
    told = kind.words(kind.answer(rows, claims), kind.defaults)
    assert told == ["Claim 1: keep", "Claim 2: edit"]


def test_past_judgments_tell_of_changes_and_until_when_one_may_change(cast, tea, ann, page):
    cast.open(tea, items=2)
    slot = judge(tea, ann)
    submit.revise(tea, slot, ann, choose(slot, 2), key="k2")
    html = page.get(PAST).text
    assert "changed once" in html and "Look at it or change it" in html
    Judgment.objects.update(submitted_at=timezone.now() - timedelta(hours=25))
    html = page.get(PAST).text
    assert "It cannot be changed any more." in html and html.count('<article class="past"') == 1


@pytest.mark.parametrize(
    ("purpose", "hours", "may"),
    [("work", 0, True), ("gold", 0, True), ("training", 0, False), ("work", 25, False)],
)
def test_the_list_and_the_item_agree_on_what_may_be_changed(cast, tea, ann, purpose, hours, may):
    cast.open(tea)
    judge(tea, ann)
    Batch.objects.update(purpose=purpose)
    Judgment.objects.update(submitted_at=timezone.now() - timedelta(hours=hours))
    (row,) = overview.judgment_rows(tea, overview.judgments(tea, ann))
    assert (row["may_change"], submit.editable(tea, row["judgment"])) == (may, may)


def test_a_hidden_check_looks_like_work_in_the_list(cast, tea, ann, page):
    cast.open(tea, items=2)
    for _ in range(2):
        judge(tea, ann)
    lists = []
    for purpose in ("work", "gold"):
        Batch.objects.update(purpose=purpose)
        lines = page.get(PAST).text.split("\n")
        lists.append([line for line in lines if "csrfmiddlewaretoken" not in line])
    assert lists[0] == lists[1]


def test_the_list_has_pages(cast, tea, ann, page):
    cast.open(tea, items=27)
    for _ in range(27):
        judge(tea, ann)
    pages = [page.get(f"{PAST}?page={n}").text for n in (1, 2)]
    assert [text.count('<article class="past"') for text in pages] == [25, 2]


def test_a_comment_on_an_item_reaches_the_curators(cast, tea, ann, page):
    cast.open(tea, overlap=2)
    slot = judge(tea, ann)
    answer = page.post(PAST, {"slot": slot, "text": " The persona is <b>missing</b> her age. "})
    assert answer["Location"] == PAST
    assert "The persona is &lt;b&gt;missing&lt;/b&gt; her age." in page.get(PAST).text
    (comment,) = comments.threads([slot])[slot]
    assert (comment.author, comment.text) == (ann, "The persona is <b>missing</b> her age.")


def test_a_refused_comment_is_kept_in_its_field(cast, tea, ann, page):
    cast.open(tea)
    slot, text = judge(tea, ann), "x" * 5001
    answer = page.post(PAST, {"slot": slot, "text": text})
    assert answer.status_code == 400
    assert "Write up to 5000 characters." in answer.text and text in answer.text
    assert page.post(PAST, {"slot": "x", "text": "Hello."}).status_code == 404
    assert not ItemComment.objects.exists()


@pytest.mark.parametrize("whose", ["Bo's", "held", "none"])
def test_there_is_no_comment_on_what_one_has_not_judged(cast, tea, ann, whose):
    cast.open(tea, items=2)
    slots = {
        "Bo's": judge(tea, cast.person("Bo")),
        "held": queue.claim(tea, ann),
        "none": "00000000-0000-4000-8000-000000000000",
    }
    with pytest.raises(NotFound):
        comments.write_comment(tea, slots[whose], ann, "Hello.")


def test_messages_that_the_desk_does_not_show_are_not_marked_as_read_there(cast, tea, ann, page):
    for n in range(3):
        messages.send_message(as_role(tea, "curator"), cast.person("Carol"), f"News {n}")
    assert "I have read them all" in page.get("/").text
    messages.send_message(as_role(tea, "curator"), cast.person("Carol"), "News 3")
    html = page.get("/").text
    assert "News 0" not in html
    assert "I have read them all" not in html
    assert "All messages, and answer" in html


def test_a_visitor_finds_an_item_to_try_and_both_ways_in(client, db):
    response = client.get("/")
    html = response.text
    assert response.status_code == 200
    assert "Which answer fits her better?" in html
    assert 'action="/join/"' in html
    assert 'href="/accounts/login/"' in html


def test_thirty_one_studies_are_one_screen_ordered_by_what_needs_the_person(cast, login):
    studies = [cast.study(f"study-{number:02}") for number in range(31)]
    for study in studies:
        cast.members(study, {"Ann": "annotator"})
    cast.open(studies[-1])
    context = login(cast.person("Ann")).get("/").context
    assert (len(context["rows"]), context["further"], context["folded"]) == (15, 16, True)
    assert (context["rows"][0].study, context["rows"][0].need) == (studies[-1], "To do")


def test_who_runs_a_study_sees_how_far_it_is_and_with_how_many(cast, tea, carol):
    cast.open(tea)
    html = carol.get("/").text
    assert "judgments: 0 of 9 · 3 annotators" in html and "Open a batch" not in html
    for number in range(4):
        cast.members(cast.study(f"study-{number}"), {"Carol": "curator"})
    page = carol.get("/")
    assert page.context["rows"][0].study == tea
    assert '<a href="/studies/tea/overview/">Tea</a>' in page.text
    steps = [row.next_step for row in page.context["rows"]]
    assert steps == [None, *[("See what comes next", "overview")] * 4]


def test_who_runs_a_study_reads_how_many_judgments_of_work_there_are_of_those_wanted(
    cast, tea, ann, bo
):
    cast.open(tea, items=2, overlap=2)
    for user in (ann, ann, bo):
        judge(tea, user)
    Participation.objects.filter(annotator=bo).update(done=4)  # three checks
    told = overview.counts([tea])[tea.pk]
    assert (told["done"], told["wanted"], told["people"]) == (3, 4, 3)
    queue.void(tea, ann, cause="withdrawn")
    told = overview.counts([tea])[tea.pk]
    assert (told["done"], told["wanted"]) == (1, 4)
    rain = cast.study("rain")
    assert overview.counts([rain])[rain.pk]["done"] == 0


@pytest.mark.parametrize(
    ("counts", "page"),
    [
        ({"wanted": 0, "done": 0, "people": 0}, "overview"),
        ({"wanted": 9, "done": 0, "people": 0, "invites": True}, "people"),
        ({"wanted": 9, "done": 0, "people": 0, "invites": False}, "overview"),
        ({"wanted": 9, "done": 8, "people": 3}, None),
        ({"wanted": 9, "done": 9, "people": 0}, "study"),
    ],
)
def test_who_runs_a_study_is_told_what_it_needs_next(counts, page):
    row = overview.DeskRow(Study(status="open"), None, [], [], None, counts)
    assert (row.next_step or (None, None))[1] == page
    assert overview.DeskRow(Study(status="closed"), None, [], [], None, counts).next_step is None
