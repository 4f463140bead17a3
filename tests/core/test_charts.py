"""Numbers as SVG: places, classes, and nothing that a content security policy refuses."""

import re
from xml.etree import ElementTree

import pytest

from annotation.core import charts
from annotation.core.charts import Dot

SVG = {
    "columns": charts.columns(("c", "Days", "What it is."), [("1.5.", 4), ("2.5.", 1)]),
    "bars": charts.bars(("b", "Raters", "What it is."), [("ann", 10), ("bo", 5)]),
    "dots": charts.dots(
        ("d", "Tiers", "What it is."), [Dot("hard", 0.5, 0.45, 0.55, (0.4, 0.6)), Dot("easy", None)]
    ),
    "heat": charts.heat(
        ("h", "Pairs", "What it is."), ["ann", "bo", "chen"], {(1, 0): 0.25, (2, 0): None}
    ),
}


def read(svg):
    """The drawing as a tree: it must be well formed."""
    return ElementTree.fromstring(svg)  # noqa: S314 - our own


def shapes(svg, tag, kind):
    return [node for node in read(svg).iter(tag) if node.get("class") == kind]


@pytest.mark.parametrize("name", SVG)
def test_a_chart_is_an_image_with_a_name_and_a_description(name):
    root = read(SVG[name])
    assert (root.get("role"), root.find("desc").text) == ("img", "What it is.")
    named = {root.find("title").get("id"), root.find("desc").get("id")}
    assert set(root.get("aria-labelledby").split()) == named


@pytest.mark.parametrize("name", SVG)
def test_a_chart_carries_neither_style_nor_script(name):
    assert re.search(r"style=|<style|<script|\son\w+=|href=", SVG[name]) is None


def test_columns_are_as_tall_as_their_values():
    first, second = shapes(SVG["columns"], "rect", "mark")
    assert float(first.get("height")) == charts.PLOT
    assert float(second.get("height")) == charts.PLOT / 4
    assert float(second.get("y")) == charts.TOP + charts.PLOT * 3 / 4


def test_more_than_eight_columns_have_their_labels_on_two_lines():
    def labels(n):
        svg = charts.columns(("k", "t", "d"), [(f"c{place}", 1) for place in range(n)])
        return re.findall(r'y="(\d+)" text-anchor="middle"[^>]*>(c\d+)<', svg)

    assert {y for y, _ in labels(8)} == {"184"}
    assert [y for y, _ in labels(9)] == ["184", "198"] * 4 + ["184"]
    assert [name for _, name in labels(30)] == [f"c{place}" for place in range(0, 30, 2)]


def test_bars_are_as_wide_as_their_values():
    first, second = shapes(SVG["bars"], "rect", "mark")
    assert (first.get("width"), second.get("width")) == ("58%", "29%")


def test_long_names_stand_above_their_bars_and_short_ones_beside():
    short, long = "m" * charts.BESIDE, "m" * (charts.BESIDE + 1)
    beside = charts.bars(("b", "T", "D"), [(short, 10)])
    above = charts.bars(("b", "T", "D"), [(long, 10), ("bo", 5)])
    assert [node.get("x") for node in shapes(beside, "rect", "mark")] == ["30%"]
    first, second = shapes(above, "rect", "mark")
    assert (first.get("x"), first.get("width"), second.get("width")) == ("0%", "88%", "44%")
    name, _other = shapes(above, "text", "name")
    assert float(name.get("y")) < float(first.get("y"))
    assert "".join(name.itertext()) == long * 2  # once as the name of what is shown


def test_letters_of_east_asia_take_the_room_of_two():
    drawn = [charts.bars(("b", "T", "D"), [("가" * length, 1)]) for length in (8, 9)]
    assert [len(shapes(svg, "text", "name")) for svg in drawn] == [0, 1]


def test_a_dot_with_a_long_name_lies_below_it():
    svg = charts.dots(("d", "T", "D"), [Dot("a model with a very long name", 0.5, 0.4, 0.6)])
    (dot,), (name,) = shapes(svg, "circle", "mark"), shapes(svg, "text", "name")
    assert float(dot.get("cy")) > float(name.get("y"))


def test_a_marked_bar_differs_by_colour_and_by_a_sign():
    svg = charts.bars(("b", "T", "D"), [("ann", 10), ("bo", 5)], marked={"bo"})
    assert [len(shapes(svg, "rect", kind)) for kind in ("mark", "mark over")] == [1, 1]
    assert [node.text for node in read(svg).findall("text")] == ["10", "5 ▲"]


def test_a_dot_lies_in_the_middle_of_its_interval_and_an_unknown_one_is_a_dash():
    (dot,) = shapes(SVG["dots"], "circle", "mark")
    (interval,) = shapes(SVG["dots"], "line", "line")
    ends = [float(interval.get(name)[:-1]) for name in ("x1", "x2")]
    assert float(dot.get("cx")[:-1]) == pytest.approx(sum(ends) / 2, abs=0.01)
    assert [node.text for node in read(SVG["dots"]).findall("text")][-1] == "–"


def test_shades_say_how_high_a_kappa_is():
    names = [charts.shade(value) for value in (None, -0.01, 0.0, 0.199, 0.4, 0.8, 1.0)]
    assert names == ["heat-none", "heat-below", "heat-0", "heat-0", "heat-2", "heat-4", "heat-4"]


def test_a_matrix_has_a_cell_for_every_pair_and_names_it():
    titles = [node.text for node in read(SVG["heat"]).iter("title")]
    assert "bo × ann: 0.25" in titles
    assert "chen × ann: –" in titles


def test_ticks_are_round_numbers():
    assert charts.ticks(0, 1) == [0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert charts.ticks(-0.3, 1) == [0, 0.5, 1.0]
    assert charts.ticks(0, 900) == [0, 200, 400, 600, 800]
    assert charts.ticks(3, 3) == [3.0]


def test_names_are_escaped():
    svg = charts.bars(("b", "A & B", "<i>"), [("<script>alert(1)</script>", 1)])
    assert "<script>" not in svg
    assert read(svg).find("title").text == "A & B"
