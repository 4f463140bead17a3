"""On a phone the tables whose rows somebody acts on keep every button inside the page."""

import pytest
from django.db.models import F

from annotation.judging.models import Item
from annotation.studies.models import Invitation
from tests.browser import axe
from tests.browser.conftest import PHONE

pytestmark = pytest.mark.django_db(transaction=True)
BEYOND = """() => [...document.querySelectorAll(".scroll :is(button, a, select)")]
  .filter((part) => part.getBoundingClientRect().right > innerWidth)
  .map((part) => part.outerHTML.slice(0, 80))"""


def test_what_is_done_to_a_row_is_in_view(cast, tea, let_in, open_page):
    cast.open(tea, items=2)
    Item.objects.update(done=F("overlap"))
    adam = cast.member("Adam", tea, "administrator")
    Invitation.issue(tea, "annotator", by=adam)
    page = let_in(open_page(viewport=PHONE), adam)
    for name, rows in (("people", 6), ("tasks", 1), ("queries", 2), ("checks", 2)):
        page.goto(f"/studies/tea/{name}/")
        assert page.get_by_role("table").first.get_by_role("rowheader").count() == rows
        assert page.evaluate(BEYOND) == []
        assert axe.violations(page) == []
