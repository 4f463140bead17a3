// Answers in order by dragging. The radio buttons hold the answer; without this script, or by keys,
// they are all there is. The list follows them, and a drop sets them.
(() => {
  "use strict";
  const list = () => document.querySelector("[data-order]");
  const rows = () => [...list().children];
  const place = (row) => {
    const chosen = document.querySelector('[name="' + row.dataset.of + '"]:checked');
    return chosen ? Number(chosen.value) : Infinity;
  };

  function arrange() {
    if (!list()) return;
    list().hidden = false;
    rows().sort((a, b) => place(a) - place(b)).forEach((row) => list().append(row));
  }

  function store() {
    rows().forEach((row, n) => {
      const radio = document.querySelector('[name="' + row.dataset.of + '"][value="' + (n + 1) + '"]');
      if (radio.checked) return;
      radio.checked = true;
      radio.dispatchEvent(new Event("change", { bubbles: true }));
    });
  }

  let dragged = null;
  document.addEventListener("dragstart", (event) => {
    dragged = event.target.closest && event.target.closest("[data-order] > li");
  });
  document.addEventListener("dragover", (event) => {
    const over = dragged && event.target.closest && event.target.closest("[data-order] > li");
    if (!over) return;
    event.preventDefault();
    if (over === dragged) return;
    const after = rows().indexOf(over) > rows().indexOf(dragged);
    over[after ? "after" : "before"](dragged);
  });
  document.addEventListener("dragend", () => {
    if (dragged) store();
    dragged = null;
  });
  document.addEventListener("change", (event) => {
    if (!dragged && event.target.name && event.target.name.startsWith("place-") && rows().every((row) => place(row) < Infinity)) arrange();
  });
  document.addEventListener("htmx:load", arrange);
  arrange();
})();
