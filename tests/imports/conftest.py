"""Tables that the command `import_data` brings into a study."""

import json

import pytest
from django.core.management import call_command


@pytest.fixture
def bring(tmp_path, capsys):
    """A function that imports text or objects and returns the command's JSON."""

    def run(content, *args, name="mine.csv"):
        path = tmp_path / name
        if isinstance(content, list):
            content = "\n".join(json.dumps(row) for row in content)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        capsys.readouterr()  # of a file that was refused before
        call_command("import_data", str(path), *args, "--json")
        return json.loads(capsys.readouterr().out)

    return run


def counts(report) -> list[int]:
    names = ("personas", "queries", "candidates", "items", "votes", "scores", "workers")
    return [report[name] for name in names]
