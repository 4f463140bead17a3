"""Forms that begin with a proposal: whose it is, what is stored of it, and who must not notice."""

import json
import re

import pytest
from django.core.management import call_command

from annotation.agreement import recompute
from annotation.datasets import folders, freeze
from annotation.evaluation.models import Verdict
from annotation.judging.batches.open import open_batch
from annotation.judging.kinds import kind_of
from annotation.judging.models import Draft, Item, Judgment, Slot
from annotation.judging.work import present, queue, submit
from annotation.votes import counting, stored
from tests import everykind
from tests.api.caller import Caller
from tests.judging.conftest import choose, judge
from tests.judging.test_judge_views import HTMX, URL, filled, hidden

SAID = "Pre-filled: change what you see otherwise."


def chosen(answer, slot) -> list[int]:
    """The numbers of the answers that a page shows as chosen."""
    tags = re.findall(r"<input[^>]*answer-choice[^>]*>", answer.text)
    ids = [re.search(r'value="([^"]*)"', tag)[1] for tag in tags if " checked" in tag]
    options = Slot.objects.get(pk=slot).item.options
    return [options.get(candidate=key).number for key in ids]


def verdict(item, label, model="m-1", **more):
    return Verdict.objects.create(item=item, model=model, label=label, **more)


def test_without_the_setting_nothing_is_proposed(cast, tea, ann, page):
    cast.open(tea)
    verdict(Item.objects.get(), "2")
    assert SAID not in page.get(URL).text
    judge(tea, ann)
    assert (Judgment.objects.get().proposal, Draft.objects.count()) == (None, 0)


@pytest.mark.parametrize(("number", "changed"), [(2, False), (3, True)])
def test_the_newest_models_verdict_is_proposed_and_stored_as_such(cast, tea, page, number, changed):
    cast.open(tea, items=2, proposal="model")
    verdict(Item.objects.order_by("position").first(), "1")
    verdict(Item.objects.order_by("position").first(), "2", model="m-2")
    first = page.get(URL)
    slot = hidden(first, "slot")
    assert (SAID in first.text, chosen(first, slot)) == (True, [2])
    shown = submit.ordering.shown_order(
        *Slot.objects.values_list("item", "ordinal").get(pk=slot), 3
    )
    following = page.post(URL, filled(first, shown.index(number) + 1), **HTMX)
    # Nothing is known of the second item.
    assert (SAID in following.text, chosen(following, hidden(following, "slot"))) == (*(False, []),)
    stored = Judgment.objects.get()
    assert stored.proposal == {"from": "model", "of": "m-2", "label": "2", "changed": changed}
    assert stored.answers.get().label == str(number)


def test_the_newest_answer_of_somebody_else_is_proposed_and_stays_what_it_was(cast, tea, ann, page):
    cast.open(tea, items=1, overlap=3, proposal="earlier", reason="optional")
    judge(tea, cast.person("Bo"), 3, data={"reason": "Bo wrote this"})
    first = page.get(URL).text
    assert "Bo wrote this" not in first
    judge(tea, cast.person("Chen"), 1)
    again = page.get(URL)
    slot = hidden(again, "slot")
    assert chosen(again, slot) == [3]
    page.post(f"{URL}draft/", {"slot": slot, "reason": "half"})
    typed = page.get(URL)
    assert (SAID in typed.text, chosen(typed, slot)) == (True, [])
    submit.submit(tea, slot, ann, choose(slot, 3), key="k")
    of = Judgment.objects.get(annotator=cast.person("Bo")).pk
    began = {"from": "earlier", "of": of, "label": "3"}
    assert Judgment.objects.get(annotator=ann).proposal == began | {"changed": False}
    submit.revise(tea, slot, ann, choose(slot, 2), key="k2")
    assert Judgment.objects.get(revision=2).proposal == began | {"changed": True}
    assert Judgment.objects.filter(proposal=None).count() == 0


def test_a_check_begins_as_the_item_that_it_was_made_of(cast, tea, ann, page):
    cast.open(tea, items=1, overlap=2, proposal="model")
    item = Item.objects.get()
    verdict(item, "2")
    judge(tea, cast.person("Bo"))
    copied = {name: getattr(item, name) for name in ("study", "batch", "query", "persona_version")}
    copy = Item.objects.create(**copied, external_id="copy", position=9, overlap=1, repeats=item)
    for option in item.options.all():
        copy.options.create(number=option.number, candidate=option.candidate)
    Slot.objects.filter(status="open").update(item=copy)
    first = page.get(URL)
    assert chosen(first, hidden(first, "slot")) == [2]


def test_what_one_person_said_gives_the_next_ones_form_in_every_kind(cast, tmp_path, ann):
    mix = everykind.study(tmp_path)
    for task in mix.tasks.all():
        task.config["proposal"] = "earlier"
        task.save()
    cast.member("Ann", mix, "annotator")
    everykind.judge(mix, [cast.member("Bo", mix, "annotator")])
    written = {"i-feel": ["answer-Tone/1/text", "answer-Depth/1/text"]}
    written["i-own"] = [f"answer-why not/{place}" for place in (1, 2)]
    for item in Item.objects.filter(external_id__in=everykind.SAYS):
        slot = item.slots.filter(status="open").first()
        Slot.objects.filter(pk=slot.pk).update(status="held", annotator=ann)
        shown = present.show(slot.pk, ann)
        fields = present.proposed(shown, present.proposals(shown, ann))
        fields |= {name: ["Words."] for name in written.get(item.external_id, ())}
        if item.external_id == "i-a2":
            fields["answer-cause"] = ["missing-evidence"]
        submit.submit(mix, slot.pk, ann, present.fields(fields), key=f"k{slot.pk}")
        assert Judgment.objects.get(slot=slot).proposal["changed"] is False, item


