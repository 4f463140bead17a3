"""Accounts: closed with their sessions and tokens, found, given a new password."""

from django.test import Client

from annotation.accounts.models import ApiToken, User
from annotation.operations import people

ACCOUNTS = "/operations/accounts/"


def test_closing_an_account_ends_its_sessions_and_tokens(cast, tea, ada):
    bo, client = cast.person("Bo"), Client()
    client.force_login(bo)
    key = ApiToken.issue(bo)[1]
    question = ada.post(f"{ACCOUNTS}{bo.pk}/", {"act": "close"})
    assert "Close the account of Bo?" in question.content.decode()
    bo.refresh_from_db()
    assert bo.is_active is True, "nothing is closed before the answer"
    ada.post(f"{ACCOUNTS}{bo.pk}/", {"act": "close", "sure": "1"})
    bo.refresh_from_db()
    assert bo.is_active is False
    assert client.get("/tokens/").status_code == 302
    ada.post(f"{ACCOUNTS}{bo.pk}/", {"act": "open"})
    assert client.get("/tokens/").status_code == 302, "the old session stays dead"
    headers = {"Authorization": f"Bearer {key}"}
    assert client.get("/api/v1/", headers=headers).status_code == 401


def test_a_password_link_is_shown_once_and_works_once(cast, ada, client):
    bo = cast.person("Bo")
    page = ada.post(f"{ACCOUNTS}{bo.pk}/", {"act": "reset"})
    link = page.context["link"]
    assert link in page.content.decode()
    form = client.get(link.removeprefix("http://127.0.0.1:8000"), follow=True)
    assert form.status_code == 200
    assert link not in ada.get(ACCOUNTS).content.decode()


def test_nobody_closes_the_account_they_use(cast, ada):
    me = cast.person("Ada")
    answer = ada.post(f"{ACCOUNTS}{me.pk}/", {"act": "close", "sure": "1"}, follow=True)
    assert "You cannot close the account you are using." in answer.content.decode()
    me.refresh_from_db()
    assert me.is_active


def test_accounts_are_searched_with_as_many_queries_for_many_as_for_one(
    cast, ada, django_assert_max_num_queries
):
    for name in ("Bo", "Boris", "Bob"):
        cast.person(name)
    assert b"boris@example.org" in ada.get(ACCOUNTS, {"q": "boris"}).content
    assert b"boris@example.org" not in ada.get(ACCOUNTS, {"q": "ada"}).content
    with django_assert_max_num_queries(4):
        ada.get(ACCOUNTS)


def test_accounts_that_votes_were_imported_for_come_last_and_the_newest_first(cast, tea, ada):
    imported = User.objects.create(worker="crowd:W1", is_active=False)
    doe = User.objects.create(email="doe@example.org")
    shown = list(people.search(""))
    assert (shown[0], shown[-1]) == (doe, imported)
