import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

BAKER = {"Career_Information": "Baker of rye bread in a small town by the sea", "Gender": "male"}


def json_lines(*rows, name="mine.jsonl"):
    """A file of these rows, texts as they are."""
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    return SimpleUploadedFile(name, "\n".join(lines).encode())


@pytest.fixture
def people(cast, tea):
    """Two bakers who are much alike, a pilot and a nurse."""
    return [
        cast.persona(tea, "p1", Demographics=BAKER | {"Age": 30}),
        cast.persona(tea, "p2", Demographics=BAKER | {"Age": 31}),
        cast.persona(tea, "p3", Demographics={"Career_Information": "Pilot of jets", "Age": 52}),
        cast.persona(tea, "p4", Demographics={"Career_Information": "Nurse, nights", "Age": 24}),
    ]
