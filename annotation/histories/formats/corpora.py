"""Rows of public collections of chats: WildChat, LMSYS-Chat-1M and ShareGPT. Pure.

Other than in an export, a file holds the conversations of many people.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from annotation.histories import texts
from annotation.histories.formats import lmsys, sharegpt, wildchat
from annotation.histories.formats.build import identifier, objects
from annotation.histories.formats.streams import Entry
from annotation.histories.records import Conversation

FORMATS = (
    (sharegpt.detect, sharegpt.read),
    (sharegpt.detect_pairs, sharegpt.read_pairs),
    (wildchat.detect, wildchat.read),
    (lmsys.detect, lmsys.read),
)


@dataclass(frozen=True)
class CorpusRow:
    """One conversation of a collection; ``speaker`` is a digest of who holds it, or ""."""

    conversation: Conversation
    speaker: str
    language: str


def row_of(record: dict, salt: str = "") -> CorpusRow | None:
    """The conversation in ``record``; None where it is none of these formats or has no messages.

    Addresses are never kept: a digest of them with ``salt`` says which conversations are of one
    person. LMSYS-Chat-1M and ShareGPT name nobody.
    """
    for detect, read in FORMATS:
        if detect(record):
            return _row(record, read(iter([Entry(1, record)])), salt)
    return None


def _row(record: dict, read: Iterator, salt: str) -> CorpusRow | None:
    conversation = next(read, None)
    if not isinstance(conversation, Conversation):
        return None
    turns = objects(record.get("conversation"))
    address = identifier(
        record.get("hashed_ip"), *(turn.get("hashed_ip") for turn in turns), record.get("user_id")
    )
    speaker = hashlib.sha256(f"{salt}/{address}".encode()).hexdigest()[:16] if address else ""
    return CorpusRow(conversation, speaker, texts.name(record.get("language"))[:40])
