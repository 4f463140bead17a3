"""A data set comes from a server that speaks the Hub's addresses."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from django.core.management import CommandError, call_command

from annotation.imports import run
from annotation.imports.models import DataImport
from annotation.studies.models import Study

pytest.importorskip("huggingface_hub", reason="the extra “evaluate” is not installed")
pytestmark = pytest.mark.django_db
SHA = "0123456789abcdef0123456789abcdef01234567"
FILES = {
    "README.md": b"# Tea",
    "green/train.csv": b"id,prompt,answer_a,answer_b\ni1,Why?,x,y\n",
    "black/dev-00000-of-00002.csv": b"id,prompt,answer_a,answer_b\ni4,Why?,x,y\n",
    "black/dev-00001-of-00002.csv": b"id,prompt,answer_a,answer_b\ni5,How?,x\n",
    "green/test.csv": b"id,prompt,answer_a,answer_b\ni2,How?,x,y\ni3,When?,x,y\n",
}


class Hub(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.tokens.add(self.headers.get("Authorization"))
        name = self.path.partition(f"/resolve/{SHA}/")[2]
        if self.path.startswith("/api/datasets/ann/tea"):
            revision = self.path.partition("/revision/")[2].partition("?")[0]
            files = [{"rfilename": name, "size": len(data)} for name, data in FILES.items()]
            body = json.dumps({"id": "ann/tea", "sha": SHA, "siblings": files}).encode()
            self.answer(body if revision in ("", "main", "v1") else None)
        else:
            self.answer(FILES.get(name))

    do_HEAD = do_GET  # noqa: N815

    def answer(self, body: bytes | None) -> None:
        self.send_response(404 if body is None else 200)
        self.send_header("X-Repo-Commit", SHA)
        self.send_header("ETag", f'"{len(body or b"")}"')
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        if self.command == "GET" and body:
            self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def hub(monkeypatch):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.tokens = set()
    Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    # What `push_release` needs: whoever imports may not read its owner's private data sets.
    monkeypatch.setenv("HF_TOKEN", "hf_operator")
    yield server
    server.shutdown()
    server.server_close()


def test_a_configuration_and_split_of_a_revision_come_in_with_their_source(hub, capsys):
    options = ("--config", "green", "--split", "test", "--revision", "v1")
    call_command("import_data", "--hub", "ann/tea", *options, "--json")
    report = json.loads(capsys.readouterr().out)
    assert (report["study"], report["items"], report["rejected"]) == ("tea", 2, [])
    assert f"/datasets/ann/tea/tree/{SHA}" in Study.objects.get().provenances.get().source
    assert hub.tokens == {None}


def test_the_shards_of_a_split_come_in_as_one_table_whose_lines_are_counted_on(hub, capsys):
    with pytest.raises(CommandError, match="1 line is faulty"):
        call_command("import_data", "--hub", "ann/tea", "--split", "dev", "--json")
    (fault,) = json.loads(capsys.readouterr().out)["rejected"]
    assert fault["line"] == 4
    call_command("import_data", "--hub", "ann/tea", "--split", "dev", "--skip-faulty", "--json")
    assert json.loads(capsys.readouterr().out)["items"] == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("ann/tea",), "4 tables fit: name configuration and split. There are: black/dev-00000"),
        (("ann/tea", "--split", "stage"), "0 tables fit"),
        (("ann/coffee",), "does not give “ann/coffee” .status 404."),
        (("ann/tea", "--revision", "v9"), "does not give “ann/tea” .status 404."),
        (("no name",), "A data set is called owner/name"),
    ],
)
def test_what_the_hub_does_not_have_is_refused_in_words(hub, options, words):
    with pytest.raises(CommandError, match=words):
        call_command("import_data", "--hub", *options)
    assert not Study.objects.exists()


def test_without_a_connection_a_sentence_says_what_to_do(monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(CommandError, match="cannot be reached from here"):
        call_command("import_data", "--hub", "ann/tea")


def test_a_worker_fetches_what_the_page_or_a_program_asked_for(hub, carol, tea):
    named = {"hub": "ann/tea", "split": "train"}
    page = carol.post("/studies/tea/data/", named).url
    row = run.run(DataImport.objects.get().pk)
    assert (row.status, row.received) == ("waiting", len(FILES["green/train.csv"]))
    assert f"/datasets/ann/tea/tree/{SHA}" in carol.get(page).content.decode()
    body = json.dumps(named | {"split": "stage"})
    kind = {"content_type": "application/json"}
    sent = carol.post("/api/v1/studies/tea/imports/", body, **kind)
    row = run.run(DataImport.objects.latest("created_at").pk)
    assert (sent.status_code, row.status, row.stored) == (202, "failed", "")
    assert "0 tables fit" in row.error
    assert carol.post("/api/v1/studies/tea/imports/", "{}", **kind).status_code == 400
