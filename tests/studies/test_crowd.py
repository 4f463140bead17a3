"""A crowd platform's participants: who may come in by a link, and what they take back."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.accounts.models import User
from annotation.core.errors import Conflict, DomainError
from annotation.queries.models import Query
from annotation.studies import crowd, survey
from annotation.studies.models import CrowdEntry, Membership, Study

PID, OTHER = "5f0c0ffee0c0ffee0c0ffee0", "5f0dead0dead0dead0dead00"


@pytest.fixture
def source(tea):
    Study.objects.filter(pk=tea.pk).update(status="open")
    url = "https://app.prolific.com/submissions/complete?cc={code}"
    return tea.sources.create(name="Round 1", completion_code="C 1&2", return_url=url, quota=5)


def link(source, pid=PID, study="s1", session="session-1") -> str:
    path = reverse("crowd-enter", args=[crowd.token(source)])
    return f"{path}?PROLIFIC_PID={pid}&STUDY_ID={study}&SESSION_ID={session}"


def who(client) -> int | None:
    found = client.session.get("_auth_user_id")
    return int(found) if found else None


def enter(source, **arrival):
    """A new browser that has come by the link."""
    client = Client()
    response = client.post(link(source, **arrival))
    return client, response


# --- In ----------------------------------------------------------------------------------------


def test_opening_the_link_changes_nothing_and_beginning_makes_one_bare_account(client, source):
    page = client.get(link(source))
    assert (page.status_code, User.objects.filter(worker__isnull=False).count()) == (200, 0)
    response = client.post(link(source))
    entry = CrowdEntry.objects.get()
    assert response.url == reverse("judge", args=["tea"])
    assert (entry.participant, entry.submission_study, entry.source) == (PID, "s1", source)
    user = entry.user
    assert (who(client), user.email, user.has_usable_password()) == (user.pk, None, False)
    assert list(user.memberships.values_list("study__slug", "role")) == [("tea", "annotator")]


def test_the_platforms_ids_are_in_one_table_only(client, source):
    client.post(link(source, session="session-of-mine"))
    with connection.cursor() as cursor:
        for table in ("studies_crowdentry", "accounts_user", "core_auditevent"):
            cursor.execute(f"SELECT string_agg(t::text, ' ') FROM {table} t")  # noqa: S608
            text = cursor.fetchone()[0]
            assert (PID in text) == (table == "studies_crowdentry")
            assert "session-of-mine" not in text


@pytest.mark.parametrize("keep", ["session id", "cookie", "login"])
def test_the_same_participant_comes_back_to_the_same_account(source, keep):
    client, _ = enter(source)
    first = who(client)
    if keep == "session id":
        client = Client()
    elif keep == "cookie":
        client.post("/accounts/logout/")
        assert who(client) is None
    response = client.post(
        link(source, session="session-1" if keep == "session id" else "session-2")
    )
    assert (response.status_code, who(client), CrowdEntry.objects.count()) == (302, first, 1)


def test_a_participant_who_talks_with_models_comes_back_too(tea, source):
    client, _first = enter(source)
    person = User.objects.get(pk=who(client))
    query = Query.objects.create(study=tea, external_id="talk-1", owner=person, text="Where?")
    person.talks.create(study=tea, query=query, settings={}, systems=[], chance=1)
    again, _second = enter(source)
    assert who(again) == person.pk


def test_somebody_elses_participant_id_in_another_browser_opens_nothing(source):
    enter(source)
    client, response = enter(source, session="session-guessed")
    assert (response.status_code, who(client)) == (403, None)
    assert "crowd-" not in response.text
    # Also where the browser is known for somebody else.
    client, _ = enter(source, pid=OTHER, session="session-other")
    mine = who(client)
    assert client.post(link(source, session="session-guessed")).status_code == 403
    assert who(client) == mine


@pytest.mark.parametrize(
    "change", [lambda t: t[:-1] + ("A" if t[-1] != "A" else "B"), str.swapcase, lambda t: "x" + t]
)
def test_a_changed_link_is_refused(client, source, change):
    address = link(source).replace(crowd.token(source), change(crowd.token(source)))
    assert client.post(address).status_code == 404
    assert not CrowdEntry.objects.exists()


def test_a_signature_of_one_study_does_not_fit_another(client, cast, source):
    rain = cast.study("rain")
    forged = crowd._signer.sign_object([rain.pk, source.pk])
    assert client.post(link(source).replace(crowd.token(source), forged)).status_code == 404


def test_another_study_id_of_the_platform_is_refused(source):
    enter(source)
    _, again = enter(source, study="s2")
    assert again.status_code == 409
    source.submission_study = "s1"
    source.save()
    _, newcomer = enter(source, pid=OTHER, study="s2")
    assert (newcomer.status_code, CrowdEntry.objects.count()) == (403, 1)


@pytest.mark.parametrize(
    "query",
    [
        "",
        f"PROLIFIC_PID={PID}&STUDY_ID=s1",
        f"PROLIFIC_PID={PID}&STUDY_ID=s1&SESSION_ID=",
        f"PROLIFIC_PID={PID}&PROLIFIC_PID={OTHER}&STUDY_ID=s1&SESSION_ID=x",
        f"PROLIFIC_PID={'x' * 65}&STUDY_ID=s1&SESSION_ID=x",
        "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID=s1&SESSION_ID=x",
        f"PROLIFIC_PID={PID}%0A&STUDY_ID=s1&SESSION_ID=x",
        "PROLIFIC_PID=١٢٣&STUDY_ID=s1&SESSION_ID=x",
        f"PROLIFIC_PID={PID}&STUDY_ID=%ff&SESSION_ID=x",
    ],
)
def test_missing_and_odd_parameters_get_a_sentence(client, source, query):
    address = f"{reverse('crowd-enter', args=[crowd.token(source)])}?{query}"
    for response in (client.get(address), client.post(address)):
        assert response.status_code == 400
        assert "missing or unreadable" in response.text
    assert not CrowdEntry.objects.exists()


def change(**values):
    return lambda user: User.objects.filter(pk=user.pk).update(**values)


def join_elsewhere(user, **more):
    rain = Study.objects.create(slug="rain", title="Rain")
    rain.memberships.create(user=user, role="annotator", **more)


HISTORIES = {
    "password": change(password="a secret"),
    "e-mail": change(email="somebody@example.org"),
    "unconfirmed e-mail": lambda user: user.emailaddress_set.create(email="somebody@example.org"),
    "other study": join_elsewhere,
    "former study": lambda user: join_elsewhere(user, left_at=timezone.now()),
    "curator": lambda user: user.memberships.update(role="curator"),
    "removed": lambda user: user.memberships.update(left_at=timezone.now()),
    "closed": change(is_active=False),
    "site's administrator": change(is_superuser=True),
}


@pytest.mark.parametrize("what", HISTORIES)
def test_an_account_with_a_history_is_never_opened_by_a_link(source, what):
    client, _ = enter(source)
    HISTORIES[what](User.objects.get(pk=who(client)))
    client.logout()
    for browser in (client, Client()):
        response = browser.post(link(source))
        assert (response.status_code, who(browser)) == (409, None)


def test_whoever_is_logged_in_stays_who_they_are(login, cast, source):
    client = login(cast.person("Carol"))
    response = client.post(link(source))
    assert (response.status_code, CrowdEntry.objects.count()) == (409, 0)
    assert who(client) == cast.person("Carol").pk


def test_a_second_link_of_the_study_makes_no_second_person(tea, source):
    enter(source)
    second = tea.sources.create(name="Round 2", completion_code="C2")
    _, response = enter(second)
    assert (response.status_code, CrowdEntry.objects.count()) == (409, 1)


@pytest.mark.django_db(transaction=True)
def test_parallel_arrivals_never_exceed_the_places(source):
    source.places = 3
    source.save()

    def arrive(number):
        arrival = crowd.Arrival(f"p{number % 6}", "s1", f"x{number % 6}")
        try:
            return crowd.enter(source, arrival, None).pk
        except DomainError as refusal:
            return refusal.status
        finally:
            connection.close()

    with ThreadPoolExecutor(12) as pool:
        found = list(pool.map(arrive, range(24)))
    assert CrowdEntry.objects.count() == len({one for one in found if one != 409}) == 3
    assert User.objects.filter(worker__startswith="tea:crowd-").count() == 3


@pytest.mark.parametrize("ended", ["closed source", "closed study"])
def test_a_closed_door_takes_no_newcomer_but_those_who_are_in(tea, source, ended):
    enter(source)
    if ended == "closed source":
        tea.sources.update(closed_at=timezone.now())
    else:
        Study.objects.filter(pk=tea.pk).update(status="closed")
    _, newcomer = enter(source, pid=OTHER)
    _, known = enter(source)
    assert (newcomer.status_code, known.status_code) == (409, 302)


def test_arrivals_from_one_address_are_limited(client, source, settings):
    settings.ACCOUNT_RATE_LIMITS = {"crowd_enter": "3/m/ip"}
    statuses = []
    for n in range(5):
        headers = {"X-Forwarded-For": f"10.0.0.{n}"}
        answer = client.post(link(source, pid="p0", session=f"x{n}"), headers=headers)
        statuses.append(answer.status_code)
    assert statuses == [302, 302, 302, 429, 429]


# --- Out ---------------------------------------------------------------------------------------


def test_the_completion_code_is_due_at_the_quota_or_when_nothing_is_left(tea, source, cast):
    client, _ = enter(source)
    user = User.objects.get(pk=who(client))
    assert crowd.completion(user, tea, 4) is None
    assert crowd.completion(user, tea, 0, nothing_left=True) is None
    assert CrowdEntry.objects.get().completed_at is None
    due = crowd.Completion("C 1&2", "https://app.prolific.com/submissions/complete?cc=C%201%262")
    assert crowd.completion(user, tea, 5) == due
    first = CrowdEntry.objects.get().completed_at
    assert crowd.completion(user, tea, 2, nothing_left=True) == due
    assert CrowdEntry.objects.get().completed_at == first is not None
    assert crowd.completion(cast.person("Ann"), tea, 99, nothing_left=True) is None


def test_who_is_of_a_group_that_is_full_leaves_their_place_to_others(tea, source, cast):
    Study.objects.update(group_places=1)
    source.places = 1
    source.save()
    asked = survey.publish(tea, survey.read_questions("Age | young | old"), "I agree.", by=None)
    survey.answer(asked, cast.person("Ann"), {"Age": "old"})
    client, _response = enter(source)
    with pytest.raises(Conflict, match="Enough people"):
        survey.answer(asked, User.objects.get(pk=who(client)), {"Age": "old"})
    assert Membership.objects.get(user=who(client)).left_at
    assert enter(source, pid=OTHER, session="session-2")[1].status_code == 302


def test_returning_ends_the_participation_and_frees_the_place(source):
    source.places = 1
    source.save()
    client, _ = enter(source)
    user = User.objects.get(pk=who(client))
    page = reverse("return", args=["tea"])
    assert client.get(page).status_code == 200
    assert CrowdEntry.objects.get().returned_at is None
    response = client.post(page, follow=True)
    assert (response.status_code, who(client)) == (200, None)
    assert user.memberships.get().left_at is not None
    assert crowd.completion(user, source.study, 9) is None
    _, again = enter(source)
    _, next_one = enter(source, pid=OTHER)
    assert (again.status_code, next_one.status_code) == (409, 302)


# --- The administrators' page ------------------------------------------------------------------


def test_an_administrator_makes_a_source_and_gets_its_link(login, tea, dora):
    client, page = login(dora), reverse("crowd", args=["tea"])
    made = {"name": "R", "completion_code": "C9", "return_url": "https://p.example/?cc={code}"}
    assert client.post(page, {**made, "places": "10", "quota": "20"}).status_code == 302
    source = tea.sources.get()
    assert (source.places, source.quota, source.created_by) == (10, 20, dora)
    shown = client.get(page).text
    assert f"/crowd/{crowd.token(source)}/?PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}&amp;" in shown
    client.post(reverse("crowd-close", args=["tea", source.pk]))
    assert tea.sources.get().closed_at is not None


@pytest.mark.parametrize(
    "wrong",
    [
        {"return_url": "http://p.example/"},
        {"return_url": "javascript:alert(1)"},
        {"return_url": "//p.example/"},
        {"places": "0"},
        {"quota": "0"},
        {"quota": "-1"},
        {"completion_code": ""},
    ],
)
def test_a_source_that_cannot_be_is_refused(login, tea, dora, wrong):
    made = {"name": "R", "completion_code": "C9", "return_url": "", **wrong}
    response = login(dora).post(reverse("crowd", args=["tea"]), made)
    assert (response.status_code, tea.sources.count()) == (400, 0)
