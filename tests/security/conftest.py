"""Two whole studies with one person for each way of standing to the first."""

import contextlib
import json
import re
from collections.abc import Iterator
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.conf import settings as site
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection, transaction
from django.test import Client, override_settings
from django.utils import timezone

from tests.conftest import Cast

LOCK = re.compile(r"\bFOR (NO KEY )?UPDATE\b")
WRITE = re.compile(r'\b(INSERT INTO|UPDATE|DELETE FROM|MERGE|TRUNCATE)\b(?! "django_session")')
HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
BACKEND = "allauth.account.auth_backends.AuthenticationBackend"

# Everybody's standing to the study "tea".
PEOPLE = {
    "gone": "Gus",  # a curator whose account was closed
    "outsider": "Curt",  # curates "rain"
    "left": "Lea",  # was tea's curator
    "fresh": "Finn",  # an annotator, come by a crowd's link, who has not consented
    "ann": "Ann",
    "researcher": "Rui",
    "curator": "Carol",
    "administrator": "Adam",
    "site": "Ada",
}


@pytest.fixture(autouse=True)
def _quick(settings):
    """Passwords need no protection here, and nobody calls the model server that is named."""
    settings.PASSWORD_HASHERS = HASHERS
    # Nobody listens there.
    settings.ENDPOINTS = [{"name": "none", "base_url": "http://127.0.0.1:9/v1", "model": "m"}]


