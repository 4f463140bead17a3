"""Two hundred hostile files: each is refused in words, soon, and in little memory."""

import json
import subprocess
import sys

import pytest

from annotation.candidates import documents
from annotation.core import foreign
from annotation.core.foreign import MB, Limits
from annotation.histories import ingest
from tests.core.hostile import DOCUMENT, FILES, HISTORY, TABLE

pytestmark = pytest.mark.long
ROOMS = {TABLE: foreign.ROOM, HISTORY: ingest.ROOM, DOCUMENT: documents.ROOM}
# Of one file, whatever else the machine does meanwhile.
SECONDS, MEMORY = 2, 300 * MB
# Reads each file in a fork of one process that has imported the readers, and prints how it ended.
HARNESS = """
import json, os, sys
from pathlib import Path
from annotation.core import child
from annotation.core.foreign import Limits
from importlib import import_module
for reader in json.loads(sys.stdin.readline()):
    import_module(reader.partition(":")[0])
import lxml.html, pypdf, pyarrow.parquet, python_calamine
for line in sys.stdin:
    name, reader, path, scratch, limits = json.loads(line)
    output = Path(scratch) / "output"
    pid = os.fork()
    if not pid:
        status = 0
        os.dup2(os.open(output, os.O_CREAT | os.O_WRONLY), 1)
        try:
            child.main(reader, path, scratch, Limits(**limits), "en")
        except SystemExit as end:
            status = end.code
        os._exit(status)
    _, status, usage = os.wait4(pid, 0)
    last = output.read_bytes().splitlines()[-1:] if output.stat().st_size < 1 << 24 else []
    print(json.dumps([name, os.waitstatus_to_exitcode(status), (last or [b""])[0][:400].decode(),
        usage.ru_utime + usage.ru_stime, usage.ru_maxrss]), flush=True)
    output.unlink()
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """{name: (exit code, last line, seconds of processor time, bytes of memory)}."""
    folder = tmp_path_factory.mktemp("hostile")
    harness = subprocess.Popen(
        [sys.executable, "-c", HARNESS],
        cwd=foreign.HOME,
        env=foreign.ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    harness.stdin.write(json.dumps(list(ROOMS)) + "\n")
    results = {}
    for name, (reader, make) in FILES.items():
        path = folder / "file"
        path.write_bytes(make())
        limits = vars(Limits.of(path.stat().st_size, ROOMS[reader]))
        words = [name, reader, str(path), str(folder), limits]
        harness.stdin.write(json.dumps(words) + "\n")
        harness.stdin.flush()
        told, *rest, kilobytes = json.loads(harness.stdout.readline())
        assert told == name
        results[name] = (*rest, kilobytes * 1024)
    harness.stdin.close()
    assert harness.wait() == 0
    return results


def test_the_corpus_is_large():
    assert len(FILES) >= 200


@pytest.mark.parametrize("name", FILES)
def test_a_hostile_file_is_refused_in_words_soon_and_in_little_memory(results, name):
    code, last, seconds, memory = results[name]
    refusal = json.loads(last) if last.startswith("{") else {}
    # Without words of its own it ended at a limit, which the parent puts into words.
    assert refusal.get("refusal") or code in foreign._ENDS, (code, last)
    assert (seconds < SECONDS, memory < MEMORY) == (True, True), (seconds, memory // MB)
