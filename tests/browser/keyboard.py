"""Goes through pages by keys alone; what has the focus is seen, marked, and comes in order."""

from playwright.sync_api import Locator, Page, expect

# A page with more stops than this between two of its fields is not worked with by keyboard.
STOPS = 150
# Of what has the focus: whether there is any, whether it is seen, and whether it stands behind the
# one before it (`window.before`); `radio` is the name of its group.
_FOCUS = """() => {
  const node = document.activeElement;
  const body = !node || node === document.body;
  if (body) { window.before = null; return { body }; }
  const ringed = (one) => {
    const style = getComputedStyle(one);
    const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
    return outlined || style.boxShadow !== "none";
  };
  const label = node.closest("label");
  const marked = ringed(node) || (label && ringed(label));
  const box = (label && !node.offsetWidth ? label : node).getBoundingClientRect();
  const inside = box.width > 0 && box.bottom > 0 && box.top < innerHeight
    && box.right > 0 && box.left < innerWidth;
  const at = (x, y) => {
    const top = document.elementFromPoint(x, y);
    return top && (node.contains(top) || top.contains(node) || (label && label.contains(top)));
  };
  const left = Math.max(box.left, 0) + 2, right = Math.min(box.right, innerWidth) - 2;
  const high = Math.max(box.top, 0) + 2, low = Math.min(box.bottom, innerHeight) - 2;
  const places = [[left, high], [right, low], [(left + right) / 2, (high + low) / 2]];
  const bare = places.some(([x, y]) => at(x, y));
  const before = window.before && document.contains(window.before) ? window.before : null;
  // A popover or a dialog is on top of the page: its order is its own.
  const layer = (one) => one.closest("dialog, [popover]");
  const ordered = !before || layer(before) !== layer(node)
    || Boolean(before.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_FOLLOWING);
  window.before = node;
  const radio = node.type === "radio" ? node.name : "";
  return { body, marked, seen: inside && bare, ordered, radio, html: node.outerHTML.slice(0, 160) };
}"""


def focused(page: Page) -> dict:
    """What the page says of its focus, which must be in view, not covered, and marked."""
    state = page.evaluate(_FOCUS)
    assert state["body"] or (state["marked"] and state["seen"]), (page.url, state)
    return state


def to(target: Locator) -> None:
    """Press Tab until ``target`` (or a radio button of its group) has the focus."""
    page = target.page
    expect(target).to_be_visible()
    group = target.evaluate("node => node.type === 'radio' ? node.name : ''")
    page.evaluate("window.before = document.activeElement")
    for _stop in range(STOPS):
        if target.evaluate("node => node === document.activeElement"):
            return
        page.keyboard.press("Tab")
        state = focused(page)
        # From the last stop the focus goes out of the page and comes in again at its beginning.
        assert state["body"] or state["ordered"], (page.url, state)
        if group and state.get("radio") == group:
            return
    raise AssertionError(f"Tab does not reach it: {target}")


def press(target: Locator, key: str = "Enter") -> None:
    """Go to a link, a button or a summary and press it."""
    to(target)
    target.page.keyboard.press(key)


def tick(target: Locator) -> None:
    """Go to a checkbox, or to a radio button within its group, and choose it."""
    to(target)
    keyboard = target.page.keyboard
    for _option in range(STOPS):
        if target.evaluate("node => node === document.activeElement"):
            break
        keyboard.press("ArrowDown")
    if not target.is_checked():
        keyboard.press("Space")
    expect(target).to_be_checked()


def write(target: Locator, text: str) -> None:
    """Go to a field and type ``text`` in the place of what it holds."""
    to(target)
    target.page.keyboard.press("ControlOrMeta+a")
    target.page.keyboard.type(text)


def select(target: Locator, value: str) -> None:
    """Go to a select and move by arrows to the option of this value."""
    to(target)
    target.page.keyboard.press("Home")
    for _option in range(STOPS):
        if target.input_value() == value:
            return
        target.page.keyboard.press("ArrowDown")
    raise AssertionError(f"No option {value}: {target}")


def attach(target: Locator, files) -> None:
    """Go to a field for files and choose ``files``: the dialog itself is the system's."""
    to(target)
    target.set_input_files(files)


def around(page: Page) -> int:
    """Tab through the whole page; how many stops it has. A trap is a page without an end."""
    page.evaluate("document.activeElement.blur(); window.before = null")
    for stop in range(2 * STOPS):
        page.keyboard.press("Tab")
        state = focused(page)
        if state["body"] or (stop and "skip-link" in state["html"]):
            return stop
        assert state["ordered"], (page.url, state)
    raise AssertionError(f"the focus does not get out of {page.url}")
