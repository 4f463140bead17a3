"""axe-core in a page, with its experimental rules, and how wide the page is on small screens."""

from axe_playwright_python.sync_playwright import Axe

SCRIPT = Axe().axe_script
# The last two stand on both sides of the narrowest change of layout.
WIDTHS = (1440, 360, 320)
# All rules up to level AA, also experimental ones and that of the target size, which are off by
# themselves. In another colour scheme the colours alone differ.
_RUN = """async (schemed) => {
  // What a page does at another size, it does before this.
  await new Promise(requestAnimationFrame);
  const aside = ["wcag2aaa", "deprecated"];
  const wanted = axe.getRules().filter(({ tags }) => !aside.some((tag) => tags.includes(tag)));
  const rules = Object.fromEntries(wanted.map((rule) => [rule.ruleId, { enabled: true }]));
  const only = { runOnly: ["color-contrast", "link-in-text-block"] };
  const few = { resultTypes: ["violations"], selectors: false };
  const options = { ...few, ...(schemed ? only : { rules }) };
  const { violations } = await axe.run(document, options);
  return violations.map((rule) => [rule.id, rule.nodes.map((node) => node.html.slice(0, 200))]);
}"""
# What sticks out where the page is wider than its window; on a phone a row's acts are in view.
_WIDER = """() => {
  const width = document.documentElement.clientWidth;
  const acts = [...document.querySelectorAll(".stacked :is(button, a, select)")];
  const beyond = acts.filter((part) => part.getBoundingClientRect().right > width + 1);
  if (width < 600 && beyond.length) return beyond.map((part) => part.outerHTML.slice(0, 80));
  if (document.documentElement.scrollWidth <= width) return [];
  const out = [...document.querySelectorAll("body *")];
  return out.filter((node) => node.getBoundingClientRect().right > width + 1)
    .map((node) => node.outerHTML.slice(0, 120)).slice(0, 8).concat("wider");
}"""


def violations(page, *schemes: str, **media) -> list:
    """What axe finds in the page, in each colour scheme (light and dark); media: emulate_media."""
    found = []
    if not page.evaluate("'axe' in window"):
        page.evaluate(SCRIPT)
    for number, scheme in enumerate(schemes or ("light", "dark")):
        # Colours in the middle of a transition are nobody's: there are none.
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce", **media)
        found += [(page.url, scheme, *finding) for finding in page.evaluate(_RUN, number > 0)]
    return found


def too_wide(page, widths=WIDTHS) -> list:
    """What sticks out of the page at each width: [(width, beginnings of elements)]."""
    before, found = page.viewport_size, []
    for width in widths:
        if width != page.viewport_size["width"]:
            page.set_viewport_size({"width": width, "height": 800})
        if out := page.evaluate(_WIDER):
            found.append((page.url, width, out))
    page.set_viewport_size(before)
    return found
