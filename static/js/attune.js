// What goes wrong on the way is said in words, and the form stays as it is. What is kept in this
// browser belongs to one person.
window.Attune = (function () {
  "use strict";

  const DRAFTS = "attune:draft:";
  // Logging in again makes this page's form token void: it is fetched anew before the next try.
  let void_ = false;

  // More than words: an element to press, put behind the sentence.
  function say(text, ...more) {
    const place = document.getElementById("trouble");
    place.replaceChildren(text, ...more.flatMap((one) => [" ", one]));
    place.hidden = !text;
    if (text) place.scrollIntoView({ block: "nearest" });
  }

  function word(name) {
    return document.getElementById("trouble").dataset[name];
  }

  function loginLink() {
    const link = document.createElement("a");
    link.href = word("loginUrl") + "?next=" + encodeURIComponent(location.pathname + location.search);
    link.textContent = word("login");
    return link;
  }

  // A page that refreshes itself holds nothing typed: there the words for a form would be wrong.
  // What stands beside an item says in its own place that it is missing.
  function fail(event, text, ...more) {
    if (event.target.matches(".card")) event.target.textContent = Attune.words.unread;
    else if (event.detail.requestConfig.verb === "get") say(word("unfresh"));
    else say(text, ...more);
  }

  async function renew() {
    const answer = await fetch(document.querySelector(".brand").href);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.querySelector("[name=csrfmiddlewaretoken]");
    document.querySelectorAll("[name=csrfmiddlewaretoken]").forEach((field) => { field.value = fresh.value; });
    void_ = false;
  }

  // Send fields as htmx does; the answer, also where it is a refusal. Throws without a line.
  async function post(url, fields) {
    if (void_) await renew();
    fields.set("csrfmiddlewaretoken", document.querySelector("[name=csrfmiddlewaretoken]").value);
    const answer = await fetch(url, { method: "POST", body: fields, headers: { "HX-Request": "true" } });
    void_ = void_ || answer.status === 401 || answer.status === 403;
    return answer;
  }

  function forget(which) {
    Object.keys(localStorage).filter((key) => key.startsWith(DRAFTS) && which(key))
      .forEach((key) => localStorage.removeItem(key));
  }

  const person = document.body.dataset.person;
  if (person) forget((key) => !key.startsWith(DRAFTS + person + ":"));
  document.addEventListener("submit", (event) => {
    if (new URL(event.target.action, location).pathname.endsWith("/logout/")) {
      // From here on nothing is kept.
      delete document.body.dataset.person;
      forget(() => true);
      sessionStorage.clear();
    }
  });

  // What scrolls sideways can be scrolled by keyboard.
  function edges() {
    document.querySelectorAll(".text :is(pre, table, math)").forEach((one) => {
      if (one.scrollWidth > one.clientWidth + 1) one.tabIndex = 0;
      else one.removeAttribute("tabindex");
    });
  }
  edges();
  addEventListener("resize", edges);

  // Fields that only some values of another one use.
  document.querySelectorAll("[data-used-by]").forEach((part) => {
    const field = part.closest("form").elements[part.dataset.usedBy];
    const show = () => { part.hidden = !part.dataset.values.split(" ").includes(field.value); };
    field.addEventListener("change", show);
    show();
  });

  // A link that calls itself a button answers to the space bar, as buttons do.
  document.addEventListener("keydown", (event) => {
    if (event.key !== " " || !event.target.matches("a[role=button]")) return;
    event.preventDefault();
    event.target.click();
  });

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
    const text = plain ? xhr.responseText : word("refused");
    if (xhr.status === 401) fail(event, text, loginLink());
    else fail(event, text);
  });

  return { DRAFTS, person, say, word, post, loginLink, edges };
})();
