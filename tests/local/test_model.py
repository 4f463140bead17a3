"""The embedded model answers over HTTP to callers with its key; embeddings need no network."""

import socket
import time

import numpy as np
import openai
import psutil
import pytest

from annotation.core.embed import embed
from annotation.local import model
from annotation.local.folders import private_folder
from annotation.local.process import pause, spawn, stop

IDLE = 3


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """(endpoint, process) of a model server that gives the model back after IDLE seconds."""
    data = tmp_path_factory.mktemp("data")
    log = private_folder(data / "log") / "model.log"
    port = model.free_port()
    program = model.program(data, port, IDLE)
    process = spawn(program, log)
    until(lambda: listens(port), log.read_text)
    yield model.endpoint(data, port), psutil.Process(process.pid)
    stop(process, program)
    assert process.returncode == 0


@pytest.fixture
def endpoint(server):
    return server[0]


def until(condition, words) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, words()
        pause()


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def client(endpoint: dict, key: str | None = None) -> openai.OpenAI:
    return openai.OpenAI(
        base_url=endpoint["base_url"], api_key=key or endpoint["api_key"], max_retries=0
    )


def test_the_model_answers_a_chat(endpoint):
    answer = client(endpoint).chat.completions.create(
        model=endpoint["model"],
        messages=[
            {"role": "system", "content": "You are a helpful assistant."},
            {"role": "user", "content": "Give me three tips for sleeping better."},
        ],
        temperature=0,
        max_tokens=40,
    )
    assert "sleep" in answer.choices[0].message.content
    assert answer.model == "SmolLM2-135M-Instruct"
    assert answer.usage.completion_tokens > 0


def test_the_model_refuses_who_has_no_key(endpoint):
    with pytest.raises(openai.AuthenticationError):
        client(endpoint, key="guessed").chat.completions.create(
            model=endpoint["model"], messages=[{"role": "user", "content": "Hello"}]
        )


def test_the_model_takes_memory_only_while_it_is_used(server):
    endpoint, process = server
    client(endpoint).models.list()
    (child,) = process.children()
    assert child.memory_info().rss > 100 * 2**20
    until(lambda: not process.children(), lambda: "the model is not given back")
    assert process.memory_info().rss < 40 * 2**20
    # The same connection, or a new one, brings it back.
    assert [one.id for one in client(endpoint).models.list()] == [model.ALIAS]
    assert len(process.children()) == 1


def test_embeddings_are_unit_rows_of_256_numbers():
    rows = embed(["A cat sat on the mat.", "高血压患者应少吃盐。", "점심으로 무엇을 먹을까요?"])
    assert rows.shape == (3, 256)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert embed([]).shape == (0, 256)
    assert not embed([""]).any()


def test_similar_sentences_lie_nearer():
    kitten, cat, tax = embed(
        ["A kitten sleeps on the sofa.", "The cat naps on a couch.", "Income tax is due in May."]
    )
    assert kitten @ cat > kitten @ tax + 0.2
