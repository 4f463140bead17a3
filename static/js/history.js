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
