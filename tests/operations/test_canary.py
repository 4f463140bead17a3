"""Words of people who left are found nowhere afterwards: a canary is searched in every place.

Ann withdraws from the study and erases her history; Bo erases his history alone. The canaries were
in histories, prompts, answers, judgments, messages, drafts, files, exports, releases and a backup.
"""

import logging
from types import SimpleNamespace

import pytest
import redis
from django.conf import settings as site
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse

from annotation import policies
from annotation.accounts.models import ApiToken
from annotation.agreement import recompute
from annotation.candidates.retrieve import erase_withdrawn
from annotation.core.errors import DomainError
from annotation.core.logs import Context, Line
from annotation.datasets import folders, freeze
from annotation.datasets.models import Release
from annotation.histories import browse, consent, ingest, marks, search
from annotation.histories.models import Session, Upload
from annotation.judging.batches.open import open_batch
from annotation.judging.models import Answer, ItemComment, Slot
from annotation.judging.work import queue, submit
from annotation.queries import author
from annotation.studies import messages
from annotation.studies.access import study_for
from tests.candidates.conftest import fake  # noqa: F401 - a fixture
from tests.histories.formats.samples import as_json, node, tree
from tests.papers.bespoke.conftest import SEND, answered, ask, bespoke, scores  # noqa: F401 - a fixture

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]

ANN, BO = "CANARYOFANN", "CANARYOFBO"
BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


@pytest.fixture
def data(tmp_path, settings):
    settings.DATA = tmp_path / "data"
    (settings.DATA / "secrets").mkdir(parents=True)
    return settings.DATA


@pytest.fixture
def log():
    """Every line that the application logs, as it is written, from the least important on."""
    lines: list[str] = []

    class Keeper(logging.Handler):
        def emit(self, record):
            lines.append(self.format(record))

    keeper = Keeper(logging.DEBUG)
    keeper.setFormatter(Line())
    keeper.addFilter(Context())
    loggers = [logging.getLogger(), logging.getLogger("annotation")]
    levels = [logger.level for logger in loggers]
    loggers[0].addHandler(keeper)
    loggers[1].setLevel(logging.DEBUG)
    yield lines
    loggers[0].removeHandler(keeper)
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)


def client_of(person) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(person, BACKEND)
    return client


def chat(canary: str) -> SimpleUploadedFile:
    """A ChatGPT export of one conversation, whose title and messages hold the canary."""
    text = f"{canary} asks for night trains to the sea"
    nodes = tree(
        node("root", None, ["a"]),
        node("a", "root", ["b"], "user", text, at=1_772_366_400),
        node("b", "a", [], "assistant", text, at=1_772_366_400),
    )
    conversation = {"id": f"c-{canary}", "title": canary, "mapping": nodes, "current_node": "b"}
    return SimpleUploadedFile("conversations.json", as_json([conversation]))


def bring(person, study, canary: str) -> None:
    """Send a history over the API, keep it, and allow every use of it in ``study``."""
    token = ApiToken.issue(person)[1]
    headers = {"Authorization": f"Bearer {token}"}
    sent = Client().post(reverse("api-histories"), {"file": chat(canary)}, headers=headers)
    assert sent.status_code == 202, sent.content
    upload = ingest.run(Upload.objects.get(owner=person, status="requested").pk)
    assert (upload.status, upload.error) == ("done", "")
    browse.choose(person, Session.objects.filter(owner=person), "kept")
    consent.grant(person, study, SEND, "fake")
    consent.grant(person, study, "publish")


def judge_own(study, person, fake, canary: str):  # noqa: F811
    """Ask with a need, have two answers written, score them, write a gold response and a rubric."""
    query = ask(study, person, f"{canary}: which night train goes to the sea?", canary)
    answered(study, fake, f"A profile of {canary}.", f"{canary} first.", f"{canary} second.")
    open_batch(study, study.tasks.get(name="score"))
    while (slot := queue.claim(study, person)) is not None:
        body = scores(slot, 4, canary)
        submit.submit(study, slot, person, body, key=f"{person.pk}-{slot}")
    author.set_claims(author.save_response(query, person, f"{canary} gold"), [f"{canary} claim"])
    author.save_rubric(query, f"{canary} rubric", author=person)


def write_everywhere(cast, study, ann) -> None:
    """Ann votes with reasons, comments, skips, drafts and writes to the curators."""
    cast.open(study, items=4, overlap=3, reason="optional")
    for number in range(2):
        slot = queue.claim(study, ann)
        choice = str(Slot.objects.get(pk=slot).item.options.first().candidate_id)
        submit.submit(study, slot, ann, {"choice": choice, "reason": ANN}, key=f"vote{number}")
    ItemComment.objects.create(slot_id=slot, author=ann, text=ANN)
    queue.hand_back(queue.claim(study, ann), ann, "skipped", ANN)
    submit.save_draft(study, queue.claim(study, ann), ann, {"reason": ANN})
    messages.send_message(study_for(ann, study.slug, policies.message.may_read), ann, ANN)
    for person in ("Bo", "Chen"):
        other = cast.person(person)
        slot = queue.claim(study, other)
        choice = str(Slot.objects.get(pk=slot).item.options.first().candidate_id)
        submit.submit(study, slot, other, {"choice": choice}, key=f"vote{person}")


