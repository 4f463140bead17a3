"""What a screen reader says of a page: its tree, and what it announces."""

from playwright.sync_api import Page

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
    lines = page.locator("body").aria_snapshot().splitlines()
    rows = [line.strip().removeprefix("- ").lstrip("'").replace('"', "") for line in lines]
    place = 0
    for wanted in expected.strip().splitlines():
        following = rows[place:]
        step = next((n for n, row in enumerate(following) if row.startswith(wanted)), None)
        assert step is not None, f"no “{wanted}” in:\n" + "\n".join(following[:60])
        place += step + 1
