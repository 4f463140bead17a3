"""Two hundred hostile files: each is refused in words, soon, and in little memory."""

import json
import re
import subprocess
import sys

import pytest

from annotation.candidates import documents
from annotation.core import foreign
from annotation.core.foreign import MB, Limits
from annotation.datasets import release_import
from annotation.histories import ingest
from tests.core.hostile import DEFINITION, DOCUMENT, FILES, HISTORY, MODEL, RELEASE, TABLE

ROOMS = {
    HISTORY: ingest.ROOM,
    DOCUMENT: documents.ROOM,
    RELEASE: release_import.ROOM,
    **dict.fromkeys((TABLE, MODEL, DEFINITION), foreign.ROOM),
}
# Of one file, whatever else the machine does meanwhile.
SECONDS, MEMORY = 2, 300 * MB
# Reads each file in a fork of one process that has imported the readers, and prints how it ended.
HARNESS = """
import json, os, sys
from pathlib import Path
from annotation.core import foreign
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
            foreign.main(reader, path, scratch, Limits(**limits), "en")
        except SystemExit as end:
            status = end.code
        os._exit(status)
    _, status, usage = os.wait4(pid, 0)
    last = output.read_bytes().splitlines()[-1:] if output.stat().st_size < 1 << 24 else []
    print(json.dumps([name, os.waitstatus_to_exitcode(status), (last or [b""])[0][:400].decode(),
        usage.ru_utime + usage.ru_stime, usage.ru_maxrss]), flush=True)
    output.unlink()
"""


# What takes a second or more to make or to read; `make proofs` reads it, too.
LARGE = re.compile(
    r"60 MB|MB of (digits|lines|objects)|(50|[23]0\d|30) MB|bomb|million|1,000,000|share|twice"
    r"|(60|50|21|16|4|3|2|100),000 (col|cell|times|files|keys|row)|one word in|lists of a word"
    r"|200,000 deep|one long text|in a gzip|entries"
)


@pytest.fixture(scope="module")
def harness():
    """The process that reads each file in a fork."""
    process = subprocess.Popen(
        [sys.executable, "-c", HARNESS],
        cwd=foreign.HOME,
        env=foreign.ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    process.stdin.write(json.dumps(list(ROOMS)) + "\n")
    yield process
    process.stdin.close()
    assert process.wait() == 0


def test_the_corpus_is_large():
    assert len(FILES) >= 200


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.proof) if LARGE.search(n) else n for n in FILES]
)
def test_a_hostile_file_is_refused_in_words_soon_and_in_little_memory(harness, tmp_path, name):
    reader, make = FILES[name]
    path = tmp_path / "file"
    path.write_bytes(make())
    limits = vars(Limits.of(path.stat().st_size, ROOMS[reader]))
    harness.stdin.write(json.dumps([name, reader, str(path), str(tmp_path), limits]) + "\n")
    harness.stdin.flush()
    told, code, last, seconds, kilobytes = json.loads(harness.stdout.readline())
    assert told == name
    refusal = json.loads(last) if last.startswith("{") else {}
    # Without words of its own it ended at a limit, which the parent puts into words.
    assert refusal.get("refusal") or code in foreign._ENDS, (code, last)
    assert (seconds < SECONDS, kilobytes * 1024 < MEMORY) == (True, True), (seconds, kilobytes)
