"""What the settings are when nobody sets anything, and behind HTTPS."""

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

ASK = """
import json, annotation.settings as s
names = ("DEBUG SECRET_KEY ALLOWED_HOSTS SESSION_COOKIE_NAME CSRF_COOKIE_NAME SECURE_SSL_REDIRECT "
         "SECURE_HSTS_SECONDS SESSION_COOKIE_SECURE CSRF_COOKIE_SECURE CSRF_TRUSTED_ORIGINS "
         "ENDPOINTS REQUIRE_MFA ACCOUNT_DEFAULT_HTTP_PROTOCOL ALLAUTH_TRUSTED_PROXY_COUNT").split()
found = {name: getattr(s, name) for name in names}
found["proxy"] = getattr(s, "SECURE_PROXY_SSL_HEADER", None)
print(json.dumps(found))
"""


def run(data: Path, *command, **environment):
    """A new process with nothing but these variables in its environment."""
    given = {"PATH": os.environ["PATH"], "ATTUNE_DATA": str(data), **environment}
    return subprocess.run(
        [sys.executable, *command], cwd=settings.BASE_DIR, env=given, capture_output=True, text=True
    )


def values(data: Path, **environment) -> dict:
    done = run(data, "-c", ASK, **environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_an_empty_environment_is_a_safe_one(tmp_path):
    data = tmp_path / "data"
    first, again = values(data), values(data)
    assert first["DEBUG"] is False
    assert len(first["SECRET_KEY"]) >= 50
    assert first["SECRET_KEY"] == again["SECRET_KEY"] != values(tmp_path / "b")["SECRET_KEY"]
    assert "*" not in first["ALLOWED_HOSTS"]
    assert (first["proxy"], first["ALLAUTH_TRUSTED_PROXY_COUNT"]) == (None, 0)
    assert first["ENDPOINTS"] == []
    secret = data / "secrets" / "secret_key"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert stat.S_IMODE(secret.parent.stat().st_mode) == 0o700


def test_a_debug_variable_changes_nothing(tmp_path):
    assert (
        values(tmp_path / "a", DEBUG="1", ATTUNE_DEBUG="1", DJANGO_DEBUG="True")["DEBUG"] is False
    )


def test_behind_https_cookies_are_bound_to_the_host_and_plain_http_is_left(tmp_path):
    found = values(tmp_path / "a", ATTUNE_BASE_URL="https://attune.example")
    assert found["SESSION_COOKIE_NAME"] == "__Host-session"
    assert found["CSRF_COOKIE_NAME"] == "__Host-csrf"
    assert found["SESSION_COOKIE_SECURE"] is found["CSRF_COOKIE_SECURE"] is True
    assert found["SECURE_SSL_REDIRECT"] is True
    assert found["SECURE_HSTS_SECONDS"] == 31_536_000
    assert found["CSRF_TRUSTED_ORIGINS"] == ["https://attune.example"]
    assert found["ACCOUNT_DEFAULT_HTTP_PROTOCOL"] == "https"
    assert found["proxy"] is None


SERVED = {"ATTUNE_BASE_URL": "https://attune.example"}
CHECK = ("manage.py", "check", "--deploy", "--fail-level", "WARNING")


def test_the_deployment_check_is_content(tmp_path):
    done = run(tmp_path / "a", *CHECK, **SERVED)
    assert done.returncode == 0, done.stderr


UNSAFE = (
    (
        {"SECRET_KEY": "aB3" * 8, "PROXY_COUNT": "-1", "ALLOWED_HOSTS": "*"},
        {"attune.W001", "attune.W002", "attune.W003"},
    ),
    ({"SECRET_KEY_FALLBACKS": "short", "PROXY_COUNT": "9"}, {"attune.W001", "attune.W002"}),
    ({"BASE_URL": "http://attune.example"}, {"attune.W004"}),
)


@pytest.mark.parametrize(("environment", "names"), UNSAFE)
def test_the_deployment_check_names_what_is_unsafe(tmp_path, environment, names):
    variables = SERVED | {f"ATTUNE_{name}": value for name, value in environment.items()}
    done = run(tmp_path / "a", *CHECK, **variables)
    assert done.returncode == 1
    assert set(re.findall(r"attune\.W\d+", done.stderr)) == names


@pytest.mark.django_db
def test_nobody_exists_who_could_log_in():
    from annotation.accounts.models import ApiToken, User

    assert (User.objects.count(), ApiToken.objects.count()) == (0, 0)
