"""How twelve pages look, at 1440 px in light and 390 px in dark, and what a first visit costs.

Pictures are small (a quarter) and compared block by block, so that another machine's fonts do not
matter and a lost style does. ``ATTUNE_PICTURES=1`` takes them anew: look at them before you commit.
"""

import base64
import gzip
import os
from pathlib import Path

import pytest

from annotation.agreement.recompute import recompute
from annotation.candidates.models import Candidate
from annotation.judging.work import present, queue, submit
from tests.browser.conftest import PHONE, WIDE
from tests.browser.kinds import LONG, open_kind

pytestmark = pytest.mark.django_db(transaction=True)
FOLDER = Path(__file__).parent / "pictures"
PAGES = {
    None: {"front": "/", "login": "/accounts/login/"},
    "Ann": {"desk": "/", "judging": "/studies/tea/judge/", "history": "/history/"},
    "Adam": {
        name: f"/studies/tea/{address}"
        for name, address in {
            **{name: f"{name}/" for name in ("overview", "queries", "tasks", "people")},
            "results": "",
            "raters": "raters/",
            "releases": "releases/",
        }.items()
    },
}
# With the share of blocks that may differ by more than BY of 255. Measured: another font of the
# same kind 0 to 0.06, one of fixed width 0.10 to 0.33, no style sheet 0.16 to 0.57.
LOOKS = {"1440-light": (WIDE, "light", 0.12), "390-dark": (PHONE, "dark", 0.25)}
BY = 16
_SMALL = """async ([data, width]) => {
  const image = new Image();
  image.src = data;
  await image.decode();
  const height = Math.round((image.height * width) / image.width);
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(image, 0, 0, width, height);
  return canvas.toDataURL("image/webp", 0.6);
}"""
_DIFFER = """async ([pictures, by]) => {
  const blocks = [];
  for (const data of pictures) {
    const image = new Image();
    image.src = data;
    await image.decode();
    const [width, height] = [40, Math.round((image.height * 40) / image.width)];
    const canvas = Object.assign(document.createElement("canvas"), { width, height });
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.imageSmoothingQuality = "high";
    context.drawImage(image, 0, 0, width, height);
    blocks.push(context.getImageData(0, 0, width, height).data);
  }
  const [one, other] = blocks;
  if (one.length !== other.length) return 1;
  let differ = 0;
  for (let at = 0; at < one.length; at += 4) {
    differ += [0, 1, 2].some((n) => Math.abs(one[at + n] - other[at + n]) > by);
  }
  return (4 * differ) / one.length;
}"""
_SHIFT = """() => new Promise((done) => new PerformanceObserver((list) =>
  done(list.getEntries().reduce((sum, entry) => sum + entry.value, 0)))
  .observe({ type: "layout-shift", buffered: true }) || setTimeout(() => done(0), 500))"""


@pytest.fixture
def tea_judged(cast, tea):
    open_kind(
        cast, tea, "selection", name="best", options=3, reason="optional", tie=True, none=True
    )
    # Their order is drawn from ids that differ each time.
    Candidate.objects.update(text=LONG)
    for name in ("Bo", "Chen"):
        person = cast.person(name)
        slot = queue.claim(tea, person)
        choice = min(present.show(slot, person).answers)[0]
        submit.submit(tea, slot, person, {"choice": choice}, key=name)
    recompute(tea, "best")
    cast.member("Adam", tea, "administrator")


@pytest.mark.parametrize("look", LOOKS)
def test_twelve_pages_look_as_they_did(browser, open_page, let_in, cast, tea_judged, look):
    size, scheme, most = LOOKS[look]
    # Apart from the pages, whose policy knows no pictures made by a script.
    easel = browser.new_page()
    differing = {}
    for person, pages in PAGES.items():
        page = open_page(viewport=size, color_scheme=scheme, reduced_motion="reduce")
        if person:
            let_in(page, cast.person(person))
        for name, address in pages.items():
            page.goto(address, wait_until="networkidle")
            taken = "data:image/png;base64," + base64.b64encode(page.screenshot()).decode()
            small = easel.evaluate(_SMALL, [taken, size["width"] // 4])
            path = FOLDER / f"{name}-{look}.webp"
            if os.environ.get("ATTUNE_PICTURES"):
                path.write_bytes(base64.b64decode(small.partition(",")[2]))
            kept = "data:image/webp;base64," + base64.b64encode(path.read_bytes()).decode()
            share = easel.evaluate(_DIFFER, [[small, kept], BY])
            differing |= {name: round(share, 2)} if share > most else {}
    easel.close()
    assert differing == {}


def test_a_page_that_lost_its_style_is_noticed(browser, open_page):
    size, scheme, most = LOOKS["390-dark"]
    page, easel = open_page(viewport=size, color_scheme=scheme), browser.new_page()
    page.goto("/accounts/login/")
    page.evaluate("document.querySelectorAll('link[rel=stylesheet]')[1].disabled = true")
    pictures = (page.screenshot(), (FOLDER / "login-390-dark.webp").read_bytes())
    data = [f"data:image/webp;base64,{base64.b64encode(each).decode()}" for each in pictures]
    assert easel.evaluate(_DIFFER, [data, BY]) > most
    easel.close()


def test_a_first_visit_is_small_and_nothing_moves(open_page):
    page = open_page()
    answers = []
    page.on("response", lambda answer: answers.append(answer))
    page.goto("/", wait_until="networkidle")
    assert len(answers) <= 10
    assert sum(len(gzip.compress(answer.body(), 6)) for answer in answers) <= 60_000
    assert page.evaluate(_SHIFT) == 0
