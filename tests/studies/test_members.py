"""Ways into a study: invitations, roles that change, members who leave, and the command."""

import io
import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.core.management import CommandError
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.accounts import consent
from annotation.accounts.models import User
from annotation.core.errors import Conflict, DomainError, NotFound
from annotation.studies import members
from annotation.studies.models import Invitation, JoinCode, Membership
from tests.commands import run

JOIN, STUDY = "/join/", "/join/study/"
PEOPLE = "/studies/tea/people/"
NEW = {"email": "noor@example.org", "password1": "a long enough secret"}
pytestmark = pytest.mark.django_db


@pytest.fixture
def code(tea):
    return JoinCode.issue(tea, uses=2, days=7)


def test_a_code_is_found_in_any_spelling(tea, monkeypatch):
    monkeypatch.setattr("secrets.choice", lambda alphabet: next(signs))
    signs = iter("01AB9XYZ")
    row, shown = JoinCode.issue(tea, uses=1, days=1)
    assert shown == "01AB-9XYZ"
    for spelling in ("01AB-9XYZ", "01ab9xyz", " oi aB–9x yz ", "OLAB 9XYZ"):
        assert members.valid_code(spelling) == row
    with pytest.raises(NotFound):
        members.valid_code("01AB-9XY0")


def test_a_code_outlives_a_change_of_the_secret_key(settings, code):
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key that is long enough to be one, and more than that"
    assert members.valid_code(code[1]) == code[0]


def test_somebody_new_joins_by_a_code_alone(client, tea, code):
    assert client.post(JOIN, {"code": code[1]}).url == STUDY
    assert b"You are invited" in client.get(STUDY).content
    page = client.get(f"/accounts/signup/?next={STUDY}").text
    assert f"You are invited to “{tea}”" in page
    new = {"email": "new@example.org", "password1": "a long enough secret"}
    assert client.post(f"/accounts/signup/?next={STUDY}", new).url == STUDY
    assert not Membership.objects.filter(user__email=new["email"]).exists()
    assert client.post(STUDY).url == reverse("consent", args=["tea"])
    member = Membership.objects.get(user__email=new["email"])
    assert (member.role, member.study, JoinCode.objects.get().used) == ("annotator", tea, 1)


def test_a_link_fills_the_code_in_and_looks_nothing_up(client, code, django_assert_num_queries):
    with django_assert_num_queries(0):
        good = client.get(reverse("join-link", args=[code[1]]))
        bad = client.get(reverse("join-link", args=["WRNG-WRNG"]))
    assert code[1] in good.text
    assert (good.status_code, bad.status_code) == (200, 200)


@pytest.mark.parametrize(
    "end", [{"revoked_at": timezone.now()}, {"expires_at": timezone.now()}, {"used": 2}]
)
def test_a_code_that_ended_opens_nothing_also_where_it_was_typed_before(login, cast, code, end):
    client = login(cast.person("Noor"))
    client.post(JOIN, {"code": code[1]})
    JoinCode.objects.update(**end)
    assert client.post(JOIN, {"code": code[1]}).status_code == 400
    assert client.post(STUDY).status_code == 404
    assert not cast.person("Noor").memberships.exists()


def test_without_a_code_there_is_no_study_and_no_sign_up(client, db):
    assert client.get(STUDY).url == JOIN
    client.post(JOIN, {"code": "WRNG-WRNG"})
    client.post("/accounts/signup/", {"email": "n@example.org", "password1": "a long secret"})
    assert not User.objects.exists()


def test_members_and_former_members_use_nothing_up(tea, cast, code):
    with pytest.raises(Conflict):
        members.join_by_code(code[0], cast.person("Carol"))
    tea.memberships.filter(user=cast.person("Ann")).update(left_at=timezone.now())
    with pytest.raises(Conflict):
        members.join_by_code(code[0], cast.person("Ann"))
    assert JoinCode.objects.get().used == 0
    assert tea.memberships.get(user=cast.person("Carol")).role == "curator"


