// What is selected in the text stands ready to be hidden; the form works without this too.
(function () {
  "use strict";

  const field = document.querySelector("#strike [name=text]");
  const place = document.getElementById("conversation");
  if (!field) return;
  document.addEventListener("selectionchange", () => {
    const chosen = document.getSelection();
    if (!chosen.rangeCount || !place.contains(chosen.getRangeAt(0).commonAncestorContainer)) return;
    const text = chosen.toString().trim();
    if (text && text.length <= field.maxLength) field.value = text;
  });
})();

// Single keys press what bears them. They are silent while somebody types, and where single keys
// were switched off on the judging page.
(function () {
  "use strict";

  const settings = JSON.parse(localStorage.getItem("attune:keys:" + document.body.dataset.person) || "{}");
  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches("textarea, select, [contenteditable], input:not([type=checkbox])");
    if (settings.on === false || typing || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const wanted = document.querySelector(`[data-key="${CSS.escape(event.key.toLowerCase())}"]:not(:disabled)`);
    if (!wanted) return;
    event.preventDefault();
    wanted.click();
  });
})();