class World:
    """Both studies, the people, and a browser or a token for each of them."""

    def __init__(self, cast):
        from annotation.accounts.models import ApiToken

        self.cast = cast
        self.users = {role: cast.person(name) for role, name in PEOPLE.items()}
        type(self.users["site"]).objects.filter(pk=self.users["site"].pk).update(is_superuser=True)
        self.tea, self.rain = cast.study("tea"), cast.study("rain")
        self._join()
        self.sessions = {role: self._session(user) for role, user in self.users.items()}
        self.tokens = {role: ApiToken.issue(user) for role, user in self.users.items()}
        # A use is noted now and then: never while these tests look for what a request changed.
        ApiToken.objects.update(last_used_at=timezone.now() + timedelta(days=1))
        type(self.users["gone"]).objects.filter(name=PEOPLE["gone"]).update(is_active=False)
        self.mine = self._things(self.tea, "Ann")
        self.other = self._things(self.rain, "Bo")
        self._come_by_crowd("fresh")
        self.bo_slot = self._claim(self.tea, "Bo")
        self.judged = self._judged(self.tea, "Ann")
        self.trained = self._trained(self.tea, "Ann")
        self._answer_a_comment(self.judged.pk)
        self.fingerprint = Fingerprint()

    def _join(self):
        roles = {
            **dict.fromkeys(["gone", "left", "curator"], "curator"),
            **{role: role for role in ("researcher", "administrator")},
            **dict.fromkeys(["fresh", "ann"], "annotator"),
        }
        for role, as_ in roles.items():
            self.cast.member(PEOPLE[role], self.tea, as_, consented=role != "fresh")
        self.cast.member("Curt", self.rain, "curator")
        self.cast.member("Bo", self.tea, "annotator")
        self.cast.member("Bo", self.rain, "annotator")
        self.tea.memberships.filter(user=self.users["left"]).update(left_at=timezone.now())

    def _come_by_crowd(self, role):
        user = self.users[role]
        type(user).objects.filter(pk=user.pk).update(worker="tea:crowd-1")
        self.mine.source.entries.create(
            study=self.tea, user=user, participant="p1", submission_study="s1", session="0" * 64
        )

    def _things(self, study, judge) -> SimpleNamespace:
        from annotation.studies.models import Invitation, JoinCode

        batch = self.cast.open(study, items=2, name="best" if study == self.tea else "other")
        persona = study.personas.get()
        invitation, key = Invitation.issue(study, "annotator")
        webhook = study.webhooks.create(url=f"https://{study.slug}.example/hook", events=[])
        release = self._release(study)
        code, signs = JoinCode.issue(study, uses=30, days=7)
        return SimpleNamespace(
            study=study,
            batch=batch,
            persona=persona,
            memory=persona.memories.create(text=f"A memory of {study}"),
            attribute=persona.attributes.create(external_id="held", text=f"Likes {study}."),
            query=study.queries.first(),
            candidate=study.candidates.first(),
            slot=self._claim(study, judge),
            member=study.memberships.filter(role="annotator").latest("pk"),
            invitation=invitation,
            webhook=webhook,
            delivery=webhook.deliveries.create(event="e", subject="s", body={}, status="failed"),
            key=key,
            code=code,
            signs=signs,
            source=study.sources.create(name=f"Crowd of {study}", completion_code="C1"),
            message=study.messages.create(
                sender=self.users["site"], audience="annotators", body=f"Hello, {study}."
            ),
            release=release,
            data_import=self._import(study),
            run=study.runs.create(step="persona", endpoint="none"),
            evaluated=self._stopped(release),
            rated=study.rater_runs.create(task="t", kind="rater", status="failed", background=True),
            owner_queries=self._own_query(study, judge),
            history=self._history(judge),
        )

    def _import(self, study):
        """A file that has come whole and waits for its mapping."""
        from annotation.imports import run

        file = SimpleUploadedFile("mine.csv", b"prompt\nWhy?\n")
        return run.whole(study, self.users["curator"], file)

    def _history(self, name) -> SimpleNamespace:
        """A history of this person's own: a file, a session with a mark, a word to hide."""
        from annotation.histories import ingest
        from annotation.histories.models import Alias, Message, NamesWord, Session, Upload

        owner = self.cast.person(name)
        ingest.agree(owner)
        upload = Upload.objects.create(owner=owner, size=9, status="done", sha256=name * 3)
        session = Session.objects.create(
            owner=owner, upload=upload, kind="chat", provider="chatgpt", external_id="c", length=1,
            title=f"Trip of {name}", marked_at=timezone.now(),
        )  # fmt: skip
        message = Message.objects.create(session=session, position=0, role="user", text=owner.email)
        alias = Alias.objects.create(owner=owner, kind="email", number=1, digest="0" * 64)
        mark = session.marks.create(message=message, start=0, end=3, rule="email", alias=alias)
        word = NamesWord.objects.create(owner=owner, word=f"{name}a")
        return SimpleNamespace(upload=upload, session=session, mark=mark, word=word, owner=owner)

    def _own_query(self, study, name):
        """A query of this person's own, in a study with a task for owners alone."""
        from annotation.judging.kinds import kind_of
        from annotation.queries import owner_queries

        config = kind_of("feedback").check_config({"owner_only": True})
        study.tasks.create(name="own", kind="feedback", overlap=1, config=config)
        query = owner_queries.begin(study, self.cast.person(name))
        return owner_queries.write_query(
            query, query.owner, text=f"What of {study}?", guide={"want": "All."}
        )

    def _claim(self, study, name):
        from annotation.judging.models import Slot
        from annotation.judging.work import queue

        return Slot.objects.get(pk=queue.claim(study, self.cast.person(name)))

    def _judged(self, study, name, task="judged"):
        """A slot that this person has judged, of a task of its own."""
        from annotation.judging.models import Judgment, Slot

        batch = self.cast.open(study, items=1, name=task)
        slot = Slot.objects.filter(item__batch=batch).first()
        slot.status, slot.annotator = "done", self.cast.person(name)
        slot.save()
        batch.items.update(done=1, counts={"1": 1})
        judgment = Judgment.objects.create(
            slot=slot,
            annotator=slot.annotator,
            key=task,
            shown=[1, 2, 3],
            submitted_at=timezone.now(),
        )
        judgment.answers.create(question="choice", label="1")
        return slot

    def _trained(self, study, name):
        """A slot that this person has judged, of a training item; and a ruling on the other."""
        slot = self._judged(study, name, task="trained")
        batches = study.batches.filter(pk=slot.item.batch_id)
        batches.update(purpose="training")
        slot.item.slots.exclude(pk=slot.pk).delete()
        study.items.filter(batch=slot.item.batch_id).exclude(pk=slot.item_id).delete()
        study.items.filter(pk=slot.item_id).update(done=0, counts={}, expected="1")
        self.judged.item.adjudications.create(
            label="1", reason="It is right.", by=self.users["curator"]
        )
        return slot

    def _answer_a_comment(self, slot):
        """A curator's words to Ann, which she has not read."""
        from annotation.judging.work import comments

        comments.write_comment(self.tea, slot, self.users["ann"], "It is cut off.")
        comments.answer(self.tea, slot, self.users["curator"], "It was.")

    def _release(self, study):
        from annotation.datasets import folders
        from annotation.datasets.models import Release

        release = Release.objects.create(
            study=study,
            # Not the same number in both: a foreign one must be unknown, not somebody's own.
            version=1 if study == self.tea else 2,
            layout="personafeedback",
            format="jsonl",
            salt="0" * 64,
            as_of=timezone.now(),
            frozen={"about": {"slug": study.slug}},
            status="done",
        )
        path = folders.zip_of(release)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"PK")
        pair = {"user_id": "1", "question": "q", "chosen": "a", "reject": "b"}
        for name, row in (("data/specific/easy", pair), ("persona/all_personas", {"Name": "P"})):
            file = folders.folder_of(release) / f"{name}.jsonl"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(row) + "\n")
        return release

    def _stopped(self, release):
        """A model's stopped run on the release, beside a finished one."""
        from annotation.evaluation.models import Benchmark, Run

        facts = {"cell": [0], "item": [0], "length": [0.0]}
        benchmark = Benchmark.objects.create(
            digest=f"{release.version}" * 64, name="b", layout="personafeedback", release=release,
            facts=facts,
        )  # fmt: skip
        cell = {"n": 1, "value": 100.0, "low": 20.0, "high": 100.0}
        tiers = dict.fromkeys(("easy", "medium", "hard", "average"), cell)
        result = {
            "model": "m", "setting": "none", "n": 1, "unparsed": 0, "position_consistency": 100.0,
            "accuracy": {"specific": tiers, "general": tiers}, "average": cell,
            "length_controlled": cell,
        }  # fmt: skip
        fields = {"benchmark": benchmark, "kind": "choice", "model": "m", "setting": "none"}
        outcomes = {"place": [0], "score": [1.0]}
        Run.objects.create(
            **fields, status="done", result=result, outcomes=outcomes, finished_at=timezone.now()
        )
        return Run.objects.create(**fields, status="failed", background=True, endpoint="nobody")

    def _session(self, user) -> str:
        client = Client()
        client.force_login(user, BACKEND)
        return client.cookies[site.SESSION_COOKIE_NAME].value

    def browser(self, role: str, **options) -> Client:
        """A new browser with the role's session; "anonymous" has none."""
        client = Client(raise_request_exception=False, **options)
        if role != "anonymous":
            client.cookies[site.SESSION_COOKIE_NAME] = self.sessions[role]
        return client

    def program(self, role: str, **options) -> Client:
        """A program that sends the role's API token."""
        client = Client(raise_request_exception=False, **options)
        if role != "anonymous":
            client.defaults["HTTP_AUTHORIZATION"] = f"Bearer {self.tokens[role][1]}"
        return client


