"""Files of votes: what can be read, and the one sentence that the others get."""

import json

import pytest

from annotation.votes.table import VotesError, read_votes
from tests.agreement.conftest import GOOD, refused, run

BAD = {
    "no column": ("task,worker\nt,a\n", ":1: there is no column label"),
    "two columns": ("task,worker,label,label\n", ":1: two columns are called label"),
    "no votes": ("task,worker,label\n", ":1: there are no votes"),
    "header alone": ("task,worker,label", ":1: there are no votes"),
    "blank": ("\n \n", ":1: the file is empty"),
    "short row": (GOOD + "t3,ann\n", ":6: 2 fields where the header has 3"),
    "long row": (GOOD + "t3,ann,a,b\n", ":6: 4 fields where the header has 3"),
    "no label": (GOOD + "\nt3,ann,\n", ":7: the label is empty"),
    "no worker": (GOOD + "t3,  ,a\n", ":6: the worker is empty"),
    "twice": (GOOD + "t1,ann,b\n", ":6: ann has voted on t1 before"),
    "twice after a long label": (GOOD + f"t3,bo,{'a' * 200_000}\nt1,ann,b\n", ":7: ann has voted"),
    "twice after a stray quote": (GOOD + 't3,"b"o,a\nt1,ann,b\n', ":7: ann has voted on t1 before"),
    "not UTF-8": (GOOD.encode() + b"t3,J\xf6rg,a\n", ":6: the bytes are not UTF-8 text"),
    "UTF-16": (GOOD.encode("utf-16"), ":1: the bytes are not UTF-8 text"),
    "zero byte": (GOOD + "t3,ann,a\0\n", ":6: a byte is zero"),
    "open quote": (
        GOOD + 't3,"ann,a\nt4,bo,b\n',
        ":6: broken CSV (a quotation mark is never closed",
    ),
    "label over a line": (GOOD + 't3,ann,"a\rb"\n', ":6: the label goes over a line's end"),
    "JSON zero": (
        '{"task": "t", "worker": "w\\u0000", "label": "a"}\n',
        ":1: the line holds",
    ),
    "broken JSON": ('{"task": 1, "worker": 2, "label": 3}\n\n{"task": 1,\n', ":3: broken JSON"),
    "JSON list": ("[1, 2]\n", ":1: not a JSON object"),
    "JSON without label": ('{"task": "t", "worker": "w"}\n', ":1: the label is empty"),
    "JSON nested": (
        '{"task": "t", "worker": "w", "label": ["a"]}\n',
        ":1: label must be text or a number",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_get_one_sentence_with_the_line(votes_file, name):
    content, sentence = BAD[name]
    path = votes_file(content)
    with pytest.raises(VotesError) as error:
        read_votes(path)
    assert str(error.value).startswith(f"{path}{sentence}")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("command", ["agreement", "tiers"])
def test_a_command_ends_with_the_sentence_and_status_1(votes_file, tmp_path, command):
    path = votes_file(BAD["twice"][0])
    error = refused(command, "--votes", path, "--json")
    assert (str(error).startswith(f"{path}:6: ann has voted"), error.returncode) == (True, 1)
    gone = tmp_path / "none.csv"
    assert str(refused(command, "--votes", gone)) == f"{gone}: no such file or directory"
    assert "is a directory" in str(refused(command, "--votes", tmp_path))


@pytest.mark.parametrize("label", ["good", "nan", "inf", "-inf", "1e999", "1_000", "2,5"])
def test_a_label_that_is_no_number_is_named_with_its_line(votes_file, label):
    path = votes_file(f'task,worker,label\nt1,ann,1\nt1,bo,"{label}"\n')
    error = refused("agreement", "--votes", path, "--level", "ordinal")
    assert str(error) == f"{path}:3: the label {label!r} is not a number (ordinal level)"


@pytest.mark.parametrize(
    "content",
    [
        "task,worker,label,,\nt,a,x,,\nt,b,x,,\n",
        "worker,note,task,note,label\na,1,t,1,x\nb,2,t,2,x\n",
        'task,worker,label\n"t","a","x"\n"t","b","x"',
        "\n\ntask,worker,label\n\nt,a,x\n\nt,b,x\n\n",
        "task,worker,label\rt,a,x\rt,b,x\r",
        '{"task": 1, "worker": "a", "label": true}\r\n{"task": 1, "worker": "b", "label": true}',
    ],
)
def test_odd_but_readable_files(votes_file, content):
    report = json.loads(run("agreement", "--votes", votes_file(content), "--json"))
    assert (report["items"], report["votes"], report["workers"]) == (1, 2, 2)
    assert report["percent_agreement"]["value"] == 1


def test_json_lines_and_csv_give_the_same_report(votes_file):
    rows = [row.split(",") for row in GOOD.split()[1:]]
    lines = [json.dumps(dict(zip(("task", "worker", "label"), row, strict=True))) for row in rows]
    path = votes_file("\n".join(lines), "votes.jsonl")
    expected = run("agreement", "--votes", votes_file(GOOD), "--json")
    assert run("agreement", "--votes", path, "--json") == expected


def test_times_are_read_and_checked(votes_file):
    head = "task,worker,label,submitted_at\nt1,ann,a,2026-01-01T10:00:00+01:00\n"
    votes = read_votes(votes_file(head + "t1,bo,a,\n"), timed=True)
    assert votes.submitted[0] == 1767258000 * 1_000_000
    assert votes.submitted[1] > votes.submitted[0]
    with pytest.raises(VotesError, match=":3: submitted_at is not a time"):
        read_votes(votes_file(head + "t1,bo,a,yesterday\n"), timed=True)
