import io
import json
import re
import subprocess
import sys

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from annotation.accounts import consent
from annotation.accounts.models import ApiToken, User
from annotation.candidates.models import Candidate
from annotation.judging.models import Slot
from annotation.settings import env
from annotation.studies.models import Membership, Study

pytestmark = pytest.mark.django_db


def run(*arguments):
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def test_open_batch_prints_items_and_slots_and_opens_nothing_twice(cast, tea, capsys):
    cast.task(tea, "best", overlap=4)
    cast.candidates(cast.query(tea))
    assert json.loads(run("open_batch", "tea", "--task", "best", "--json")) == {
        "items": 1,
        "slots": 4,
    }
    again = json.loads(run("open_batch", "tea", "--task", "best", "--overlap", "2", "--json"))
    assert again == {"items": 0, "slots": 0}
    cast.candidates(cast.query(tea, "q2"))
    third = json.loads(run("open_batch", "tea", "--task", "best", "--overlap", "2", "--json"))
    assert third == {"items": 1, "slots": 2}
    assert Slot.objects.count() == 6
    assert "Nothing is new" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("open_batch", "rain", "--task", "best"), "There is no study “rain”"),
        (("open_batch", "tea", "--task", "worst"), "no task “worst”. Its tasks: best."),
        (("add_member", "rain", "ann@example.org", "--role", "curator"), "There is no study"),
        (("add_member", "tea", "ann at home", "--role", "curator"), "no e-mail address"),
        (("make_token", "nobody@example.org"), "There is no account nobody@example.org."),
    ],
)
def test_what_does_not_exist_is_named(cast, tea, arguments, words):
    cast.task(tea)
    with pytest.raises(CommandError, match=re.escape(words)) as refusal:
        call_command(*arguments)
    assert refusal.value.returncode == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("open_batch", "tea", "--task", "best", "--overlap", "0"),
        ("open_batch", "tea", "--task", "best", "--overlap", "many"),
        ("add_member", "tea", "ann@example.org", "--role", "king"),
        ("make_token", "ann@example.org", "--days", "-1"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments):
    with pytest.raises(CommandError):
        call_command(*arguments)


def test_exit_codes_and_sentences_of_the_real_command(tmp_path):
    def manage(*arguments):
        command = [sys.executable, "manage.py", "import_study", *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=settings.BASE_DIR)

    wrong = manage(str(tmp_path))
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert "study.json: there is no such file" in wrong.stderr
    assert "Traceback" not in wrong.stderr
    assert manage().returncode == 2


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
    assert Membership.objects.filter(user=dora).values_list("role", flat=True).get() == "annotator"
    run("add_member", "tea", "dora@example.org", "--role", "curator")
    assert Membership.objects.filter(user=dora).values_list("role", flat=True).get() == "curator"


def test_a_weak_password_makes_no_account(tea, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("secret\n"))
    with pytest.raises(CommandError, match="too short"):
        call_command(
            "add_member", "tea", "dora@example.org", "--role", "annotator", "--password-stdin"
        )
    assert not User.objects.filter(email="dora@example.org").exists()


def test_without_a_password_nobody_can_log_in_yet(tea):
    run("add_member", "tea", "dora@example.org", "--role", "annotator")
    dora = User.objects.get(email="dora@example.org")
    assert not dora.has_usable_password()
    assert not consent.stands(dora, tea.consent_text)


def test_a_token_is_printed_alone_and_stored_as_a_digest(cast):
    ann = cast.person("Ann")
    printed = run("make_token", "ANN@example.org", "--days", "7")
    token = ApiToken.objects.get()
    assert printed == printed.strip() + "\n"
    assert token.digest == ApiToken.digest_of(printed.strip())
    assert (token.user, round((token.expires_at - token.created_at).total_seconds() / 86400)) == (
        ann,
        7,
    )


@pytest.fixture
def admin_settings(monkeypatch):
    """A function that sets ATTUNE_ADMIN_* for one run of ensure_admin."""
    monkeypatch.setattr(env.ENVIRON, "files_cache", {})
    for name in ("EMAIL", "PASSWORD"):
        monkeypatch.delenv(f"ATTUNE_ADMIN_{name}", raising=False)
        monkeypatch.delenv(f"ATTUNE_ADMIN_{name}_FILE", raising=False)

    def run_with(**given):
        for name, value in given.items():
            monkeypatch.setenv(f"ATTUNE_ADMIN_{name}", str(value))
        return run("ensure_admin")

    return run_with


