"""The page of models on a release: wide and on a phone, light and dark, empty and with figures."""

import pytest
from django.core.management import call_command

from annotation.datasets import folders
from annotation.evaluation import draws
from tests.browser.conftest import PHONE
from tests.browser.test_axe import check  # noqa: F401 - a fixture
from tests.evaluation.conftest import folder, measured, release, server, write_manifest  # noqa: F401 - fixtures
from tests.evaluation.test_draws import TORN, judge_all, pool  # noqa: F401 - a fixture
from tests.papers.bespoke.test_judge import row_of
from tests.papers.personalbench import test_judge as stages

pytestmark = pytest.mark.django_db(transaction=True)
ADDRESS = "/studies/tea/releases/1/models/"


def test_the_standings_have_no_violation_and_fit_wide_and_on_a_phone(
    page, check, cast, let_in, measured  # noqa: F811
):  # fmt: skip
    query = cast.query(measured.study)
    for side, score in (("c", 4.0), ("r", 2.0)):
        name = f"specific-easy-0-{side}"
        answer = measured.study.candidates.create(query=query, external_id=name, text=side)
        answer.aspect_scores.create(aspect="helpfulness", score=score)
    let_in(page, cast.person("Carol"))
    check(page, ADDRESS)
    tables = page.locator("main .scroll")
    assert tables.evaluate_all("all => all.map(each => each.ariaLabel)") == [
        "Standings", "Accuracy by half and tier", "Accuracy by setting", "Accuracy on aspects",
        "Pearson's correlation of aspects and choice",
    ]  # fmt: skip
    # On a phone the cells of a row flow: nothing is beyond the edge.
    page.set_viewport_size(PHONE)
    assert tables.evaluate_all("all => all.map(each => each.scrollWidth - each.clientWidth)") == (
        [0] * 5
    )
    assert page.get_by_role("cell", name="the profile").first.is_visible()


def test_a_system_on_the_three_stages_fits_wide_and_on_a_phone(
    page, check, cast, let_in, tea, tmp_path, settings, server  # noqa: F811
):  # fmt: skip
    settings.DATA = tmp_path / "data"
    row = row_of(tea)
    row.layout = "personalbench"
    row.save()
    write_manifest(stages.make(folders.folder_of(row)), row)
    server.answer = stages.answers
    at = ["--release", str(folders.folder_of(row)), "--endpoint", "scripted"]
    call_command("judge", *at)
    call_command("judge", *at, "--generate", "attribute")
    let_in(page, cast.person("Carol"))
    check(page, ADDRESS, f"{ADDRESS}system/")
    page.get_by_label("Have the answers written").select_option("attribute")
    page.get_by_role("button", name="Show the cost").click()
    assert "14 calls" in page.get_by_role("status").inner_text()


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
