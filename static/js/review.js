// Keys of the review queue: j and k move, x chooses, a accepts, r goes to the reasons, u takes back.
(function () {
  "use strict";

  const form = document.getElementById("review");
  const rows = form ? [...form.querySelectorAll("[data-row] input[name=row]")] : [];

  function move(step) {
    const at = rows.indexOf(document.activeElement);
    const next = rows[Math.min(rows.length - 1, Math.max(0, at + step))];
    if (!next) return;
    next.focus();
    // Of a row taller than the window the beginning is read first.
    next.closest("[data-row]").scrollIntoView({ block: "start" });
  }

  function chooseFocused() {
    const at = document.activeElement;
    if (rows.includes(at) && !rows.some((row) => row.checked)) at.checked = true;
  }

  const keys = {
    j: () => move(1),
    k: () => move(-1),
    x: () => rows.includes(document.activeElement) && document.activeElement.click(),
    a: () => { chooseFocused(); form && form.querySelector("[value=accept]").click(); },
    r: () => { chooseFocused(); form && form.querySelector("[name=reason]").focus(); },
    u: () => { const undo = document.querySelector("[data-key=u]"); if (undo) undo.click(); },
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.matches("textarea, select, input:not([type=checkbox])")) return;
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
})();
