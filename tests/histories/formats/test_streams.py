"""Which format a file has is told by its bytes and keys."""

import io

import pytest

from annotation.histories.formats import Reading, streams

from . import samples
from .samples import as_json, as_lines, chats, refusal, skips


@pytest.mark.parametrize("name", samples.ALL)
def test_every_format_is_told_by_its_content(name):
    source, data = samples.ALL[name]
    assert Reading(io.BytesIO(data)).source == source


@pytest.mark.parametrize("name", samples.TEXTS)
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16-le", "utf-16-be"])
def test_a_byte_order_mark_decides_the_encoding(name, encoding):
    _, data = samples.ALL[name]
    text = data.decode("utf-8-sig")
    marked = (
        text.encode(encoding) if encoding == "utf-8-sig" else ("\ufeff" + text).encode(encoding)
    )
    assert samples.records(marked) == samples.records(data)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "empty_file"),
        (b" \r\n\t ", "empty_file"),
        (b"\xef\xbb\xbf", "empty_file"),
        (b"[]", "empty_history"),
        (b'{"conversations": []}', "empty_history"),
        (as_json([samples.CHATGPT | {"mapping": {}}]), "empty_history"),
        (b"{}", "unsupported_format"),
        (b"[1, 2, null]", "unsupported_format"),
        (b'[{"a": 1}]', "unsupported_format"),
        (b"hello", "unsupported_format"),
        (b"a,b\n1,2\n", "unsupported_format"),
        (b"<html><body>hello</body></html>", "unsupported_format"),
        (b"\x89PNG\r\n\x1a\n", "unsupported_format"),
        (b"SQLite format 3\0" + b"\0" * 84, "unsupported_format"),
        (b'[{"mapping": {}, "a": nothing}]', "invalid_json"),
        (as_json([samples.CHATGPT]) + b"x", "invalid_json"),
        (as_json([samples.CHATGPT])[:-1], "truncated_json"),
        (as_json([samples.CHATGPT])[:-40], "truncated_json"),
        (as_json([samples.CHATGPT])[:30], "truncated_json"),
        (as_json(samples.CHATGPT)[:-1], "truncated_json"),
        (b"[" * 5_000 + b"]" * 5_000, "too_deep"),
        (b"[" * 1_000_000, "too_deep"),
        ("[{}]".encode("utf-32"), "encoding"),
        ("[{}]".encode("utf-16-le"), "encoding"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_code(data, code):
    assert refusal(data) == code


def test_every_cut_of_an_array_is_truncated():
    data = as_json([samples.CHATGPT, samples.CHATGPT])
    codes = {refusal(data[:end]) for end in range(1, len(data))}
    assert codes == {"truncated_json"}


def test_a_broken_line_is_skipped_and_named():
    data = as_lines(samples.LMSYS) + b'{"conversation_id": "x", \n' + as_lines(samples.LMSYS)
    assert skips(data) == [("line 2", "invalid_json")]
    assert len(samples.chats(data)) == 2


def test_a_last_line_that_was_cut_off_is_skipped():
    data = as_lines(samples.LMSYS) + as_json(samples.LMSYS)[:-5]
    assert skips(data) == [("line 2", "truncated_json")]


def test_blank_lines_and_pretty_printed_objects_are_fine():
    pretty = samples.json.dumps(samples.LMSYS, indent=2).encode()
    assert len(samples.chats(pretty + b"\n\n\n" + pretty)) == 2


def test_one_entry_too_deep_or_not_an_object_leaves_the_others():
    deep = b"[" * 3_000 + b"]" * 3_000
    data = b"[" + deep + b', 7, null, "x", ' + as_json(samples.CHATGPT) + b"]"
    assert skips(data) == [
        ("entry 1", "too_deep"), ("entry 2", "junk"), ("entry 3", "junk"), ("entry 4", "junk"),
    ]  # fmt: skip
    assert len(samples.chats(data)) == 1


@pytest.fixture
def _small_limits(monkeypatch):
    for name, limit in (("READ", 100), ("PIECE", 5_000)):
        monkeypatch.setattr(streams, name, limit)


@pytest.mark.usefixtures("_small_limits")
def test_one_entry_too_large_leaves_the_others():
    for unit in ("a", '\\\\"[{', "é\\", "]}", "😀"):
        huge = as_json(samples.CHATGPT | {"title": unit * 5_000, "more": [[], {}]})
        data = b",".join([as_json(samples.CHATGPT), huge, as_json(samples.CHATGPT)])
        assert skips(b"[" + data + b"]") == [("entry 2", "too_large")]
        assert len(samples.chats(b"[" + data + b"]")) == 2


@pytest.mark.usefixtures("_small_limits")
def test_a_wrapper_too_large_to_hold_is_walked():
    data = b'{"conversations": ' + as_json([samples.CHATGPT] * 9) + b', "more": null}'
    assert samples.records(data) == samples.records(as_json([samples.CHATGPT] * 9))


def test_numbers_beyond_all_range_cost_their_own_field_alone():
    for number in ("NaN", "-Infinity", "1e400", "9" * 5_000, "-1", "0", "253402300800"):
        data = as_json([samples.CHATGPT | {"create_time": None, "update_time": "@"}])
        (chat,) = samples.chats(data.replace(b'"@"', number.encode()))
        assert (chat.title, chat.updated_at) == ("Trip", chat.messages[-1].at)


def test_a_number_cut_by_the_end_of_what_was_read_goes_on(monkeypatch):
    monkeypatch.setattr(streams, "READ", 7)
    for _source, data in samples.ALL.values():
        assert samples.records(data)


def test_json_that_is_not_utf8_has_its_letters_replaced_and_says_so():
    data = as_lines(samples.LMSYS).replace(b"Hello", b"Gr\xfc\xdfe")
    assert chats(data)[0].messages[1].text == "Gr\ufffd\ufffde NAME_1"
    assert skips(data) == [("the file", "encoding")]
