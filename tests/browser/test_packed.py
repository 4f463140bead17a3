"""What is served of our style sheets and scripts: the files without comments and white space."""

from pathlib import Path

import pytest
from django.conf import settings
from django.core.files.storage import FileSystemStorage
from django.test import override_settings

from annotation.core.made import PrivateManifestStorage

STATIC = settings.BASE_DIR / "static"
# A variable's value keeps the white space it was written with, and addresses are hashed.
RULES = r"""text => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(text);
  const plain = (words) => words.replace(/\s+/g, " ").replace(/, /g, ",");
  return [...sheet.cssRules].map((rule) => plain(rule.cssText).replace(/url\([^)]*\)/g, "url()"));
}"""


@pytest.fixture(scope="module")
def blank(browser):
    page = browser.new_page()
    yield page
    page.close()


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """The text that is served of each file, by its path."""
    folder = tmp_path_factory.mktemp("packed")
    names = [path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*.*")]
    with override_settings(STATIC_MANIFEST=folder):
        storage = PrivateManifestStorage(location=folder / "static")
        for name in names:
            with (STATIC / name).open("rb") as source:
                storage.save(name, source)
        list(storage.post_process({name: (FileSystemStorage(STATIC), name) for name in names}))
    return {
        name: Path(storage.path(hashed)).read_text(encoding="utf-8")
        for name, hashed in storage.hashed_files.items()
    }


def sources(ending):
    return {
        path.relative_to(STATIC).as_posix(): path.read_text(encoding="utf-8")
        for path in STATIC.glob(f"*/*{ending}")
    }


def test_a_shortened_style_sheet_has_the_same_rules(blank, packed):
    for name, source in sources(".css").items():
        assert blank.evaluate(RULES, packed[name]) == blank.evaluate(RULES, source) != []
        assert len(packed[name]) < 0.95 * len(source)


def test_a_shortened_script_can_be_parsed(blank, packed):
    for name, source in sources(".js").items():
        blank.evaluate("text => void new Function(text)", packed[name])
        assert len(packed[name]) < len(source)


def test_what_packages_bring_is_served_as_it_is(packed):
    name = "vendor/pico/pico.css"
    assert packed[name] == (STATIC / name).read_text(encoding="utf-8")
