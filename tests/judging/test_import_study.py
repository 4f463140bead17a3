"""Exit codes and sentences of `import_study`, run as a program."""

import subprocess
import sys

import pytest
from django.conf import settings

pytestmark = pytest.mark.django_db


def test_exit_codes_and_sentences_of_the_real_command(tmp_path):
    def manage(*arguments):
        command = [sys.executable, "manage.py", "import_study", *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=settings.BASE_DIR)

    wrong = manage(str(tmp_path))
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert "study.json: there is no such file" in wrong.stderr
    assert "Traceback" not in wrong.stderr
    assert manage().returncode == 2
