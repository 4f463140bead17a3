"""Attune's command line: `attune`, and in a clone `./attune`; `attune help` lists the commands."""

import ast
import gc
import importlib.util
import os
import re
import sys
import textwrap
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured
from django.core.management import ManagementUtility, get_commands
from django.db import OperationalError

from annotation.local import process
from annotation.local.folders import LocalServiceError
from annotation.product import INSTALLED, __version__

# These need no database: `up` starts one of its own, in the folder that ATTUNE_DATA names.
WITHOUT_DATA = {"up", "help", "--help", "-h", "version", "--version"}
START = "attune up" if INSTALLED else "make up"
HELP_WIDTH = 90
# The commands of the help, under what somebody wants to do.
GROUPS = {
    "Run Attune": "up prepare doctor backup restore",
    "People and access": "ensure_admin add_member make_token",
    "Fill a study": (
        "import_study import_data import_votes import_scores import_verdicts "
        "import_documents import_history import_release load_demo"
    ),
    "Have texts written": "propose split_personas conversations make_attributes generate",
    "Judge": "open_batch reopen_batch judge_items draw_votes",
    "Read results": "agreement tiers gap estimates groups",
    "Publish": "release check_release review_release diff_releases push_release",
    "Evaluate and train models": (
        "evaluate judge train training_pairs leaderboard interventions retrieval_study"
    ),
    "About this copy": "licences",
}


def _purpose(app: str, name: str) -> str:
    """How a command's help begins, read without importing what the command needs."""
    spec = importlib.util.find_spec(f"{app}.management.commands.{name}")
    source = Path(spec.origin).read_text("utf-8") if spec and spec.origin else ""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "help":
            words = re.split(r"[.:;]\s| \(|\.$", ast.literal_eval(node.value))[0]
            return textwrap.shorten(words, HELP_WIDTH, placeholder=" …")
    return ""


class CommandLine(ManagementUtility):
    """Django's command line with a help that names Attune's commands; `--all` names every one."""

    def main_help_text(self, commands_only: bool = False) -> str:
        """Return the commands in groups; Django's own list for `help --all`."""
        if commands_only or "--all" in self.argv:
            return super().main_help_text(commands_only)
        known = get_commands()
        lines = ["attune NAME --help explains a command."]
        for title, names in GROUPS.items():
            lines += ["", title]
            lines += [f"  {name:18} {_purpose(known[name], name)}" for name in names.split()]
        return "\n".join([*lines, "", "attune help --all: Django's commands, too."])


def use_running_installation(arguments: list[str]) -> None:
    """Name the data folder of the installation that runs, where the environment names none."""
    named = {"ATTUNE_DATA", "DATABASE_URL", "DATABASE_URL_FILE"} & set(os.environ)
    if named or not arguments or WITHOUT_DATA & {arguments[0], arguments[-1]}:
        return
    if folder := process.data_folder():
        os.environ["ATTUNE_DATA"] = str(folder)


def main() -> None:
    """Run one command; what an operator can mend is a sentence, not a traceback."""
    # Of the modules that a command loads nothing is garbage: looking for it takes a tenth of that.
    gc.set_threshold(20_000, 20, 20)
    if sys.argv[1:] in (["version"], ["--version"]):
        print(f"Attune {__version__}")
        return
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotation.settings")
    try:
        use_running_installation(sys.argv[1:])
        line = CommandLine(sys.argv)
        line.prog_name = "attune"
        line.execute()
    except (LocalServiceError, ImproperlyConfigured) as error:
        sys.exit(str(error))
    except OperationalError as error:
        reason = str(error).strip().splitlines()[0]
        sys.exit(
            f"The database does not answer: start Attune with `{START}`, or set DATABASE_URL. "
            f"({reason})"
        )


if __name__ == "__main__":
    main()