@pytest.mark.django_db(transaction=True)
def test_fifty_parallel_joins_never_exceed_the_uses(tea):
    code, _ = JoinCode.issue(tea, uses=7, days=1)
    people = [User.objects.create(name=f"n{number}") for number in range(25)]

    def join(user):
        try:
            return members.join_by_code(code, user).pk
        except DomainError as refusal:
            return refusal.status
        finally:
            connection.close()

    with ThreadPoolExecutor(16) as pool:
        # Everybody twice: nobody joins or counts twice.
        found = list(pool.map(join, people * 2))
    assert len([one for one in found if one not in (404, 409)]) == 7
    assert tea.memberships.filter(user__in=people).count() == 7
    assert JoinCode.objects.get().used == 7


def test_guessing_ends_soon_whatever_address_a_header_names(settings, db):
    settings.ACCOUNT_RATE_LIMITS = {"join_code": "5/m/ip"}
    answers = [Client().post(JOIN, {"code": "WRNG"}, headers={"X-Forwarded-For": f"10.0.0.{n}"})
               for n in range(9)]  # fmt: skip
    assert [answer.status_code for answer in answers] == [400] * 5 + [429] * 4


def test_an_administrator_makes_shows_once_and_revokes_a_code(login, tea, dora):
    client = login(dora)
    page = client.post(reverse("code-make", args=["tea"]), {"uses": 30, "days": 2})
    code = JoinCode.objects.get()
    signs = page.context["signs"]
    assert (code.uses, code.created_by, members.valid_code(signs)) == (30, dora, code)
    assert signs in page.text
    assert signs not in client.get(reverse("people", args=["tea"])).text
    client.post(reverse("code-revoke", args=["tea", code.pk]))
    with pytest.raises(NotFound):
        members.valid_code(signs)


@pytest.mark.parametrize("wrong", [{"uses": 0}, {"uses": "x"}, {"days": 0}, {"days": 9999}])
def test_a_code_that_cannot_be_is_refused_and_the_page_stays(login, tea, dora, wrong):
    data = {"uses": 3, "days": 3, **wrong}
    response = login(dora).post(reverse("code-make", args=["tea"]), data)
    assert (response.status_code, JoinCode.objects.count()) == (400, 0)


@pytest.fixture
def mail_server(settings):
    settings.EMAIL_URL = "smtp://mail.example"


def invited(client, dora, login):
    login(dora)
    response = client.post(PEOPLE, {"role": "annotator", "email": "Noor@example.org"})
    client.logout()
    return response


def sign_up(client, key):
    client.get(reverse("invitation", args=[key]))
    client.post("/accounts/signup/", NEW)


def test_with_a_mail_server_the_link_is_mailed_and_shown_to_nobody(
    client, login, tea, dora, mail_server
):
    response = invited(client, dora, login)
    assert response.status_code == 302
    (message,) = mail.outbox
    assert message.to == ["noor@example.org"]
    key = re.search(r"/invitations/([^/]+)/", message.body)[1]
    invitation = Invitation.objects.get()
    assert invitation.digest == Invitation.digest_of(key)
    assert invitation.mailed_at is not None
    login(dora)
    assert key not in client.get(PEOPLE).text
    client.logout()
    # Whoever has the mailed link reads that address's mail: no second proof is asked for.
    sign_up(client, key)
    assert client.post(reverse("invitation", args=[key])).status_code == 302
    assert Membership.objects.filter(user__email=NEW["email"]).count() == 1


def test_with_a_mail_server_a_link_that_was_not_mailed_asks_for_a_confirmed_address(
    client, tea, mail_server
):
    _, key = Invitation.issue(tea, "annotator", email=NEW["email"])
    sign_up(client, key)
    refused = client.post(reverse("invitation", args=[key]))
    assert refused.status_code == 403
    assert "Confirm your e-mail address" in refused.text
    assert not Membership.objects.filter(user__email=NEW["email"]).exists()
    EmailAddress.objects.filter(email=NEW["email"]).update(verified=True)
    assert client.post(reverse("invitation", args=[key])).status_code == 302


