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

// That its owner has opened a session is noted when it comes into view: not of a page that the browser
// fetched ahead, nor of a link from elsewhere that nobody saw.
(function () {
  "use strict";

  const place = document.getElementById("conversation");
  function note() {
    if (document.visibilityState !== "visible" || !place.dataset.opened) return;
    const fields = new FormData();
    fields.set("csrfmiddlewaretoken", document.querySelector("[name=csrfmiddlewaretoken]").value);
    navigator.sendBeacon(place.dataset.opened, fields);
    delete place.dataset.opened;
  }
  document.addEventListener("visibilitychange", note);
  note();
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
