"""What a screen reader says of a page: its tree as Chromium exposes it, and what it announces."""

import time

from playwright.sync_api import Page

# Of these the names are those of their parents.
_TEXT = {"StaticText", "InlineTextBox", "generic", "none", "paragraph", "LineBreak", "ListMarker"}
# A reader speaks of a region that was there before its text changed, and of an alert that comes in;
# a status that comes in together with its words is not spoken of.
LISTEN = """() => {
  window.spoken = [];
  const live = "[role=status], [role=alert], [role=log], [aria-live=polite], [aria-live=assertive]";
  const region = (node) => (node.nodeType === 1 ? node : node.parentElement)?.closest(live);
  const old = new Set(document.querySelectorAll(live));
  const say = (one) => {
    const text = one.innerText.trim().replace(/\\s+/g, " ");
    const last = window.spoken.at(-1);
    if (text && one.checkVisibility() && last !== text) window.spoken.push(text);
  };
  new MutationObserver((changes) => {
    const changed = new Set();
    for (const change of changes) {
      const within = region(change.target);
      if (within && old.has(within)) changed.add(within);
      for (const node of change.addedNodes) {
        if (node.nodeType !== 1) continue;
        const alerts = [node, ...node.querySelectorAll("[role=alert]")];
        alerts.filter((one) => one.matches("[role=alert]")).forEach((one) => changed.add(one));
      }
    }
    document.querySelectorAll(live).forEach((one) => old.add(one));
    changed.forEach(say);
  }).observe(document.documentElement, {
    subtree: true, childList: true, characterData: true,
    attributes: true, attributeFilter: ["hidden", "class"],
  });
}"""


def listen(page: Page) -> None:
    """Begin to note what is announced on this page."""
    page.evaluate(LISTEN)


def spoken(page: Page, words: str) -> None:
    """Wait until something with these words was announced."""
    said = "words => (window.spoken || []).some((text) => text.includes(words))"
    page.wait_for_function(said, arg=words)


def outline(page: Page, expected: str) -> None:
    """The page's tree has these nodes in this order, others between them.

    Each line of ``expected`` is a role and the beginning of a name.
    """
    rows = [f"{role} {name}".strip() for role, name, _live in tree(page) if role not in _TEXT]
    place = 0
    for line in expected.strip().splitlines():
        following = rows[place:]
        step = next((n for n, row in enumerate(following) if row.startswith(line)), None)
        assert step is not None, f"no “{line}” in:\n" + "\n".join(following[:60])
        place += step + 1


def tree(page: Page) -> list[tuple[str, str, str]]:
    """(role, name, politeness) of the nodes of Chromium's accessibility tree, in reading order."""
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    by_id = {node["nodeId"]: node for node in nodes}
    rows: list[tuple[str, str, str]] = []

    def walk(node) -> None:
        if not node.get("ignored"):
            name = " ".join(node.get("name", {}).get("value", "").split())
            rows.append((node["role"]["value"], name, _properties(node).get("live", "")))
        for child in node.get("childIds", ()):
            if child in by_id:
                walk(by_id[child])

    walk(nodes[0])
    return rows


def _properties(node: dict) -> dict:
    return {entry["name"]: entry["value"].get("value") for entry in node.get("properties", ())}


def focused(page: Page, role: str, name: str) -> None:
    """Wait until what is read after a change has this role and a name that begins so.

    Chromium computes its accessibility tree some time after the document changed.
    """
    session = page.context.new_cdp_session(page)
    end = time.monotonic() + 60
    while True:
        nodes = session.send("Accessibility.getFullAXTree")["nodes"]
        focus = [_role_and_name(node) for node in nodes if _properties(node).get("focused")]
        if any(at[0] == role and at[1].startswith(name) for at in focus):
            return session.detach()
        assert time.monotonic() < end, focus
        page.wait_for_timeout(50)


def _role_and_name(node: dict) -> tuple[str, str]:
    return node["role"]["value"], node.get("name", {}).get("value", "")


def nameless(page: Page) -> list[str]:
    """Roles of nodes that a reader would announce without a name."""
    needed = {"button", "link", "textbox", "checkbox", "radio", "combobox", "image", "heading"}
    needed |= {"region", "dialog", "navigation", "searchbox", "progressbar", "spinbutton"}
    return [role for role, name, _live in tree(page) if role in needed and not name]