def test_without_a_mail_server_the_administrator_hands_the_link_over(
    client, login, tea, dora, settings
):
    settings.EMAIL_URL = ""
    response = invited(client, dora, login)
    key = response.context["link"].rstrip("/").rpartition("/")[2]
    sign_up(client, key)
    assert client.post(reverse("invitation", args=[key])).status_code == 302
    assert Membership.objects.filter(user__email=NEW["email"]).count() == 1


def test_a_mailed_link_does_not_let_another_account_in(client, login, cast, tea, dora, mail_server):
    invited(client, dora, login)
    key = re.search(r"/invitations/([^/]+)/", mail.outbox[0].body)[1]
    other = cast.person("Zoe")
    login(other)
    assert client.post(reverse("invitation", args=[key])).status_code == 403
    assert not other.memberships.exists()


def test_an_invitation_for_anybody_is_still_shown_and_not_mailed(login, tea, dora, mail_server):
    response = login(dora).post(PEOPLE, {"role": "annotator", "email": ""})
    assert "/invitations/" in response.text
    assert mail.outbox == []


def test_a_mail_server_that_is_away_leaves_no_invitation_behind(
    client, login, tea, dora, mail_server, settings
):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    response = invited(client, dora, login)
    assert response.status_code == 400
    assert "The mail could not be sent" in response.text
    assert not Invitation.objects.exists()


def test_an_invitation_names_the_languages_and_the_login_page_leads_to_the_join_codes(client, tea):
    tea.languages = ["zh", "ko"]
    tea.save()
    _invitation, key = Invitation.issue(tea, "annotator")
    page = client.get(reverse("invitation", args=[key])).text
    assert "<dd>中文, 한국어</dd>" in page
    assert f'href="{reverse("join")}"' in client.get(reverse("account_login")).text


def test_a_member_is_added_once(cast, tea, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("a fine long secret\n"))
    arguments = ("add_member", "tea", "Dora@Example.org", "--role", "annotator", "--json")
    printed = json.loads(run(*arguments, "--password-stdin", "--consented"))
    assert printed == {"user": "dora@example.org", "study": "tea", "role": "annotator"}
    dora = User.objects.get(email="dora@example.org")
    assert dora.check_password("a fine long secret")
    assert consent.stands(dora, tea.consent_text)
    password = dora.password
    assert json.loads(run(*arguments)) == printed
    monkeypatch.setattr("sys.stdin", io.StringIO("a fine long secret\n"))
    run(*arguments, "--password-stdin", "--consented")
    dora.refresh_from_db()
    assert dora.password == password
    assert dora.memberships.get().role == "annotator"
    run("add_member", "tea", "dora@example.org", "--role", "curator")
    assert dora.memberships.get().role == "curator"


def test_a_weak_password_makes_no_account(tea, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("secret\n"))
    with pytest.raises(CommandError, match="too short"):
        run("add_member", "tea", "dora@example.org", "--role", "annotator", "--password-stdin")
    assert not User.objects.filter(email="dora@example.org").exists()


def test_without_a_password_nobody_can_log_in_yet(tea):
    run("add_member", "tea", "dora@example.org", "--role", "annotator")
    dora = User.objects.get(email="dora@example.org")
    assert not dora.has_usable_password()
    assert not consent.stands(dora, tea.consent_text)


def test_a_role_that_is_changed_as_the_membership_ends_takes_nobody_back_in(cast, tea):
    ada = cast.member("Ada", tea, "administrator")
    ended, changed = (tea.memberships.get(user=cast.person("Bo")) for _request in range(2))
    members.change_role(ended, "", ada)
    members.change_role(changed, "curator", ada)
    assert tea.memberships.get(pk=ended.pk).left_at


def test_of_two_administrators_the_last_stays_whatever_an_older_page_said(cast, tea):
    ada = cast.member("Ada", tea, "administrator")
    bo = tea.memberships.get(user=cast.person("Bo"))
    members.change_role(tea.memberships.get(pk=bo.pk), "administrator", ada)
    members.change_role(tea.memberships.get(user=ada), "", ada)
    with pytest.raises(DomainError, match="at least one administrator"):
        members.change_role(bo, "curator", ada)