def test_each_item_of_a_screen_begins_with_its_own_proposal(cast, tea, ann, login, capsys):
    persona = cast.persona(tea)
    for key in "abc":
        persona.attributes.create(external_id=key, text=f"Likes {key}.")
    cast.query(tea, persona=persona)
    config = kind_of("relevance").check_config({"together": True, "proposal": "model"})
    task = tea.tasks.create(name="matter", kind="relevance", overlap=2, config=config)
    first, second, _third = open_batch(tea, task).items.order_by("position")
    verdict(first, "no")
    verdict(second, "yes")
    tried = login(cast.person("Carol")).get("/studies/tea/tasks/matter/preview/").text
    assert (SAID in tried, checked(tried, "yes"), checked(tried, "no")) == (True, 1, 1)
    page = login(ann)
    begun = page.get(URL)
    shown = begun.text
    assert (SAID in shown, checked(shown, "yes"), checked(shown, "no")) == (True, 1, 1)
    fields = dict.fromkeys(set(re.findall(r'name="(answer-relevant-[^"]+)"', shown)), "yes")
    assert len(fields) == 3
    page.post(URL, {"slot": hidden(begun, "slot"), "key": "k"} | fields)
    stored = {row.slot.item_id: row.proposal for row in Judgment.objects.all()}
    said = {"from": "model", "of": "m-1"}
    assert stored.pop(first.pk) == said | {"label": "no", "changed": True}
    assert stored.pop(second.pk) == said | {"label": "yes", "changed": False}
    assert list(stored.values()) == [None]
    call_command("agreement", "tea", "--task", "matter", "--bootstrap", "0")
    assert "2 judgments began from a proposal" in capsys.readouterr().err


def checked(shown: str, label: str) -> int:
    """How many radio buttons of ``label`` a page shows as chosen."""
    buttons = re.findall(rf'name="answer-relevant-[^>]*value="{label}"[^>]*>', shown)
    return sum("checked" in button for button in buttons)


def test_a_program_is_told_what_the_form_begins_with_and_its_answer_says_so(cast, tea, client):
    cast.open(tea, items=1, overlap=2, proposal="model")
    call = Caller(client, cast.person("Ann"))
    verdict(Item.objects.get(), "2")
    held = call("POST", "studies/tea/claim/").json()
    assert call("POST", "studies/tea/claim/").json()["proposal"] == held["proposal"]
    path = f"slots/{held['slot']}/judgment/"
    assert call("POST", path, held["proposal"], **{"Idempotency-Key": "k"}).status_code == 201
    rows = Caller(client, cast.person("Carol"))("GET", "studies/tea/judgments/").json()["results"]
    began = {"from": "model", "of": "m-1", "label": "2", "changed": False}
    assert [row["proposal"] for row in rows] == [began]


def test_results_and_releases_say_how_many_began_from_a_proposal_and_leave_them_out(
    cast, tea, login, settings, tmp_path, capsys
):
    settings.DATA = tmp_path
    cast.open(tea, items=2, overlap=3, proposal="model")
    first, second = Item.objects.order_by("position")
    verdict(first, "2")
    for name, numbers in (("Ann", (1, 1)), ("Bo", (1, 1)), ("Chen", (2, 3))):
        person = cast.person(name)
        for number in numbers:
            slot = queue.claim(tea, person)
            present.proposals(present.show(slot, person), person)
            submit.submit(tea, slot, person, choose(slot, number), key=f"k{slot}")
    task = tea.tasks.get()
    report = recompute.recompute(tea, task.name).agreement
    # The second item alone: one of three chose another answer.
    alone = stored.read(task, counting.measures_of(task)[0], proposed=False)
    assert (report["proposals"]["judgments"], set(alone.item)) == (3, {second.position})
    page = login(cast.person("Carol")).get(f"/studies/tea/results/{task.name}/")
    assert "3 judgments began from a proposal." in page.text
    for option, said in (([], "are among them"), (["--without-proposals"], "are left out")):
        call_command("agreement", "tea", "--json", "--bootstrap", "0", *option)
        printed = capsys.readouterr()
        assert f"3 judgments began from a proposal: they {said}" in printed.err
        assert json.loads(printed.out)["votes"] == (3 if option else 6)
        call_command("estimates", "tea", "--task", task.name, "--json", *option)
        printed = capsys.readouterr()
        assert f"3 judgments began from a proposal: they {said}" in printed.err
        found = json.loads(printed.out)
        assert found["proposals"] == {"judgments": 3, "left_out": bool(option)}
        assert {each["people"]["n"] for each in found["quantities"]} == {3 if option else 6}
    for without, judgments, said in ((False, 6, "among them"), (True, 3, "left out")):
        release = freeze.request_release(
            tea, "long", "jsonl", None, without_proposals=without, start=True
        )
        manifest = freeze.build(release.pk, started=True)
        assert manifest["proposals"] == {"judgments": 3, "left_out": without}
        assert manifest["counts"]["judgments"] == judgments
        readme = (folders.folder_of(release) / "README.md").read_text()
        assert said in readme[readme.index("3 judgments began") :]
