import pytest

from annotation.core.models import AuditEvent
from annotation.personas.models import Persona, PersonaVersion
from tests.personas.conftest import json_lines

URL = "/studies/tea/personas/"


@pytest.fixture
def mina(cast, tea):
    return cast.persona(tea, "p1", Demographics={"Age": 34}, Pets=["a cat"])


def fields(**changed):
    return {"name": "Mina Park", "age": "34", "rest": '{"Pets": ["a cat"]}'} | changed


def upload(client, *rows):
    return client.post(URL, {"file": json_lines(*rows)})


def test_the_list_takes_the_same_statements_for_one_persona_and_for_many(
    carol, cast, tea, mina, django_assert_num_queries
):
    carol.get(URL)
    with django_assert_num_queries(5) as captured:
        carol.get(URL)
    for n in range(2, 60):
        cast.persona(tea, f"p{n}")
    with django_assert_num_queries(len(captured)):
        page = carol.get(URL).context["page"]
    assert len(page.rows) == 50
    assert "p59" in carol.get(URL, {"after": page.after}).content.decode()


def test_a_persona_is_written_in_the_form(carol, tea):
    said = {"language": "English\r\nKorean", "thinking": "F", "rest": '{"Pets": []}'}
    answer = carol.post(f"{URL}add/", {"external_id": "jo", "name": "Jo <b>Lee</b>", **said})
    version = PersonaVersion.objects.get()
    assert answer.url == f"{URL}{version.persona_id}/"
    assert (version.persona.external_id, version.version) == ("jo", 1)
    assert version.profile == {
        "Name": "Jo <b>Lee</b>",
        "Demographics": {"Language": ["English", "Korean"]},
        "Personality": {"Thinking_or_Feeling": "F"},
        "Pets": [],
    }
    page = carol.get(answer.url).content.decode()
    assert "Jo &lt;b&gt;Lee&lt;/b&gt;" in page
    assert "<b>Lee" not in page
    event = AuditEvent.objects.get(action="persona.save")
    assert event.target_id == str(version.persona_id)


def test_an_edit_is_a_new_version_and_the_old_one_stays(carol, mina):
    url = f"{URL}{mina.pk}/"
    assert carol.post(url, fields(age="35")).url == url
    profiles = mina.versions.order_by("version").values_list("version", "profile__Demographics")
    assert list(profiles) == [(1, {"Age": 34}), (2, {"Age": "35"})]
    carol.post(url, fields(age="35"))
    assert mina.versions.count() == 2


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"rest": "{"}, "This is no JSON object"),
        ({"rest": "[]"}, "not a JSON object"),
        ({"rest": '{"a": "\\ud800"}'}, "half of a surrogate pair"),
        ({"rest": '{"a": NaN}'}, "This is no JSON object"),
        ({"rest": '{"Name": "Jo"}'}, "is given twice"),
        ({"rest": "[" * 50_000}, "This is no JSON object"),
        ({"name": "a\x00b"}, "Null characters"),
        ({"thinking": "Z"}, "Select a valid choice"),
    ],
)
def test_a_refused_edit_keeps_what_was_typed(carol, mina, changed, words):
    answer = carol.post(f"{URL}{mina.pk}/", fields(career="Kept <as> typed", **changed))
    page = answer.content.decode()
    assert answer.status_code == 400
    assert words in page
    assert "Kept &lt;as&gt; typed" in page
    assert mina.versions.count() == 1


def test_a_persona_of_whom_nothing_is_said_is_refused(carol, mina):
    answer = carol.post(f"{URL}{mina.pk}/", {"rest": ""})
    assert answer.status_code == 400
    assert "Say at least one thing" in answer.content.decode()


def test_an_id_is_given_once(carol, mina):
    answer = carol.post(f"{URL}add/", {"external_id": "p1", "name": "Other"})
    assert answer.status_code == 400
    assert "There is a persona of this id already." in answer.content.decode()
    assert mina.current.name == "Mina Park"


def test_a_file_is_imported_and_again_changes_nothing(carol, tea, mina):
    rows = [{"id": "p1", "profile": {"Name": "Mina Lee"}}, {"id": "p9", "profile": {"Name": "Jo"}}]
    assert upload(carol, *rows).status_code == 302
    assert "2 personas are new or changed." in carol.get(URL).content.decode()
    assert (mina.current.version, mina.current.name) == (2, "Mina Lee")
    upload(carol, *rows)
    assert PersonaVersion.objects.count() == 3
    assert "0 personas are new or changed." in carol.get(URL).content.decode()


def test_a_faulty_file_names_its_lines_and_stores_nothing(carol, tea):
    answer = upload(carol, {"id": "p1", "profile": {"a": 1}}, "{", {"id": "p1", "profile": {}})
    page = answer.content.decode()
    assert answer.status_code == 400
    assert "mine.jsonl, line 2: broken JSON" in page
    assert "mine.jsonl, line 3: “profile” must be an object" in page
    assert not Persona.objects.exists()
    assert carol.post(URL).status_code == 400


def test_a_persona_is_dropped_with_a_reason_and_brought_back(carol, mina):
    url = f"{URL}{mina.pk}/"
    assert carol.post(f"{url}drop/", {"reason": "dull"}).status_code == 400
    carol.post(f"{url}drop/", {"reason": "self-contradictory"})
    mina.refresh_from_db()
    assert mina.dropped_at is not None
    assert "self-contradictory" in carol.get(url).content.decode()
    carol.post(f"{url}restore/")
    mina.refresh_from_db()
    assert (mina.dropped_at, mina.dropped_because) == (None, "")
    events = AuditEvent.objects.order_by("pk").values_list("action", flat=True)
    assert list(events) == ["persona.drop", "persona.restore"]


def test_memories_are_added_once_and_removed(carol, mina):
    url = f"{URL}{mina.pk}/"
    for _ in range(2):
        carol.post(f"{url}memories/", {"text": "Five **quiet** paths.", "since": "2026-05-01"})
    memory = mina.memories.get()
    assert (str(memory.since), memory.until) == ("2026-05-01", None)
    assert "Five <strong>quiet</strong> paths." in carol.get(url).content.decode()
    for wrong in ({"text": "  "}, {"text": "x", "since": "2026-05-01", "until": "2026-05-01"}):
        assert carol.post(f"{url}memories/", wrong).status_code == 400
    carol.post(f"{url}memories/{memory.pk}/remove/")
    assert not mina.memories.exists()
