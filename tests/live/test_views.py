"""The pages of a live comparison, as a browser without scripts and as htmx asks for them."""

import pytest

from annotation.judging.curator import definition
from annotation.judging.models import Judgment
from annotation.live.models import Talk
from annotation.studies import members
from annotation.studies.bundle import BundleError
from annotation.studies.models import Study
from tests.candidates.conftest import write_all

PAGE = "/studies/tea/talk/"
SETTINGS = {"tasks": ["served"], "each_turn": "", "models": "2", "endpoints": ["oak", "elm"],
            "strategies": ["A3"], "rule": "equal", "turns": 3, "words": 50, "talks": 2,
            "patience": 60}  # fmt: skip


@pytest.fixture
def ann(cast, tea, login):
    return login(cast.member("Ann", tea, "annotator"))


def act(client, name, status=302, **data):
    talk = Talk.objects.filter(ended_at=None).first()
    data = {"act": name, "talk": talk.pk if talk else "", **data}
    answer = client.post(PAGE, data)
    assert answer.status_code == status, answer.content.decode()
    return answer


def test_a_person_talks_and_judges(ann, live, at_once):
    live()
    assert b"Begin" in ann.get(PAGE).content
    act(ann, "begin")
    act(ann, "say", text="Where shall I walk?", turn=0)
    page = ann.get(PAGE).content.decode()
    assert 'hx-trigger="every 1s"' in page and "oak" not in page
    write_all()
    page = ann.get(PAGE, headers={"HX-Request": "true"}).content.decode()
    assert page.lstrip().startswith("<section") and "oak after 2" in page
    assert act(ann, "end").url == "/studies/tea/judge/"
    page = ann.get("/studies/tea/judge/").content.decode()
    assert "Where shall I walk?" in page
    # Who has sent no history is offered none beside the question.
    assert "Your history" not in page


def test_a_refused_message_comes_back(ann, live):
    live(words=5)
    act(ann, "begin")
    answer = act(ann, "say", status=400, text="one two three four five six", turn=0)
    assert "one two three four five six</textarea>" in answer.content.decode()
    assert act(ann, "draft", status=204, text="half a thou", turn=0)
    assert "half a thou</textarea>" in ann.get(PAGE).content.decode()


@pytest.mark.parametrize("data", [{"talk": "x"}, {"place": "-1"}, {"turn": "a"}, {"act": "none"}])
@pytest.mark.parametrize("name", ["say", "draft", "choose", "without", "again", "end"])
def test_nothing_that_is_sent_breaks_the_page(ann, live, name, data):
    live()
    act(ann, "begin")
    talk = Talk.objects.get()
    answer = ann.post(PAGE, {"act": name, "talk": talk.pk, "text": "a\x00b"} | data)
    assert answer.status_code in (204, 302, 404, 409)


def test_nobody_acts_in_the_conversation_of_another(cast, ann, tea, live, login):
    live()
    act(ann, "begin")
    bo = login(cast.member("Bo", tea, "annotator"))
    assert bo.post(PAGE, {"act": "end", "talk": Talk.objects.get().pk}).status_code == 409
    assert Talk.objects.get().ended_at is None


def test_who_left_a_study_talks_in_it_through_no_other_studys_page(cast, ann, tea, live, at_once):
    live()
    act(ann, "begin")
    talk, rain = Talk.objects.get(), cast.study("rain")
    person = cast.member("Ann", rain, "annotator")
    members.change_role(tea.memberships.get(user=person), "", by=person)
    data = {"act": "say", "talk": talk.pk, "text": "Hello?", "turn": 0}
    assert ann.post("/studies/rain/talk/", data).status_code in (200, 404, 409)
    assert Talk.objects.get().turns == []


def test_a_curator_sets_it_up_and_ends_it(cast, carol, tea, models):
    cast.task(tea, "served", options=2)
    page = "/studies/tea/talk/setup/"
    tea.tasks.create(name="traits", kind="attribute", overlap=1, config={})
    shown = carol.get(page).content.decode()
    assert 'value="served"' in shown and 'value="ash"' in shown and 'value="traits"' not in shown
    assert "Saving opens the study" in shown and shown.count(" checked") == 1  # A3
    assert carol.post(page, SETTINGS | {"tasks": ["none"]}).status_code == 400
    wrong = carol.post(page, SETTINGS | {"models": "3", "endpoints": []})
    assert "does not show 3 answers" in wrong.content.decode()
    assert carol.post(page, SETTINGS).status_code == 302
    study = Study.objects.get(slug="tea")
    assert (study.status, study.live["endpoints"], study.live["turns"]) == (
        "open", ["oak", "elm"], 3
    )  # fmt: skip
    assert 'value="3"' in carol.get(page).content.decode()
    carol.post(page, {"off": "1"})
    assert Study.objects.get(slug="tea").live == {}


def test_the_recipe_can_be_talked_in(cast, models, login, at_once):
    ada = login(cast.person("Ada", is_superuser=True))
    made = {"title": "T", "slug": "t", "languages": ["en"], "consent": "I take part."}
    ada.post("/studies/new/", made | {"recipe": "talk"})
    study = Study.objects.get(slug="t")
    Study.objects.filter(slug="t").update(status="open", consent_text=None)
    ann = login(cast.member("Ann", study, "annotator"))
    ann.post("/studies/t/talk/", {"act": "begin"})
    talk = Talk.objects.get()
    ann.post("/studies/t/talk/", {"act": "say", "talk": talk.pk, "text": "Hello?", "turn": 0})
    write_all()
    ann.post("/studies/t/talk/", {"act": "end", "talk": talk.pk})
    assert study.items.count() == 2 and not Judgment.objects.exists()


def test_the_api_takes_the_same_settings(cast, carol, tea, models):
    cast.task(tea, "served", options=2)
    address = "/api/v1/studies/tea/live/"
    assert carol.get(address).json() == {}
    saved = carol.put(address, SETTINGS, "application/json")
    assert (saved.status_code, saved.json()) == (200, SETTINGS | {"personas": False})
    assert carol.get(address).json() == saved.json() == Study.objects.get(slug="tea").live
    wrong = carol.put(address, SETTINGS | {"tasks": ["none"]}, "application/json")
    assert (wrong.status_code, "no task “none”" in wrong.json()["detail"]) == (400, True)
    assert carol.put(address, SETTINGS | {"turns": 0}, "application/json").status_code == 400
    assert carol.delete(address).status_code == 204
    assert Study.objects.get(slug="tea").live == {}


def test_a_definition_has_the_settings_and_is_refused_where_they_do_not_fit(cast, tea, live):
    live(rule="close")
    written = definition.definition_of(Study.objects.get(slug="tea")) | {"slug": "mint"}
    assert written["live"]["rule"] == "close"
    assert definition.make(written, None).live == written["live"]
    wrong = {"pace": 3, "tasks": ["none"], "turns": 99, "strategies": ["A0"]}
    for name, value in wrong.items():
        changed = written | {"slug": "basil", "live": written["live"] | {name: value}}
        with pytest.raises(BundleError):
            definition.make(changed, None)
    assert not Study.objects.filter(slug="basil").exists()