@pytest.fixture(scope="module")
def built(django_db_setup, django_db_blocker, tmp_path_factory):
    """The world, made once for all tests of a file.

    Its files lie in a folder of its own: other tests publish releases of a study "tea", too.
    """
    folder = override_settings(DATA=tmp_path_factory.mktemp("world"))
    with folder, django_db_blocker.unblock(), transaction.atomic():
        with override_settings(PASSWORD_HASHERS=HASHERS):
            world = World(Cast())
        # Deferred checks of the rows made here would be due again at the end of every test.
        connection.check_constraints()
        yield world
        transaction.set_rollback(True)


@pytest.fixture
def world(built, db):
    """The world as it was made: tests change its rows, which is undone, and not its objects."""
    return built


@contextlib.contextmanager
def writes() -> Iterator[list[str]]:
    """The block's statements that may have written a row, sessions apart: most requests have none.

    A COPY is not among them: the project's own come with an INSERT.
    """
    statements = []

    def note(execute, sql, params, many, context):
        if WRITE.search(LOCK.sub("", str(sql))):
            statements.append(str(sql))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield statements


class Fingerprint:
    """The rows of every table of the project's own, sessions and cookies apart, as digests.

    PostgreSQL counts what a transaction writes into a table, also by triggers and where it is
    undone later. Only tables that were written to since they were as here are read again.
    """

    def __init__(self):
        names = set(connection.introspection.django_table_names())
        self._digests = digests(names - {"django_session", "django_migrations"})
        self._written = written_rows()

    def changed(self) -> set[str]:
        """The names of the tables whose rows are others now."""
        written = written_rows()
        touched = {
            name for name in self._digests if written.get(name, 0) != self._written.get(name, 0)
        }
        now = digests(touched)
        changed = {name for name in touched if now[name] != self._digests[name]}
        self._written |= {name: written.get(name, 0) for name in touched - changed}
        return changed


def written_rows() -> dict[str, int]:
    """How many rows the transaction has written into each table."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_xact_user_tables"
            " WHERE schemaname = current_schema()"
        )
        return dict(cursor.fetchall())


def digests(names: set[str]) -> dict[str, str | None]:
    """{table: digest of its rows in any order}."""
    each = " UNION ALL ".join(
        f"SELECT '{name}', md5(string_agg(t::text, '|' ORDER BY t::text)) FROM \"{name}\" t"  # noqa: S608
        for name in names
    )
    with connection.cursor() as cursor:
        cursor.execute(each or "SELECT '', '' WHERE false")
        return dict(cursor.fetchall())
