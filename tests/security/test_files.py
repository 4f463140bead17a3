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

# A page and a call of histories, whose files have a handler of their own, and two of the others.
FORMS = {
    **dict.fromkeys(("history-uploads", "api-histories"), "ann"),
    **dict.fromkeys(("sources-upload", "api-imports"), "curator"),
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
