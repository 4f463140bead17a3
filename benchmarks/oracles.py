"""An environment of its own for libraries that must not be dependencies (copyleft, or huge).

    python -m benchmarks.oracles               # all three
    python -m benchmarks.oracles krippendorff

makes ``var/oracles`` (or the folder in ATTUNE_ORACLES). `make bench` uses what it finds there and
leaves the comparison out where it finds nothing. Each library runs in that environment's own
process; only its calls are timed, on data handed over as a file.
"""

import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import numpy as np

# What is compared of each library, and all that it imports: crowd-kit declares transformers too,
# which take half a gigabyte and which aggregation never loads.
LIBRARIES = {
    "krippendorff": ("numpy",),
    "pingouin": (
        "matplotlib",
        "numpy",
        "pandas",
        "pandas-flavor",
        "scikit-learn",
        "scipy",
        "seaborn",
        "statsmodels",
        "tabulate",
    ),
    "crowd-kit": ("attrs", "nltk", "numpy", "pandas", "scikit-learn", "scipy", "tqdm"),
}
ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path(os.environ.get("ATTUNE_ORACLES") or ROOT / "var" / "oracles")

RUNNER = """
import json, sys, time, warnings
import numpy as np
warnings.simplefilter("ignore")
data = dict(np.load(sys.argv[1]))
{prepare}
def call():
    {call}
times = []
for _ in range({rounds}):
    begin = time.perf_counter()
    found = call()
    times.append(time.perf_counter() - begin)
print(json.dumps([min(times), {value}]))
"""


def python():
    """The environment's interpreter, or None where it has not been made."""
    interpreter = FOLDER / "bin" / "python"
    return interpreter if interpreter.exists() else None


def create(names):
    """Make the environment if need be and install the libraries ``names`` into it."""
    if python() is None:
        venv.create(FOLDER, with_pip=True)
    install = [python(), "-m", "pip", "install", "--quiet"]
    subprocess.run([*install, *{part for name in names for part in LIBRARIES[name]}], check=True)
    subprocess.run([*install, "--no-deps", *names], check=True)


def timed(library, prepare, call, data, *, value="float(found)", rounds=3):
    """Seconds of the best call and its value in the oracles' environment.

    ``library`` is one of LIBRARIES, ``prepare`` are lines run once, ``call`` is the body to time
    (with ``return``), ``data`` arrays by name. None, and a line that says so, where the environment
    or the library is missing.
    """
    if python() is None:
        return _left_out(library)
    code = RUNNER.format(prepare=prepare, call=call, value=value, rounds=rounds)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "data.npz"
        np.savez(file, **data)
        done = subprocess.run(
            [python(), "-c", code, file], capture_output=True, text=True, check=False
        )
    if "ModuleNotFoundError" in done.stderr:
        return _left_out(library)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def _left_out(library):
    how = f"python -m benchmarks.oracles {library}"
    print(f"{library} is left out: it is not installed ({how})", flush=True)


if __name__ == "__main__":
    create(sys.argv[1:] or list(LIBRARIES))
    sys.stdout.write(f"{FOLDER}\n")
