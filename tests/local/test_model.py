"""The embedded model answers over HTTP to callers with its key; embeddings need no network."""

import time

import numpy as np
import openai
import psutil
import pytest

from annotation.core.embed import embed
from annotation.local import model
from annotation.local.folders import private_folder
from annotation.local.process import answers
from tests.services import end, spawn, wait_until

IDLE = 3


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """(endpoint, process) of a model server that gives the model back after IDLE seconds."""
    data = tmp_path_factory.mktemp("data")
    log = private_folder(data / "log") / "model.log"
    port = model.free_port()
    program = model.program(data, port, IDLE)
    process = spawn(program, log)
    wait_until(lambda: answers(port, "/health"), process, log)
    yield model.endpoint(data, port), psutil.Process(process.pid)
    end(process, program)
    assert process.returncode == 0


@pytest.fixture
def endpoint(server):
    return server[0]


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


def say_hello(endpoint: dict) -> str:
    answer = client(endpoint).chat.completions.create(
        model=endpoint["model"],
        messages=[{"role": "user", "content": "Hello"}],
        temperature=0,
        max_tokens=5,
    )
    return answer.choices[0].message.content


def test_the_model_refuses_who_has_no_key(endpoint):
    with pytest.raises(openai.AuthenticationError):
        client(endpoint, key="guessed").chat.completions.create(
            model=endpoint["model"], messages=[{"role": "user", "content": "Hello"}]
        )


def test_the_model_takes_memory_only_while_it_is_used(server):
    endpoint, process = server
    say_hello(endpoint)
    loaded = process.memory_full_info().uss
    deadline = time.monotonic() + 60
    while process.memory_full_info().uss > loaded - 150 * 2**20:
        assert time.monotonic() < deadline, "the model is not given back"
        time.sleep(0.1)
    assert say_hello(endpoint) == say_hello(endpoint)  # the first of them brings it back


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
