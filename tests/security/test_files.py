"""Forms with more files than may be sent, or cut short: a sentence, and nothing stays on disk."""

from io import BytesIO

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.http import UnreadablePostError
from django.test.client import BOUNDARY, MULTIPART_CONTENT
from django.urls import reverse

from annotation.histories.models import Upload
from tests.security.table import TABLE
from tests.security.test_routes import NAMES

POSTED = [name for name in NAMES if "POST" in TABLE[name].methods]
# Pages and calls that read a form with files, and who may send it.
FORMS = {
    **dict.fromkeys(("history-uploads", "api-histories"), "ann"),
    **dict.fromkeys(("personas", "attributes", "examples", "queries", "sources-upload"), "curator"),
    **dict.fromkeys(("imports", "verifier", "api-imports", "api-documents"), "curator"),
    **dict.fromkeys(("step", "api-attributes-verify"), "curator"),
    "release-import": "site",
}


def lying() -> set:
    """Every file of the data folder."""
    return {path for path in settings.DATA.rglob("*") if path.is_file()}


def sent(world, name, role, **form):
    """The answer to a form of this address, undone again."""
    address = reverse(name, kwargs=TABLE[name].args(world))
    client = world.program(role) if TABLE[name].api else world.browser(role)
    with transaction.atomic():
        answer = client.generic("POST", address, **form) if form else client.post(address, many())
        transaction.set_rollback(True)
    return answer


def many() -> dict:
    return {"file": [SimpleUploadedFile(f"{n}.json", b"PRIVATE") for n in range(101)]}


@pytest.mark.parametrize("name", FORMS)
def test_more_files_than_a_form_takes_are_refused_and_nothing_stays(world, name):
    before = lying()
    answer = sent(world, name, FORMS[name])
    assert answer.status_code == 400
    assert "send at most 100 files at once" in answer.content.decode()
    assert (lying() - before, Upload.objects.filter(status="requested").count()) == (set(), 0)


def test_no_other_address_breaks_at_so_many_files(world):
    before = lying()
    broken = [name for name in POSTED if sent(world, name, "site").status_code >= 500]
    assert (broken, lying() - before) == ([], set())


class Cut(BytesIO):
    """A body whose line is cut before its end."""

    def read(self, *args):
        if data := super().read(*args):
            return data
        raise UnreadablePostError("the line was cut")


PART = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a.json"\r\n'
ENCODED = f"{PART}Content-Transfer-Encoding: base64\r\n\r\n{'QUJD' * 30_000}"
BROKEN = {
    "cut": (Cut, f"{PART}\r\n{'PRIVATE' * 20_000}"),
    "wrongly encoded": (BytesIO, f"{ENCODED}x\r\n--{BOUNDARY}--\r\n"),
}


@pytest.mark.parametrize("how", BROKEN)
@pytest.mark.parametrize("name", ["history-uploads", "api-histories"])
def test_nothing_stays_of_a_history_whose_form_breaks_off(world, name, how):
    before = lying()
    stream, text = BROKEN[how]
    body = {"CONTENT_TYPE": MULTIPART_CONTENT, "wsgi.input": stream(text.encode())}
    answer = sent(world, name, "ann", CONTENT_LENGTH=200_000, **body)
    # Nobody waits for the answer on a cut line.
    assert answer.status_code == (500 if how == "cut" else 400)
    assert lying() - before == set()
