"""One's own history in a real browser: a file in pieces over a bad line, hiding by selecting."""

import pytest
from playwright.sync_api import expect

from annotation.histories import ingest
from annotation.histories.models import Mark, Session, Upload
from tests.browser import keyboard
from tests.histories.made import fill_history
from tests.histories.test_ingest import EXPORT

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _own_folder(settings, tmp_path):
    settings.DATA = tmp_path


def test_a_file_survives_a_broken_line_and_appears_in_the_list(page, let_in, cast, tmp_path):
    let_in(page, cast.person("Ann"))
    file = tmp_path / "export.json"
    file.write_bytes(EXPORT + b" " * (2 * ingest.PIECE))
    broken, pieces = [], []

    def line(route):
        if route.request.method == "PATCH":
            pieces.append(route.request.headers["upload-offset"])
            if len(pieces) == 2:
                broken.append(route.request.url)
                route.fulfill(status=502, body="a proxy's word")
                return
        route.continue_()

    page.route("**/api/v1/histories/**", line)
    page.goto("/history/uploads/")
    page.get_by_label("Your export").set_input_files(file)
    page.get_by_role("button", name="Send").click()
    expect(
        page.get_by_text("export.json has arrived. How it goes on is said below.")
    ).to_be_visible()
    assert len(broken) == 1
    assert pieces == ["0", str(ingest.PIECE), str(ingest.PIECE), str(2 * ingest.PIECE)]
    expect(page.get_by_text("It waits to be read.")).to_be_visible()
    upload = Upload.objects.get()
    assert upload.size == file.stat().st_size
    assert ingest.run(upload.pk).status == "done"
    expect(page.get_by_text("1 conversation · 2 messages")).to_be_visible()


def test_files_that_arrived_share_one_line(page, let_in, cast):
    let_in(page, cast.person("Ann"))
    page.goto("/history/uploads/")
    file = {"mimeType": "application/json", "buffer": EXPORT}
    files = [file | {"name": f"export-{n}.json"} for n in range(3)]
    for n in range(3):
        files[n]["buffer"] += b" " * n
    page.get_by_label("Your export").set_input_files(files)
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".under-way")).to_have_text(
        "3 files have arrived. How they go on is said below."
    )
    assert Upload.objects.count() == 3


def test_a_refused_file_is_told_with_its_reason(page, let_in, cast, tmp_path, settings):
    settings.HISTORY_MAX_BYTES = 1024 * 1024
    let_in(page, cast.person("Ann"))
    file = tmp_path / "big.zip"
    file.write_bytes(b"x" * (1024 * 1024 + 1))
    page.goto("/history/uploads/")
    page.get_by_label("Your export").set_input_files(file)
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("big.zip: The file is larger than the 1 MB")).to_be_visible()


def test_what_is_selected_is_ready_to_be_hidden(page, let_in, ann):
    session = fill_history(ann)
    let_in(page, ann)
    page.goto(f"/history/sessions/{session.pk}/")
    page.get_by_text("Thank you!").dblclick(position={"x": 10, "y": 10})
    field = page.get_by_label("Text to hide")
    expect(field).to_have_value("Thank")
    page.get_by_role("button", name="Hide it").click()
    expect(page.get_by_text("Hidden in 1 place.")).to_be_visible()
    assert Mark.objects.filter(session=session, rule="struck out").count() == 1
    page.get_by_role("link", name="As others would see it").click()
    expect(page.get_by_text("[PRIVATE_1] you!")).to_be_visible()


def test_sessions_are_decided_on_by_keyboard_alone(page, let_in, ann):
    fill_history(ann)
    let_in(page, ann)
    page.goto("/history/?kind=chat")
    keyboard.tick(page.get_by_role("checkbox").first)
    keyboard.press(page.get_by_role("button", name="Keep"))
    expect(page.get_by_text("1 session kept.")).to_be_visible()
    assert Session.objects.filter(owner=ann, state="kept").count() == 1
    assert page.url.endswith("?kind=chat")


def test_sessions_are_decided_on_one_after_another_by_single_keys(page, let_in, ann):
    fill_history(ann)
    let_in(page, ann)
    page.goto("/history/")
    page.get_by_role("button", name="Decide one by one").click()
    page.wait_for_url("**/history/sessions/**")
    for key, state in (("k", "kept"), ("d", "dropped")):
        here = page.url
        page.keyboard.press(key)
        page.wait_for_url(lambda url, here=here: url != here)
        assert Session.objects.filter(owner=ann, state=state).count() == 1
    here = page.url
    page.keyboard.press("n")
    page.wait_for_url(lambda url, here=here: url != here)
    page.locator("#strike [name=text]").press_sequentially("kd")
    assert Session.objects.filter(owner=ann).exclude(state="pending").count() == 2


def test_a_session_counts_as_opened_once_its_page_is_in_view(page, let_in, cast):
    session = fill_history(cast.person("Ann"))
    let_in(page, cast.person("Ann"))
    assert page.request.get(f"/history/sessions/{session.pk}/").ok
    assert not Session.objects.exclude(opened_at=None).exists()
    with page.expect_response(f"**/history/sessions/{session.pk}/opened/") as noted:
        page.goto(f"/history/sessions/{session.pk}/")
    assert noted.value.status == 204
    assert list(Session.objects.exclude(opened_at=None)) == [session]


def test_all_tabs_of_the_history_are_in_view_on_a_phone(page, let_in, cast):
    page.set_viewport_size({"width": 390, "height": 844})
    let_in(page, cast.person("Ann"))
    page.goto("/history/uploads/")
    for tab in page.get_by_role("navigation", name="Your history").get_by_role("link").all():
        box = tab.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
