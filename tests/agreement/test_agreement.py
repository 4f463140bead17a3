"""`agreement --votes` and `tiers --votes`: what they print, and what bad files get."""

import io
import json
import subprocess
import sys
import warnings

import pytest
from django.core.management import CommandError, call_command, execute_from_command_line

from annotation.agreement.votes.table import VotesError, read_votes

GOOD = "task,worker,label\nt1,ann,a\nt1,bo,b\nt2,ann,a\nt2,bo,a\n"


@pytest.fixture
def votes_file(tmp_path):
    def write(content, name="votes.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def run(command, *arguments):
    out, err = io.StringIO(), io.StringIO()
    call_command(command, *map(str, arguments), stdout=out, stderr=err)
    return out.getvalue()


def refused(command, *arguments):
    with pytest.raises(CommandError) as caught:
        run(command, *arguments)
    return caught.value


def test_the_json_report_has_the_contracts_keys(votes_file):
    report = json.loads(run("agreement", "--votes", votes_file(GOOD), "--json"))
    assert list(report) == [
        "items", "paired_items", "votes", "workers", "votes_per_item", "categories",
        "percent_agreement",
        "fleiss_kappa", "symmetric_kappa", "brennan_prediger", "gwet_ac1", "gwet_ac2",
        "krippendorff_alpha", "cohen_kappa", "icc",
    ]  # fmt: skip
    assert (report["items"], report["votes"], report["workers"]) == (2, 4, 2)
    assert report["votes_per_item"] == {"min": 2, "median": 2.0, "max": 2}
    assert report["categories"] == ["a", "b"]
    assert set(report["percent_agreement"]) >= {"value", "se", "low", "high"}
    assert report["percent_agreement"]["value"] == 0.5
    assert report["symmetric_kappa"]["value"] == 0
    assert report["fleiss_kappa"]["value"] == pytest.approx((0.5 - 0.625) / 0.375)
    assert list(report["krippendorff_alpha"]) == ["nominal"]
    pair = report["cohen_kappa"]["pairs"][0]
    assert (pair["a"], pair["b"], pair["n"], pair["value"]) == ("ann", "bo", 2, 0)
    assert report["cohen_kappa"]["mean"] == 0


def test_declared_labels_count_as_options(votes_file):
    path = votes_file(GOOD)
    report = json.loads(run("agreement", "--votes", path, "--labels", "a,b,c,d,e", "--json"))
    assert report["categories"] == ["a", "b", "c", "d", "e"]
    assert report["brennan_prediger"]["value"] == pytest.approx((0.5 - 0.2) / 0.8)
    error = refused("agreement", "--votes", path, "--labels", "a,c")
    assert str(error) == f"{path}:3: the label 'b' is not one of the declared labels"
    assert error.returncode == 1


def test_higher_levels_give_the_lower_alphas_too(votes_file):
    path = votes_file("task,worker,label\n1,a,1\n1,b,1.0\n2,a,2\n2,b,3.5\n")
    report = json.loads(run("agreement", "--votes", path, "--level", "interval", "--json"))
    assert report["categories"] == [1, 2, 3.5]
    assert list(report["krippendorff_alpha"]) == ["nominal", "ordinal", "interval"]
    assert report["gwet_ac2"]["value"] is not None
    assert set(report["icc"]) == {"icc1", "icc2", "icc3", "icc1k", "icc2k", "icc3k"}
    assert report["cohen_kappa"]["pairs"][0]["quadratic"] is not None


def test_tables_for_people(votes_file):
    path = votes_file(GOOD)
    printed = run("agreement", "--votes", path)
    assert "4 votes of 2 annotators on 2 items" in printed
    assert "Cohen's kappa, mean of 1 pairs: 0.000" in printed
    printed = run("tiers", "--votes", path)
    assert "pending" in printed


def test_tiers_of_a_file(votes_file):
    rows = [f"t{i},w{j},{'a' if j else 'b'}" for i in range(30) for j in range(9)]
    path = votes_file("task,worker,label\n" + "\n".join(rows))
    report = json.loads(run("tiers", "--votes", path, "--options", "2", "--json"))
    assert [item["task"] for item in report["items"][:2]] == ["t0", "t1"]
    assert report["items"][0]["votes"] == {"a": 8, "b": 1}
    assert report["tiers"]["hard"]["in_band"] is True
    assert "one more than the 2 options" in str(
        refused("tiers", "--votes", votes_file("task,worker,label\nt,a,x\nt,b,y\nt,c,z\n"),
                "--options", "2")
    )  # fmt: skip


BAD = {
    "no column": ("task,worker\nt,a\n", ":1: no column label (the file has: task, worker)"),
    "two columns": ("task,worker,label,label\n", ":1: two columns are called label"),
    "no votes": ("task,worker,label\n", ":1: there are no votes"),
    "empty": ("", ":1: the file is empty"),
    "blank": ("\n \n", ":1: the file is empty"),
    "short row": (GOOD + "t3,ann\n", ":6: 2 fields where the header has 3"),
    "long row": (GOOD + "t3,ann,a,b\n", ":6: 4 fields where the header has 3"),
    "no label": (GOOD + "\nt3,ann,\n", ":7: the label is empty"),
    "no worker": (GOOD + "t3,  ,a\n", ":6: the worker is empty"),
    "twice": (GOOD + "t1,ann,b\n", ":6: ann has voted on t1 before"),
    "not UTF-8": (GOOD.encode() + b"t3,J\xf6rg,a\n", ":6: the bytes are not UTF-8 text"),
    "open quote": (GOOD + 't3,"ann,a\n', ":5: broken CSV after this line"),
    "zero byte": (GOOD + "t3,ann,a\0\n", ":6: a byte is zero"),
    "UTF-16 without a mark": (GOOD.encode("utf-16-le"), ":1: a byte is zero"),
    "header alone": ("task,worker,label", ":1: there are no votes"),
    "endless header": ("a" * 300_000 + ",b\n", ":1: no column task and no column worker"),
    "endless label": (GOOD + f"t3,ann,{'a' * 3_000_000}\n", ":6: more than 1,048,576 bytes"),
    "twice after a long label": (GOOD + f"t3,bo,{'a' * 200_000}\nt1,ann,b\n", ":7: ann has voted"),
    "twice after a stray quote": (GOOD + 't3,"b"o,a\nt1,ann,b\n', ":7: ann has voted on t1 before"),
    "label over a line": (GOOD + 't3,ann,"a\rb"\n', ":6: the label goes over a line's end"),
    "JSON zero": ('{"task": "t", "worker": "w\\u0000", "label": "a"}\n', ":1: worker is not valid"),
    "UTF-16": (GOOD.encode("utf-16"), ":1: the bytes are not UTF-8 text"),
    "broken JSON": (
        '{"task": 1, "worker": 2, "label": 3}\n\n{"task": 1,\n',
        ":3: the line is not JSON",
    ),
    "JSON list": ("[1, 2]\n", ":1: the line is not a JSON object"),
    "JSON without label": ('{"task": "t", "worker": "w"}\n', ":1: no label"),
    "JSON null": ('{"task": "t", "worker": "w", "label": null}\n', ":1: the label is empty"),
    "JSON nested": (
        '{"task": "t", "worker": "w", "label": ["a"]}\n',
        ":1: label must be text or a number",
    ),
    "half a character": (
        '{"task": "t", "worker": "w", "label": "\\ud800"}\n',
        ":1: label is not valid text",
    ),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("command", ["agreement", "tiers"])
def test_bad_files_get_one_sentence_with_the_line(votes_file, command, name):
    content, sentence = BAD[name]
    path = votes_file(content)
    error = refused(command, "--votes", path, "--json")
    assert str(error).startswith(f"{path}{sentence}")
    assert "\n" not in str(error)
    assert error.returncode == 1


@pytest.mark.parametrize("label", ["good", "nan", "inf", "-inf", "1e999", "1_000", "2,5"])
def test_a_label_that_is_no_number_is_named_with_its_line(votes_file, label):
    path = votes_file(f'task,worker,label\nt1,ann,1\nt1,bo,"{label}"\n')
    error = refused("agreement", "--votes", path, "--level", "ordinal")
    assert str(error) == f"{path}:3: the label {label!r} is not a number (ordinal level)"


def test_more_numbers_than_can_be_weighed_are_refused_with_advice(votes_file):
    rows = "\n".join(f"t{i},ann,{i / 7}" for i in range(3001))
    path = votes_file(f"task,worker,label\n{rows}\n")
    error = refused("agreement", "--votes", path, "--level", "interval")
    assert str(error).startswith(f"{path}:2: 3,001 different numbers are too many")


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


def test_lines_are_those_of_an_editor_where_fields_have_line_breaks(votes_file):
    head = 'task,worker,label,reason\nt1,ann,a,"two\nlines"\n\nt1,bo,b,"one, with comma"\n'
    assert len(read_votes(votes_file(head))) == 2
    error = refused("agreement", "--votes", votes_file(head + "t2,ann,,\n"))
    assert ":6: the label is empty" in str(error)


def test_byte_order_mark_windows_lines_and_column_order_do_not_matter(votes_file):
    expected = run("agreement", "--votes", votes_file(GOOD), "--json")
    windows = "\r\n".join(
        ["label, worker ,seconds,task"]
        + [f"{b} , {w},1,{t}" for t, w, b in (row.split(",") for row in GOOD.split()[1:])]
    )
    for content in (b"\xef\xbb\xbf" + GOOD.encode(), windows):
        assert run("agreement", "--votes", votes_file(content), "--json") == expected


def test_json_lines_and_csv_give_the_same_report(votes_file):
    rows = [row.split(",") for row in GOOD.split()[1:]]
    lines = [json.dumps(dict(zip(("task", "worker", "label"), row, strict=True))) for row in rows]
    path = votes_file("\n".join(lines), "votes.jsonl")
    expected = run("agreement", "--votes", votes_file(GOOD), "--json")
    assert run("agreement", "--votes", path, "--json") == expected


def test_times_and_seconds_are_read_and_checked(votes_file):
    head = "task,worker,label,submitted_at,seconds\nt1,ann,a,2026-01-01T10:00:00+01:00,3.5\n"
    votes = read_votes(votes_file(head + "t1,bo,a,,\n"), timed=True)
    assert votes.submitted[0] == 1767258000 * 1_000_000
    assert votes.submitted[1] > votes.submitted[0]
    assert votes.seconds[0] == 3.5
    with pytest.raises(VotesError, match=":3: submitted_at is not a time"):
        read_votes(votes_file(head + "t1,bo,a,yesterday,\n"), timed=True)
    with pytest.raises(VotesError, match=":3: seconds is not a number"):
        read_votes(votes_file(head + "t1,bo,a,,-1\n"), timed=True)


def test_a_file_that_is_not_there_or_is_a_folder(tmp_path):
    error = refused("agreement", "--votes", tmp_path / "none.csv")
    assert str(error) == f"{tmp_path / 'none.csv'}: no such file or directory"
    assert "is a directory" in str(refused("tiers", "--votes", tmp_path))


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("demo", "--votes", "x.csv"),
        ("--votes", "x.csv", "--level", "best"),
        ("--votes", "x.csv", "--bootstrap", "-1"),
        ("--votes", "x.csv", "--bootstrap", "many"),
        ("--votes", "x.csv", "--labels", "a,,b"),
        ("--votes", "x.csv", "--labels", "a,a"),
        ("--votes", "x.csv", "--bootstrap", "1" * 5000),
    ],
)
def test_wrong_usage_is_refused_before_anything_is_read(arguments):
    assert "Error" in str(refused("agreement", *arguments))