def test_the_first_administrator_sets_a_password_through_a_link_that_works_once(
    admin_settings, client
):
    printed = admin_settings()
    admin = User.objects.get()
    assert (admin.email, admin.is_superuser, admin.has_usable_password()) == (
        "admin@example.org",
        True,
        False,
    )
    link = re.search(r"http\S+", printed).group()
    assert link.startswith(f"{settings.BASE_URL}/accounts/password/reset/key/")
    assert printed.count("\n") == 1
    path = link.removeprefix(settings.BASE_URL)
    form = client.get(path)
    secret = "the first long secret"
    done = client.post(form.url, {"password1": secret, "password2": secret})
    assert done.status_code == 302
    admin.refresh_from_db()
    assert admin.check_password(secret)
    client.logout()
    answer = client.get(path, follow=True)
    assert answer.context["token_fail"] is True
    assert admin_settings() == ""


def test_the_link_is_printed_again_until_a_password_is_set(admin_settings):
    assert "http" in admin_settings()
    assert "admin@example.org" in admin_settings()
    assert User.objects.count() == 1
    printed = admin_settings(EMAIL="Ada@Example.org")
    assert "ada@example.org" in printed


def test_the_environment_makes_the_first_administrator_once(admin_settings, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("a secret of the operator\n")
    assert admin_settings(EMAIL="ada@example.org", PASSWORD_FILE=secret) == ""
    ada = User.objects.get()
    assert ada.is_superuser
    assert ada.check_password("a secret of the operator")
    ada.set_password("changed meanwhile, by Ada")
    ada.save()
    assert admin_settings() == ""
    ada.refresh_from_db()
    assert ada.check_password("changed meanwhile, by Ada")


def test_somebody_who_was_made_an_annotator_does_not_come_back(admin_settings, cast):
    cast.person("Rae", is_superuser=True)
    ada = cast.person("Ada")
    admin_settings(EMAIL="ada@example.org", PASSWORD="a secret of the operator")
    ada.refresh_from_db()
    assert not ada.is_superuser
    assert ada.check_password(cast.password)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"PASSWORD": "a secret of the operator"}, "ATTUNE_ADMIN_EMAIL is not"),
        ({"EMAIL": "ada@example.org", "PASSWORD": "secret"}, "ATTUNE_ADMIN_PASSWORD is refused"),
        ({"EMAIL": "ada at home"}, "no e-mail address"),
        ({"PASSWORD_FILE": "/gone"}, "ATTUNE_ADMIN_PASSWORD_FILE cannot be read"),
    ],
)
def test_wrong_settings_make_no_administrator(admin_settings, given, words):
    with pytest.raises(CommandError, match=words):
        admin_settings(**given)
    assert not User.objects.exists()


def test_the_demo_is_loaded_once_and_open_for_judging(django_assert_max_num_queries):
    assert run("load_demo") == (
        "demo: 6 personas, 12 queries, 36 candidates, 12 items, 108 slots\n"
        "demo-votes: 0 personas, 2 queries, 70 candidates, 150 items, 750 slots\n"
        "demo-own: 0 personas, 0 queries, 0 candidates, 0 items, 0 slots\n"
    )
    assert set(Study.objects.values_list("status", flat=True)) == {"open"}
    demo = Study.objects.get(slug="demo")
    demo.title = "Our own title"
    demo.save()
    with django_assert_max_num_queries(1):
        assert run("load_demo") == ""
    demo.refresh_from_db()
    assert demo.title == "Our own title"


def test_the_demos_answers_say_who_wrote_them_and_its_votes_are_all_there():
    run("load_demo")
    answers = Candidate.objects.filter(study__slug="demo")
    assert set(answers.values_list("model", flat=True)) == {"written for the demo"}
    assert set(answers.values_list("strategy", flat=True)) == {"generic", "profile", "memories"}
    votes = Slot.objects.filter(study__slug="demo-votes", status="done")
    assert (votes.count(), votes.values("annotator").distinct().count()) == (750, 201)
    for study in Study.objects.exclude(slug="demo-votes"):
        assert set(study.consent_text.translations) == {"zh", "ko"}
        assert all(set(task.translations) == {"zh", "ko"} for task in study.tasks.all())
    own = Study.objects.get(slug="demo-own")
    assert own.retrieval.sources == ["history"]


def test_the_demos_history_is_read_as_one(cast):
    file = settings.BASE_DIR / "demo" / "own" / "history.json"
    study = cast.study("rain")
    cast.member("Ann", study, "annotator")
    out = json.loads(run("import_history", "ann@example.org", str(file), "--dry-run", "--json"))
    assert (out["sessions"], out["messages"], out["skipped"]) == (4, 16, [])
