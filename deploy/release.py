"""Look whether this commit may be released, and tag it: part of `make release`."""

import datetime
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from annotation.product import __version__

ROOT = Path(__file__).parents[1]


def git(*words: str) -> str:
    """What git prints."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def faults(version: str, tagged: str, changed: str, root: Path = ROOT) -> list[str]:
    """What keeps `version` from being released, a sentence each.

    `tagged` is another commit that has this version's tag, "" for none.
    """
    found = []
    if changed:
        found.append("There are changes that are not committed.")
    if tagged:
        found.append(f"v{version} is the tag of {tagged}: raise the version.")
    changelog = (root / "CHANGELOG.md").read_text("utf-8")
    entry = re.search(rf"^## \[{re.escape(version)}\] - (.+)$", changelog, re.MULTILINE)
    try:
        datetime.date.fromisoformat(entry[1] if entry else "")
    except ValueError:
        found.append(f"CHANGELOG.md has no entry `## [{version}] - YYYY-MM-DD`.")
    for name in ("agreement", "client"):
        other = tomllib.loads((root / name / "pyproject.toml").read_text("utf-8"))["project"]
        if other["version"] != version:
            found.append(f"{name}/pyproject.toml has version {other['version']}.")
    if f"\nversion: {version}\n" not in (root / "CITATION.cff").read_text("utf-8"):
        found.append(f"CITATION.cff does not have version {version}.")
    return found


if __name__ == "__main__":
    head, tag = git("rev-parse", "HEAD"), f"v{__version__}"
    tagged = git("rev-list", "-n1", tag) if git("tag", "--list", tag) else ""
    elsewhere = tagged if tagged != head else ""
    if words := faults(__version__, elsewhere, git("status", "--porcelain")):
        sys.exit("\n".join(words))
    if not tagged:
        git("tag", "--annotate", tag, "--message", f"Attune {__version__}")