def test_declared_labels_must_be_numbers_where_the_level_wants_them(votes_file):
    path = votes_file("task,worker,label\nt1,ann,1\nt1,bo,2\n")
    error = refused("agreement", "--votes", path, "--level", "ordinal", "--labels", "1,2,tie")
    assert str(error) == "--labels: 'tie' is not a number (ordinal level)"
    assert error.returncode == 2


@pytest.mark.parametrize("scores", ["0 1e-200 0", "1e-320 2e-320 1e-320", "1e100 -1e100 0"])
def test_numbers_at_the_ends_of_floating_point_give_values_or_reasons(votes_file, scores):
    first, second, third = scores.split()
    rows = f"t1,a,{first}\nt1,b,{second}\nt2,a,{third}\nt2,b,{third}\nt3,a,0.5\n"
    path = votes_file("task,worker,label\n" + rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = json.loads(run("agreement", "--votes", path, "--level", "interval", "--json"))
    alpha = report["krippendorff_alpha"]["interval"]
    assert alpha["value"] is not None or "too close" in alpha["reason"]


def test_one_item_has_values_and_no_interval_by_any_way(votes_file):
    report = json.loads(run("agreement", "--votes", votes_file(GOOD[: GOOD.index("t2")]), "--json"))
    for found in (report["percent_agreement"], report["krippendorff_alpha"]["nominal"]):
        assert found == {
            "value": 0, "se": None, "low": None, "high": None,
            "reason": "one item has no standard error",
        }  # fmt: skip


def test_the_tiers_of_a_file_say_of_all_items_what_they_say_of_each_tier(votes_file):
    rows = [f"t{i},w{j},{'a' if j >= i else 'b'}" for i in range(3) for j in range(9)]
    path = votes_file("task,worker,label\n" + "\n".join([*rows, "t9,w0,a"]))
    report = json.loads(run("tiers", "--votes", path, "--json"))
    assert report["all"]["items"] == 4
    assert report["all"]["votes_per_item"] == {"min": 1, "median": 9, "max": 9}
    assert report["all"]["symmetric_kappa"]["value"] == pytest.approx((1 + 5 / 9 + 2 / 9) / 3)
    assert set(report["all"]) < set(report["tiers"]["hard"]) >= {"gwet_ac1", "krippendorff_alpha"}
    assert report["tiers"]["pending"]["votes_per_item"] == {"min": 1, "median": 1, "max": 1}
    assert report["tiers"]["ambiguous"]["votes_per_item"]["max"] is None
    lines = run("tiers", "--votes", path).splitlines()
    assert lines[2].split() == [
        *("tier", "items", "votes", "agreement", "kappa", "raw", "Fleiss", "AC1", "alpha"),
        *("new", "panel", "band", "in", "band"),
    ]
    assert lines[3].split()[:3] == ["all", "4", "1/9/9"]


def test_a_reader_that_has_seen_enough_is_no_error(votes_file):
    path = votes_file("task,worker,label\n" + "".join(f"t,w{i},a\n" for i in range(700)))
    command = [sys.executable, "manage.py", "agreement", "--votes", path, "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""


def test_exit_statuses_and_what_stands_on_which_stream(votes_file, capsys):
    def status(*arguments):
        try:
            execute_from_command_line(["manage.py", *map(str, arguments)])
        except SystemExit as leaving:
            return leaving.code, *capsys.readouterr()
        return 0, *capsys.readouterr()

    code, out, err = status("agreement", "--votes", votes_file(GOOD), "--json")
    assert (code, json.loads(out)["votes"], err) == (0, 4, "")
    bad = votes_file("task,worker\n", "bad.csv")
    code, out, err = status("agreement", "--votes", bad, "--json")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert f"{bad}:1: no column label" in err
    assert status("tiers", "--votes", bad, "--options", "1")[0] == 2
    assert status("agreement")[0] == 2


def test_a_quote_that_is_never_closed_is_refused_and_swallows_nothing(tmp_path):
    path = tmp_path / "votes.csv"
    rows = [f"t{n},w{m},x" for n in range(3) for m in range(3)]
    path.write_text("task,worker,label\n" + "\n".join([*rows[:4], 't9,w9,"x', *rows[4:]]) + "\n")
    with pytest.raises(CommandError, match="broken CSV after this line"):
        call_command("agreement", "--votes", str(path))
    path.write_text('task,worker,label\nt1,w1,"x\ny"\nt1,w2,x\n')
    with pytest.raises(CommandError, match="label goes over a line's end"):
        call_command("agreement", "--votes", str(path))
