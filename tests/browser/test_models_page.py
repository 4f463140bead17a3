"""The page of models on a release: wide and on a phone, light and dark, empty and with figures."""

import pytest

from annotation.evaluation import draws
from tests.browser.conftest import PHONE
from tests.browser.test_axe import check  # noqa: F401 - a fixture
from tests.evaluation.conftest import folder, measured, release, server, write_manifest  # noqa: F401 - fixtures
from tests.evaluation.test_draws import TORN, judge_all, pool  # noqa: F401 - a fixture

pytestmark = pytest.mark.django_db(transaction=True)
ADDRESS = "/studies/tea/releases/1/models/"


def test_the_standings_have_no_violation_and_fit_wide_and_on_a_phone(
    page, check, cast, let_in, measured  # noqa: F811
):  # fmt: skip
    let_in(page, cast.person("Carol"))
    check(page, ADDRESS)
    tables = page.locator("main .scroll")
    assert tables.evaluate_all("all => all.map(each => each.ariaLabel)") == [
        "Standings", "Accuracy by half and tier", "Accuracy by setting",
    ]  # fmt: skip
    # On a phone the cells of a row flow: nothing is beyond the edge.
    page.set_viewport_size(PHONE)
    assert tables.evaluate_all("all => all.map(each => each.scrollWidth - each.clientWidth)") == (
        [0] * 3
    )
    assert page.get_by_role("cell", name="the profile").first.is_visible()


def test_figures_of_people_and_models_fit_wide_and_on_a_phone(
    page, check, cast, let_in, pool  # noqa: F811
):  # fmt: skip
    draws.draw(pool, draws.Round("better", votes=60))
    judge_all(
        pool, cast.person("Ann"), cast.person("Bo"), choose=lambda item: TORN[item.position % 2]
    )
    let_in(page, cast.person("Carol"))
    check(page, "/studies/tea/results/better/estimates/", "/studies/tea/gap/")
    assert page.get_by_role("heading", name="People and models").is_visible()
