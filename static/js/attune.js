// What goes wrong on the way is said in words, and the form stays as it is.
(function () {
  "use strict";

  // Logging in again makes this page's form token void: it is fetched anew before the next try.
  let void_ = false;

  function say(text) {
    const place = document.getElementById("trouble");
    place.textContent = text;
    place.hidden = !text;
    if (text) place.scrollIntoView({ block: "nearest" });
  }

  function word(name) {
    return document.getElementById("trouble").dataset[name];
  }

  // A page that refreshes itself holds nothing typed: there the words for a form would be wrong.
  function fail(event, text) {
    say(event.detail.requestConfig.verb === "get" ? word("unfresh") : text);
  }

  async function renew() {
    const answer = await fetch(document.querySelector(".brand").href);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.querySelector("[name=csrfmiddlewaretoken]");
    document.querySelectorAll("[name=csrfmiddlewaretoken]").forEach((field) => { field.value = fresh.value; });
    void_ = false;
  }

  document.addEventListener("htmx:confirm", (event) => {
    if (!void_ || event.detail.verb === "get") return;
    event.preventDefault();
    renew().then(() => event.detail.issueRequest(true), () => say(word("offline")));
  });
  document.addEventListener("htmx:beforeRequest", () => say(""));
  document.addEventListener("htmx:sendError", (event) => fail(event, word("offline")));
  document.addEventListener("htmx:timeout", (event) => fail(event, word("slow")));
  document.addEventListener("htmx:responseError", (event) => {
    const { xhr } = event.detail;
    void_ = void_ || xhr.status === 401 || xhr.status === 403;
    const plain = (xhr.getResponseHeader("Content-Type") || "").startsWith("text/plain");
    fail(event, plain ? xhr.responseText : word("refused"));
  });
})();
