"""Accounts as an operator sees them, and what is held of a person."""

import io
import json
import zipfile
from datetime import timedelta

from django.apps import apps
from django.test import Client
from django.utils import timezone

from annotation.accounts.models import ApiToken, User
from annotation.histories import erase
from annotation.judging.models import Draft
from annotation.operations import people
from annotation.studies.models import Invitation
from tests.webhooks.conftest import judge

ACCOUNTS = "/operations/accounts/"
# Who asked for a thing, who decides on whose behalf, or what is told by a table that is held.
NOT_OF_THEM = {
    *("created_by", "accepted_by", "decided_by", "recipient", "made_for"),
    *("reserved_for", "withheld_from"),
}
TOLD_BY_OTHERS = {"api.IdempotentCall", "histories.Passage", "judging.Slot", "studies.MessageRead"}
ASKED_FOR = {
    *("candidates.DocumentFile", "datasets.ReleaseImport", "evaluation.Draw"),
    *("imports.DataImport",),
}


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


def test_an_erased_account_leaves_no_name_also_after_a_restore_and_keeps_its_judgments(
    cast, tea, ada, settings, tmp_path
):
    settings.DATA = tmp_path
    cast.open(tea, items=1, overlap=1)
    bo = cast.member("Bo", tea, "annotator")
    judge(tea, bo)
    ApiToken.issue(bo)
    Invitation.issue(tea, "annotator", email=bo.email)
    act = {"act": "erase", "sure": "1"}
    assert "Erase the account of Bo?" in ada.post(f"{ACCOUNTS}{bo.pk}/", {"act": "erase"}).text
    before = User.objects.get(pk=bo.pk)
    ada.post(f"{ACCOUNTS}{bo.pk}/", act)
    gone = User.objects.get(pk=bo.pk)
    assert (str(gone), gone.email, gone.is_active) == (f"user {bo.pk}", None, False)
    assert not gone.has_usable_password()
    assert not (gone.tokens.exists() or Invitation.objects.exists())
    assert gone.judgments.count() == 1
    before.save()  # as an older backup has it
    assert erase.replay() == 2
    assert User.objects.get(pk=bo.pk).email is None
    before.created_at = timezone.now() + timedelta(hours=1)
    before.save()  # somebody else of that number
    erase.replay()
    assert User.objects.get(pk=bo.pk).email == "bo@example.org"
    me = cast.person("Ada")
    ada.post(f"{ACCOUNTS}{me.pk}/", act)
    assert User.objects.get(pk=me.pk).email == "ada@example.org"


def test_a_password_link_is_shown_once_and_works_once(ada, client, bo):
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


def test_every_table_that_names_a_person_is_held_or_left_out_by_name():
    tables = {label for kind in people.HELD for label in kind.tables}
    for model in apps.get_models():
        names = {f.name for f in model._meta.concrete_fields if f.related_model is User}
        label = model._meta.label
        if names - NOT_OF_THEM and not (names == {"by"} and label in ASKED_FOR):
            assert label in tables | TOLD_BY_OTHERS, label
    for label, names in people.LEFT_OUT.items():
        assert names <= {field.name for field in apps.get_model(label)._meta.concrete_fields}


def test_the_page_counts_and_the_zip_holds_what_is_of_the_person_alone(cast, tea, login, ann, bo):
    cast.open(tea, items=2, overlap=2)
    judge(tea, ann)
    judge(tea, bo)
    invitation, _key = Invitation.issue(tea, "annotator", email=ann.email, by=bo)
    Invitation.objects.filter(pk=invitation.pk).update(accepted_by=ann)
    client = login(ann)
    counts = {str(kind.name): count for kind, count in people.counts(ann)}
    assert (counts["Judgments and comments"], counts["Drafts"]) == (2, 0)
    page = client.get("/held/").content.decode()
    assert "Until you submit, and 365 days after the last change at most." in page
    assert "90 days after they end." in page
    assert "logs name you by a number, without your words or address" in page
    asked = client.post("/held/export/")
    assert asked.url.startswith("/accounts/reauthenticate/")
    answer = client.post(asked.url, {"password": cast.password, "next": "/held/export/"})
    file = io.BytesIO(b"".join(answer.streaming_content))
    with zipfile.ZipFile(file) as packed:
        rows = {
            name.removesuffix(".jsonl"): [json.loads(line) for line in packed.open(name)]
            for name in packed.namelist()
        }
        text = "".join(packed.read(name).decode() for name in packed.namelist())
    (judgment,) = rows["judging.Judgment"]
    assert judgment["annotator"] == ann.pk
    assert rows["judging.Answer"][0]["judgment"] == judgment["id"]
    assert rows["accounts.User"][0]["email"] == "ann@example.org"
    assert "digest" not in rows["studies.Invitation"][0]
    assert "bo@example.org" not in text
    assert "password" not in rows["accounts.User"][0]


def test_what_stayed_as_long_as_its_rule_allows_is_deleted(cast, tea, settings):
    cast.open(tea, items=2, overlap=1)
    old, new = (
        Draft.objects.create(slot=slot, annotator=cast.person("Ann")) for slot in tea.slots.all()
    )
    days = settings.KEEP_DAYS["drafts"]
    Draft.objects.filter(pk=old.pk).update(saved_at=timezone.now() - timedelta(days, 1))
    Draft.objects.filter(pk=new.pk).update(saved_at=timezone.now() - timedelta(days, -60))
    assert people.sweep() == 1
    assert Draft.objects.get() == new
