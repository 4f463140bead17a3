"""The calls of the API's page are answered as they are written there, over HTTP."""

import json
import os
import re
import subprocess

import pytest

from annotation.accounts.models import ApiToken
from annotation.judging.models import Judgment
from tests.docs.test_commands import BLOCK, REPOSITORY


@pytest.mark.django_db(transaction=True)
def test_the_calls_of_the_api_are_answered_as_written(cast, live_server):
    tea = cast.study("tea")
    ann = cast.member("Ann", tea, "annotator")
    cast.open(tea, items=1)
    _token, key = ApiToken.issue(ann, 1)
    page = (REPOSITORY / "docs/api.md").read_text("utf-8")
    claim, submit = re.findall(r"^curl (?:.*\\\n)*.*$", BLOCK.search(page).group(1), re.M)
    environment = os.environ | {"KEY": key, "SERVER": live_server.url}

    def call(line):
        script = f"uuidgen() {{ echo 1; }}\n{line.replace('curl', 'curl -s')}"
        return json.loads(subprocess.check_output(["sh", "-c", script], env=environment))

    slot = call(claim)
    line = submit.replace("OPTION-ID", slot["options"][0]["id"]).replace("SLOT-ID", slot["slot"])
    assert call(line)["answer"]["answers"] == {"choice": slot["options"][0]["id"]}
    assert Judgment.objects.get().slot.study == tea
