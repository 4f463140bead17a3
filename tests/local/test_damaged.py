"""Files that can be made anew never stop a start; a wrong setting stops it with a sentence."""

import os
import subprocess
import sys

import pytest
from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage

from annotation.core.made import PrivateManifestStorage
from annotation.local import redis
from annotation.local.folders import private_folder
from tests.services import end, spawn, wait_until


def check(data, *, script="manage.py", **environment):
    given = {"PATH": os.environ["PATH"], "ATTUNE_DATA": str(data), **environment}
    command = [sys.executable, script, "check"]
    return subprocess.run(command, cwd=settings.BASE_DIR, env=given, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("ATTUNE_ENDPOINTS", "no", "ATTUNE_ENDPOINTS is no JSON"),
        ("ATTUNE_ENDPOINTS", '{"a": 1}', "ATTUNE_ENDPOINTS must be a JSON list of objects."),
        ("ATTUNE_PROXY_COUNT", "abc", "ATTUNE_PROXY_COUNT must be a number, not “abc”."),
        ("ATTUNE_BASE_URL", "attune.example", "ATTUNE_BASE_URL must begin with http:// or https"),
        ("ATTUNE_SECRET_KEY_FILE", "/nope", "The file of ATTUNE_SECRET_KEY_FILE cannot be read"),
        ("REDIS_URL", "nonsense", "REDIS_URL must begin with redis://, rediss:// or unix://."),
        ("DATABASE_URL", "postgresql://u@h:x/d", "DATABASE_URL is no address"),
        ("ATTUNE_EMAIL_URL", "foo://x", "ATTUNE_EMAIL_URL must look like smtp+tls://"),
        ("ATTUNE_REQUIRE_MFA", "maybe", "ATTUNE_REQUIRE_MFA must be 1 or 0"),
        ("PORT", "99999", "PORT must be a number from 1 to 65535."),
    ],
)
def test_a_wrong_setting_is_one_sentence(tmp_path, name, value, sentence):
    done = check(tmp_path / "data", **{name: value})
    assert (done.returncode, sentence in done.stderr) == (1, True)
    assert "Traceback" not in done.stderr


def test_a_damaged_list_of_services_is_as_good_as_none(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "services.json").write_text('{"DATABASE_URL": "postg')
    assert check(tmp_path).returncode == 0


def test_a_damaged_list_of_static_files_counts_as_missing(tmp_path, settings):
    settings.STATIC_MANIFEST = tmp_path
    (tmp_path / "staticfiles.json").write_text('{"paths": {"css')
    assert PrivateManifestStorage(location=tmp_path / "static").hashed_files == {}


def test_static_files_are_packed_under_the_names_that_pages_have(tmp_path):
    names = ["a.css", "a.0123456789ab.css"]
    for name in names:
        (tmp_path / name).write_text("x" * 2_000)
    packed = PrivateManifestStorage(location=tmp_path).compress_files(names)
    assert {name for name, _compressed in packed} == {names[1]}


def test_the_list_of_static_files_is_not_among_what_is_served(settings):
    assert settings.STATIC_ROOT not in (settings.STATIC_MANIFEST, *settings.STATIC_MANIFEST.parents)
    assert staticfiles_storage is not None


def test_redis_begins_without_a_damaged_file(tmp_path):
    data = private_folder(tmp_path / "data")
    data.chmod(0o700)
    private_folder(data / "secrets")
    log = private_folder(data / "log") / "redis.log"
    program = redis.program(data)
    (data / "redis" / "appendonly.aof").write_bytes(
        b"*3\r\n$3\r\nSET\r\n$1\r\na\r\ngarbage\r\n" * 9
    )
    assert spawn(program, log).wait(60) == 1
    assert redis.is_ready(data) is False
    assert redis.set_aside(data) is True
    server = spawn(program, log)
    wait_until(lambda: redis.is_ready(data), server, log)
    end(server, program)
    assert len(list((data / "redis").glob("appendonly.aof.damaged-*"))) == 1
    assert redis.set_aside(tmp_path) is False
