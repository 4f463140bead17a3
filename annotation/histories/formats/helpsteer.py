"""HelpSteer2: a prompt, which may hold earlier turns between marks, and its response."""

import re
from collections.abc import Iterator

from annotation.histories.formats.build import Draft
from annotation.histories.formats.streams import Entry, each
from annotation.histories.records import Record

_MARK = re.compile(r"\n?<extra_id_1>(User|Assistant)\n")


def detect(entry: dict) -> str:
    """The name "helpsteer2" for a prompt and a response with their scores."""
    both = all(isinstance(entry.get(key), str) for key in ("prompt", "response"))
    return "helpsteer2" if both and "helpfulness" in entry else ""


@each(detect)
def read(entry: Entry) -> Iterator[Record]:
    """One prompt with its response."""
    draft = Draft("helpsteer2", entry.where)
    # The first turn is the person's and has no mark: [text, role, text, role, text, …].
    first, *marked = _MARK.split(entry.value["prompt"])
    draft.add("user", first)
    for role, text in zip(marked[::2], marked[1::2], strict=True):
        draft.add(role, text)
    draft.add("assistant", entry.value["response"])
    yield draft.finish()
