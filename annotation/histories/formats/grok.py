"""Grok: prod-grok-backend.json, conversations with their responses beside them."""

from collections.abc import Iterator

from annotation.histories.formats.build import Draft, fields, identifier, items, objects
from annotation.histories.formats.streams import Entry, each
from annotation.histories.records import Record


def detect(entry: dict) -> str:
    """The name "grok" for an entry with responses."""
    return "grok" if isinstance(entry.get("responses"), list) else ""


@each(detect)
def read(entry: Entry) -> Iterator[Record]:
    """One conversation, in the order of its responses."""
    about = fields(entry.value.get("conversation"))
    draft = Draft(
        "grok",
        entry.where,
        id=identifier(about.get("id"), about.get("_id")),
        title=about.get("title"),
        created=about.get("create_time"),
        updated=about.get("modify_time"),
    )
    for response in objects(entry.value.get("responses")):
        # A flat variant has no inner object.
        response = response["response"] if isinstance(response.get("response"), dict) else response
        draft.add(
            response.get("sender"),
            response.get("message"),
            response.get("create_time"),
            id=identifier(response.get("_id"), response.get("id")),
            attachments=items(response.get("file_attachments")),
            model=response.get("model"),
        )
    yield draft.finish()
