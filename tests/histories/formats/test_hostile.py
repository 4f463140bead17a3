"""Whatever a file holds: records or a refusal, and never much memory."""

import io
import os
import random

from annotation.histories.formats import Reading
from annotation.histories.records import Conversation, Record, Refused, Search, Visit

from . import samples

MUTATIONS = int(os.environ.get("MUTATIONS", "3000"))
TOKENS = (
    b"\0", b"\xff", b"\xef\xbb\xbf", b'"', b"\\", b"\\ud83d", b"\\u0000", b"{", b"}", b"[", b"]",
    b",", b":", b"null", b"NaN", b"1e999", b"-1", b"0", b"9" * 400, b"\r", b"\n", b"\t", b"<", b">",
    b"[[" * 2_000, b'{"a":' * 2_000, b"\xe2\x80\xae", b"\xee\x88\x80", b"PK\x03\x04", b"../",
    b"ustar", b"9999-12-31T23:59:59", b"0001-01-01", b"\x7f\xff\xff\xff", b"\xff" * 8, b"\0" * 600,
)  # fmt: skip


def checked(data: bytes) -> list[Record]:
    """The records, of which every text can be stored; [] for a refusal with its sentence."""
    try:
        found = list(Reading(io.BytesIO(data)))
    except Refused as refused:
        assert refused.sentence
        return []
    for record in found:
        for text in texts_of(record):
            assert "\0" not in text
            text.encode()
    return found


def texts_of(record: Record):
    if isinstance(record, Search | Visit):
        assert record.text.strip()
        yield record.text
    elif isinstance(record, Conversation):
        assert record.messages
        assert record.id
        yield from (record.id, record.title)
        for message in record.messages:
            assert message.role in ("user", "assistant")
            assert message.text.strip() or message.attachments
            yield from (message.id, message.text, message.model, *message.attachments)
    else:
        yield from (record.where, record.reason)


def mutated(data: bytes, others: list[bytes], dice: random.Random) -> bytes:
    """The bytes with one to four faults of the kinds that damage and malice make."""
    for _ in range(dice.choice((1, 1, 2, 4))):
        at, to = sorted(dice.randrange(len(data) + 1) for _ in range(2))
        part = data[at:to]
        fault = dice.randrange(8)
        if fault == 0:
            data = data[:at] + dice.choice(TOKENS) + data[at:]
        elif fault == 1:
            data = data[:at] + data[at + dice.randrange(1, 9) :]
        elif fault == 2:
            data = data[:at] + bytes([dice.randrange(256)]) + data[at + 1 :]
        elif fault == 3:
            data = data[:at] + part * dice.randrange(4) + data[to:]
        elif fault == 4:
            data = data[:at]
        elif fault == 5:
            other = dice.choice(others)
            data = data[:at] + other[dice.randrange(len(other)) :]
        elif fault == 6:
            data = data[:at] + part[::-1] + data[to:]
        else:
            words = data.split(b'"')
            words[dice.randrange(len(words))] = dice.choice(words)
            data = b'"'.join(words)
    return data


def test_mutated_exports_give_records_or_a_refusal():
    dice = random.Random(20261120)  # noqa: S311
    originals = [data for _, data in samples.ALL.values()]
    read_at_all = 0
    for number in range(MUTATIONS):
        data = mutated(originals[number % len(originals)], originals, dice)
        try:
            read_at_all += bool(checked(data))
        except BaseException as error:
            error.add_note(f"mutation {number}: {data[:300]!r}")
            raise
    # Most faults cost less than the file; were it otherwise, nothing would have been tried.
    assert read_at_all > MUTATIONS // 20