@pytest.fixture
def before(data, log, cast, bespoke, fake):  # noqa: F811
    """The study with both canaries everywhere."""
    ann, bo = cast.person("Ann"), cast.person("Bo")
    Session.objects.all().delete()  # the fixture's own, which came with no file
    consent.withdraw_all(ann)
    for person, canary in ((ann, ANN), (bo, BO)):
        marks.add_words(person, [f"{canary}-word"])
        bring(person, bespoke, canary)
    # Bo's own words stay with the study; his history goes.
    judge_own(bespoke, ann, fake, ANN)
    fake.requests.clear()
    judge_own(bespoke, bo, fake, "a calm")
    assert any(BO.encode() in body for _, _, body in fake.requests), "no prompt held his history"
    write_everywhere(cast, bespoke, ann)
    recompute.recompute(bespoke, "best")
    for layout in ("long", "bespoke"):
        freeze.build(freeze.request_release(bespoke, layout, "jsonl", None).pk)
    return SimpleNamespace(study=bespoke, ann=ann, bo=bo, data=data, log=log)


def rows() -> dict[str, str]:
    """{table: all its rows as text}: the columns of search indexes, too."""
    with connection.cursor() as cursor:
        texts = {}
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT string_agg(t::text, chr(10)) FROM "{table}" t')  # noqa: S608
            texts[f"table {table}"] = cursor.fetchone()[0] or ""
    return texts


def files(folder) -> dict[str, str]:
    return {
        f"file {path.relative_to(folder)}": path.read_bytes().decode("latin-1") + path.name
        for path in folder.rglob("*")
        if path.is_file()
    }


def broker_and_cache() -> dict[str, str]:
    """{key: value as bytes} of the whole database of Redis."""
    server = redis.from_url(site.REDIS_URL)
    # `dump` may pack what is long: each type is read in its own way.
    readers = {
        b"string": server.get,
        b"list": lambda key: server.lrange(key, 0, -1),
        b"hash": server.hgetall,
        b"set": server.smembers,
        b"zset": lambda key: server.zrange(key, 0, -1, withscores=True),
    }
    return {f"redis {key!r}": str(readers[server.type(key)](key)) for key in server.scan_iter()}


def exports(cast, study) -> dict[str, str]:
    """What members fetch: lists and pages of curators and researchers, and own data."""
    slug = [study.slug]
    items = study.items.filter(batch__task__name="best").values_list("pk", flat=True)
    addresses = [
        *(reverse(name, args=slug) for name in ("api-judgments", "study", "raters", "messages")),
        reverse("api-judgments", args=slug) + "?all=1",
        *(reverse(name, args=slug) for name in ("candidates", "queries", "adjudicate")),
        *(reverse("results", args=[*slug, task]) for task in ("best", "score")),
        *(reverse("result-item", args=[*slug, "best", pk]) for pk in items),
        *(reverse("rater", args=[*slug, cast.person(name).pk]) for name in ("Ann", "Bo")),
    ]
    own = [reverse("home"), reverse("history")]
    own += [reverse(name, args=slug) for name in ("mine", "own-queries")]
    asked = [("Carol", path) for path in addresses] + [("Rui", path) for path in addresses[:5]]
    asked += [(name, path) for name in ("Ann", "Bo") for path in own]
    asked += [("Bo", reverse("mine-download", args=slug))]
    clients = {name: client_of(cast.person(name)) for name in ("Ann", "Bo", "Carol", "Rui")}
    found = {}
    for name, path in asked:
        response = clients[name].get(path, follow=True)
        assert response.status_code < 500, (path, response.content)
        content = b"".join(response) if response.streaming else response.content
        found[f"{path} for {name}"] = content.decode()
    return found


def releases(study) -> dict[str, str]:
    """The files of every layout that can be written now."""
    texts = {}
    for layout in ("long", "bespoke"):
        try:
            release = freeze.request_release(study, layout, "jsonl", None)
            freeze.build(release.pk)
        except DomainError:
            continue  # nothing is left to publish
        folder = folders.folder_of(release)
        if folder.exists():
            texts |= {f"{layout} {name}": text for name, text in files(folder).items()}
    return texts


def places(cast, study, data) -> dict[str, str]:
    return rows() | files(data) | broker_and_cache() | exports(cast, study) | releases(study)


def where(canary: str, texts: dict[str, str]) -> list[str]:
    return sorted(name for name, text in texts.items() if canary.lower() in text.lower())


def settle() -> None:
    """Run what beat and workers run after a withdrawal."""
    erase_withdrawn()
    for release in Release.objects.filter(status="requested"):
        freeze.build(release.pk)


def test_words_of_who_left_are_nowhere_afterwards_and_a_restored_backup_brings_none_back(
    before, cast, tmp_path
):
    study, data = before.study, before.data
    cache.set("something", "cached")
    everywhere = places(cast, study, data)
    for canary in (ANN, BO):
        kinds = {name.split()[0] for name in where(canary, everywhere)}
        assert {"table", "file"} <= kinds, (canary, kinds)
    assert where(ANN, exports(cast, study))
    assert any(name.startswith("bespoke") for name in where(BO, everywhere))
    backup = tmp_path / "before.backup"
    call_command("backup", str(backup))
    assert ANN.encode() in backup.read_bytes() or where(ANN, files(data))

    decision = {"decision": "withdraw"}
    left = client_of(before.ann).post(reverse("consent", args=[study.slug]), decision)
    assert left.status_code == 302
    for person in (before.ann, before.bo):
        assert client_of(person).post(reverse("history-forget"), {"sure": "1"}).status_code == 302
    settle()

    def nowhere() -> None:
        texts = places(cast, study, data)
        assert {canary: where(canary, texts) for canary in (ANN, BO)} == {ANN: [], BO: []}
        assert [search.find(person, "trains") for person in (before.ann, before.bo)] == [{}, {}]

    nowhere()
    call_command("restore", str(backup))
    settle()
    nowhere()
    assert len(before.log) > 5
    assert [line for line in before.log if ANN in line or BO in line] == []
    # What others wrote stays.
    choices = Answer.objects.filter(question="choice")
    assert choices.exclude(judgment__slot__status="void").count() == 2
