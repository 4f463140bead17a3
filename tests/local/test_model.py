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


def ask(endpoint: dict, words: str, key: str = "", tokens: int = 5):
    """The model's answer to ``words``, asked with the endpoint's key or another."""
    client = openai.OpenAI(
        base_url=endpoint["base_url"], api_key=key or endpoint["api_key"], max_retries=0
    )
    messages = [
        {"role": "system", "content": "You are a helpful assistant."},
        {"role": "user", "content": words},
    ]
    return client.chat.completions.create(
        model=endpoint["model"], messages=messages, temperature=0, max_tokens=tokens
    )


def test_the_model_answers_a_chat(server):
    answer = ask(server[0], "Give me three tips for sleeping better.", tokens=40)
    assert "sleep" in answer.choices[0].message.content
    assert answer.model == "SmolLM2-135M-Instruct"
    assert answer.usage.completion_tokens > 0


def test_the_model_refuses_who_has_no_key(server):
    with pytest.raises(openai.AuthenticationError):
        ask(server[0], "Hello", key="guessed")


def test_the_model_takes_memory_only_while_it_is_used(server):
    endpoint, process = server

    def said() -> str:
        return ask(endpoint, "Hello").choices[0].message.content

    first = said()
    loaded = process.memory_full_info().uss
    deadline = time.monotonic() + 60
    while process.memory_full_info().uss > loaded - 150 * 2**20:
        assert time.monotonic() < deadline, "the model is not given back"
        time.sleep(0.1)
    assert said() == first  # it is brought back


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
