"""Parts of a page that are rendered once for the same values."""

import pytest
from django.template import Context, Template
from django.utils import translation
from django.utils.safestring import mark_safe

from annotation.core.templatetags import attune

PIECE = '{% piece "judging/_reason.html" rule="optional" why_optional=why %}'


def rendered(why, **more) -> str:
    return Template(PIECE).render(Context({"why": why, "rule": "off", "text": "typed", **more}))


def test_a_piece_sees_its_values_alone():
    # Neither ``text`` nor ``rule`` of the page around it.
    assert ">typed</textarea>" not in rendered("Because?")
    assert "optional" in rendered("Because?", rule="required")


def test_a_piece_is_rendered_once_for_the_same_values_and_language():
    rendered("Which once?")
    before = attune._rendered.cache_info()
    assert rendered("Which once?") == rendered("Which once?")
    after = attune._rendered.cache_info()
    assert (after.misses - before.misses, after.hits - before.hits) == (0, 2)
    with translation.override("ko"):
        rendered("Which once?")
    assert attune._rendered.cache_info().misses - after.misses == 1


@pytest.mark.parametrize("order", [1, -1])
def test_text_that_is_safe_is_never_shown_for_equal_text_that_is_not(order):
    words = f"<b>of {order}</b>"
    pages = [rendered(why) for why in (mark_safe(words), words)[::order]][::order]  # noqa: S308
    assert words in pages[0]
    assert words not in pages[1]


def test_cells_of_a_table_name_their_columns_where_they_do_not_name_themselves():
    page = Template(
        '{% table "Teas" "Id" "Name" "Text" "" %}<tr>\n<th scope="row">1</th>'
        '<td class="at">{{ name }}</td><td dir="auto">long</td><td><b>x</b></td></tr>{% endtable %}'
    ).render(Context({"name": "<td>"}))

    assert '<table class="stacked">' in page
    assert (
        '<tr>\n<th scope="row">1</th><td class="at" data-label="Name">&lt;td&gt;</td>'
        '<td dir="auto">long</td><td><b>x</b></td></tr>'
    ) in page


def test_a_head_stands_over_numbers_where_its_first_cell_holds_one():
    row = '<tr><th>1</th><td class="n">2</td></tr>'
    page = Template('{% table "T" "A" "B" "C" %}' + row + "{% endtable %}").render(Context())

    assert '<th scope="col">A</th><th scope="col" class="n">B</th><th scope="col">C</th>' in page


def test_heads_that_depend_on_something_are_the_first_row():
    page = Template(
        '{% table "T" %}<tr><th scope="col">A</th>{% if no %}<th scope="col">B</th>{% endif %}'
        '<th scope="col">C&amp;D</th></tr><tr><th>1</th><td class="n">2</td></tr>{% endtable %}'
    ).render(Context())

    assert '<th scope="col">A</th><th scope="col" class="n">C&amp;D</th>' in page
    assert '<th>1</th><td class="n" data-label="C&amp;D">2</td>' in page


def test_a_row_of_fewer_cells_than_columns_stays_a_row():
    page = Template('{% table "T" "A" "B&C" %}<tr><td colspan="2">no</td></tr>{% endtable %}')

    assert '<tr><td colspan="2">no</td></tr>' in page.render(Context())
