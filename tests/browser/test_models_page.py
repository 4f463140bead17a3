"""The page of models on a release: wide and on a phone, light and dark, empty and with figures."""

import pytest

from tests.browser.conftest import PHONE, WIDE
from tests.browser.test_axe import check  # noqa: F401 - a fixture
from tests.evaluation.conftest import folder, measured, release, server, write_manifest  # noqa: F401 - fixtures

pytestmark = pytest.mark.django_db(transaction=True)
ADDRESS = "/studies/tea/releases/1/models/"
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def test_the_standings_have_no_violation_and_fit_wide_and_on_a_phone(
    page, check, cast, let_in, measured  # noqa: F811
):  # fmt: skip
    query = cast.query(measured.study)
    for side, score in (("c", 4.0), ("r", 2.0)):
        name = f"specific-easy-0-{side}"
        answer = measured.study.candidates.create(query=query, external_id=name, text=side)
        answer.aspect_scores.create(aspect="helpfulness", score=score)
    let_in(page, cast.person("Carol"))
    for size in (WIDE, PHONE):
        page.set_viewport_size(size)
        check(page, ADDRESS)
        assert page.evaluate(TOO_WIDE) == 0, size
    captions = page.locator("main table caption").all_inner_texts()
    assert [caption.split(":")[0] for caption in captions] == [
        "Standings", "Accuracy by half and tier", "Accuracy by setting", "Accuracy on aspects",
        "Pearson's correlation of aspects and choice",
    ]  # fmt: skip
    # The table moves inside its frame with the keyboard, too.
    frame = page.get_by_role("region", name="Standings")
    frame.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("node => node.scrollLeft > 0", arg=frame.element_handle())
