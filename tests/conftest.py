"""A named cast.

Ada administers the site. Carol curates and Rui researches the study "tea"; Ann, Bo and Chen
annotate it. Curt curates another study, "rain", in which Ann has no part. Nobody else is a member
of either.
"""

from uuid import uuid4

import pytest
from django.contrib.auth.hashers import make_password
from django.utils import timezone, translation
from hypothesis import settings as examples

# How long an example takes says something of the machine's other work only. A run's examples are
# those of the run before; `make proofs` draws others (--hypothesis-profile=drawn).
examples.register_profile("drawn", deadline=None)
examples.register_profile("suite", deadline=None, derandomize=True)
examples.load_profile("suite")

HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# Of a table with more rows, deleting them takes longer than a TRUNCATE of all tables.
MANY = 1000


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Begin with what takes long, and with files of the browser: no worker ends alone."""
    long = ("long", "browser")
    items.sort(key=lambda item: [item.get_closest_marker(name) is None for name in long])


@pytest.fixture(scope="session")
def django_db_use_migrations(django_db_use_migrations):
    """Migrations of an empty database render each new model once.

    Django renders all that it is related to anew each time, for models that are changed: three
    quarters of the time that a worker's database took.
    """
    from django.db.migrations.state import ProjectState

    whole = ProjectState.add_model

    def add_model(state, model):
        apps = state.__dict__.pop("apps", None)
        whole(state, model)
        if apps:
            state.apps = apps
            apps.render_multiple([model])

    ProjectState.add_model = add_model
    return django_db_use_migrations


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker):
    """Tests with transactions of their own are cleaned up by TRUNCATE, which the audit refuses."""
    from django.db import connection
    from django.test import TransactionTestCase

    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE core_auditevent DISABLE TRIGGER audit_is_never_emptied")
    # Django's own way empties a hundred tables and writes all permissions anew: a second a test.
    TransactionTestCase._fixture_teardown = lambda _: empty_written_tables()


def empty_written_tables():
    """Empty the tables that have rows, but for those that Django fills after migrations."""
    from django.db import connection, transaction

    filled = {"django_content_type", "auth_permission", "django_site"}
    names = set(connection.introspection.django_table_names()) - filled
    with transaction.atomic(), connection.cursor() as cursor:
        each = (f"SELECT '{name}' AS name, count(*) AS rows FROM \"{name}\"" for name in names)  # noqa: S608
        cursor.execute(f"SELECT * FROM ({' UNION ALL '.join(each)}) AS each WHERE rows > 0")  # noqa: S608
        rows = dict(cursor.fetchall())
        statements = [f"TRUNCATE {', '.join(sorted(names))}"]
        if all(count <= MANY for count in rows.values()):
            # The audit's rows may not be deleted. Keys of others are checked at the end.
            rows.pop("core_auditevent", None)
            statements = ["TRUNCATE core_auditevent", *(f'DELETE FROM "{name}"' for name in rows)]  # noqa: S608
        cursor.execute("; ".join(statements))


@pytest.fixture(autouse=True)
def _settings_of_the_suite(settings):
    settings.STORAGES = settings.STORAGES | {
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    }
    # Dozens of people log in: the real hash is meant to be slow.
    settings.PASSWORD_HASHERS = HASHERS
    # Counters of log-in attempts and the like are never those of another test.
    settings.CACHES = {"default": settings.CACHES["default"] | {"KEY_PREFIX": uuid4().hex}}


@pytest.fixture(autouse=True)
def _language_and_time_zone_of_the_suite():
    """A request leaves its language active in the thread: the next test begins in English, UTC."""
    translation.activate("en")
    timezone.deactivate()
    yield
    translation.activate("en")
    timezone.deactivate()


class Cast:
    """People, studies and things, made on demand by name."""

    password = "a long enough secret"

    def email(self, name: str) -> str:
        return f"{name.lower()}@example.org"

    def person(self, name: str, **fields):
        from annotation.accounts.models import User

        user = User.objects.filter(email=self.email(name)).first()
        return user or User.objects.create_user(
            self.email(name), self.password, name=name, **fields
        )

    def member(self, name: str, study, role: str, consented: bool = True):
        return self.members(study, {name: role}, consented)[0]

    def members(self, study, roles: dict[str, str], consented: bool = True) -> list:
        """Give each person the role, in few statements: most tests begin with five members."""
        from annotation.accounts.models import Consent, User
        from annotation.studies.models import Membership

        password = make_password(self.password)
        users = [User(email=self.email(name), name=name, password=password) for name in roles]
        User.objects.bulk_create(users, ignore_conflicts=True)
        by_email = {
            user.email: user for user in User.objects.filter(email__in=map(self.email, roles))
        }
        people = [by_email[self.email(name)] for name in roles]
        Membership.objects.bulk_create(
            [
                Membership(study=study, user=user, role=role)
                for user, role in zip(people, roles.values(), strict=True)
            ],
            update_conflicts=True, unique_fields=["study", "user"], update_fields=["role"],
        )  # fmt: skip
        if consented and study.consent_text:
            Consent.objects.bulk_create(
                [Consent(user=user, text=study.consent_text) for user in people],
                ignore_conflicts=True,
            )
        return people

    def study(self, slug: str = "tea", **fields):
        from annotation.accounts import consent
        from annotation.studies.models import Study

        text = consent.publish(slug, f"I take part in {slug}.")
        defaults = {"title": slug.title(), "consent_text": text, "languages": ["en"], **fields}
        return Study.objects.get_or_create(slug=slug, defaults=defaults)[0]

    def tea(self):
        """The study "tea" with its people; nothing is open yet."""
        study = self.study("tea")
        annotators = dict.fromkeys(("Ann", "Bo", "Chen"), "annotator")
        self.members(study, {"Carol": "curator", "Rui": "researcher", **annotators})
        return study

    def task(self, study, name: str = "best", *, options: int = 3, overlap: int = 9, **config):
        from annotation.judging.kinds import kind_of
        from annotation.studies.models import TaskDefinition

        full = kind_of("selection").check_config({"options": options, **config})
        return TaskDefinition.objects.create(
            study=study, name=name, kind="selection", overlap=overlap, config=full
        )

    def persona(self, study, external_id: str = "p1", **profile):
        from annotation.personas.models import Persona, PersonaVersion

        persona = Persona.objects.create(study=study, external_id=external_id)
        PersonaVersion.objects.create(persona=persona, profile={"Name": "Mina Park", **profile})
        return persona

    def query(self, study, external_id: str = "q1", persona=None, **fields):
        from annotation.queries.models import Query

        defaults = {"text": f"What should I read about {external_id}?", **fields}
        return Query.objects.create(
            study=study, external_id=external_id, persona=persona, **defaults
        )

    def candidates(self, query, count: int = 3):
        from annotation.candidates.models import Candidate

        strategies = ["A1", "A2", "A3"]
        return [
            Candidate.objects.create(
                study=query.study,
                query=query,
                external_id=f"{query.external_id}-{n}",
                text=f"Answer {n} to {query.external_id}: take **one** walk and {n} books.",
                strategy=strategies[n % 3],
                model="secret-model-7b",
            )
            for n in range(count)
        ]

    def open(self, study, *, items: int = 1, options: int = 3, overlap: int = 9, **config):
        """Open ``items`` items in ``study`` for judging; the batch."""
        from annotation.judging.batches.open import open_batch

        name = config.pop("name", "best" if options == 3 else "better")
        task = self.task(study, name, options=options, overlap=overlap, **config)
        persona = study.personas.first() or self.persona(study)
        for n in range(items):
            self.candidates(self.query(study, f"{name}-q{n + 1}", persona), options)
        return open_batch(study, task)


@pytest.fixture
def cast(db):
    return Cast()


def kept(make):
    """A fixture of what ``make(folder)`` returns: rows for all tests of a file.

    What a test does to them is undone. None of the file's tests may commit.
    """

    @pytest.fixture(scope="module")
    def rows(django_db_setup, django_db_blocker, tmp_path_factory):
        from django.db import transaction
        from django.test import override_settings

        quick = override_settings(PASSWORD_HASHERS=HASHERS)
        with django_db_blocker.unblock(), transaction.atomic():
            with quick:
                made = make(tmp_path_factory.mktemp("kept"))
            yield made
            transaction.set_rollback(True)

    return rows


@pytest.fixture
def tea(cast):
    """The study "tea" with its people; nothing is open yet."""
    return cast.tea()


@pytest.fixture
def ann(cast):
    return cast.person("Ann")


@pytest.fixture
def bo(cast):
    return cast.person("Bo")


@pytest.fixture
def login(client):
    """A function that logs the test client in as a person and returns it."""

    def as_(user):
        client.force_login(user, "allauth.account.auth_backends.AuthenticationBackend")
        return client

    return as_


@pytest.fixture
def carol(cast, tea, login):
    """The test client, in which the curator of "tea" is logged in."""
    return login(cast.person("Carol"))
