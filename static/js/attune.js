// What goes wrong on the way is said in words, and the form stays as it is.
(function () {
  "use strict";

  function say(text) {
    const place = document.getElementById("trouble");
    place.textContent = text;
    place.hidden = !text;
    if (text) place.scrollIntoView({ block: "nearest" });
  }

  function word(name) {
    return document.getElementById("trouble").dataset[name];
  }

  document.addEventListener("htmx:beforeRequest", () => say(""));
  document.addEventListener("htmx:sendError", () => say(word("offline")));
  document.addEventListener("htmx:timeout", () => say(word("slow")));
  document.addEventListener("htmx:responseError", (event) => {
    const { xhr } = event.detail;
    const plain = (xhr.getResponseHeader("Content-Type") || "").startsWith("text/plain");
    say(plain ? xhr.responseText : word("refused"));
  });
})();
