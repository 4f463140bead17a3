// Nothing typed is lost. Each change goes to this browser's store at once. Typed text goes to the
// server soon after; ticks alone stay in the browser, because most answers are submitted seconds
// later, and go along at most once a minute, which renews the lease of a long form. What the
// server has is taken out of the store. An answer without a line waits, and is
// sent again under its own key, so that it is stored once. Tabs of one person follow each other.
(function () {
  "use strict";

  const { words, form, say, button } = Attune;
  const PAUSE = 700;
  const AGAIN = 5000;
  const TICKS_EVERY = 60000;
  const { TECHNICAL, answered, patience, newest } = JudgePure;
  const status = document.getElementById("saved");
  const channel = new BroadcastChannel("attune");
  let timer = 0;
  let again = 0;
  let tries = 0;
  let sent = 0;
  // One draft at a time: an older one must not arrive behind a newer.
  let line = Promise.resolve();

  function slot() {
    return form() ? form().elements.slot.value : "";
  }

  function place(of) {
    return Attune.DRAFTS + Attune.person + ":" + of;
  }

  function tell(word) {
    status.textContent = words[word] || "";
  }

  function changes() {
    return form().hasAttribute("data-judged");
  }

  function fields() {
    return answered(new FormData(form()));
  }

  function apply(data) {
    for (const field of form().elements) {
      if (!field.name || TECHNICAL.includes(field.name) || field.type === "submit") continue;
      const values = data[field.name] || [];
      if (field.type === "checkbox" || field.type === "radio") field.checked = values.includes(field.value);
      else if (field.value !== (values[0] || "")) field.value = values[0] || "";
    }
    document.dispatchEvent(new CustomEvent("attune:typed"));
  }

  // --- Drafts ---

  // Whether there is nothing but ticks, neither in the form nor in a draft on the server.
  function onlyTicks() {
    if (form().hasAttribute("data-drafted")) return false;
    return [...form().querySelectorAll("textarea, [data-marks], [data-number]")].every((field) => !field.value.trim());
  }

  function typed(event) {
    const field = event.target;
    if (!form() || !field.name || !form().contains(field) || form().dataset.stale || !document.body.dataset.person) return;
    const data = fields();
    const ticks = onlyTicks();
    localStorage.setItem(place(slot()), JSON.stringify({ data, ticks }));
    channel.postMessage({ what: "typed", person: Attune.person, slot: slot(), change: changes(), data });
    document.dispatchEvent(new CustomEvent("attune:typed"));
    if (ticks && performance.now() - sent < TICKS_EVERY) return;
    status.classList.add("typing");
    clearTimeout(timer);
    timer = setTimeout(save, PAUSE);
  }

  function save() {
    clearTimeout(timer);
    line = line.then(send, send);
  }

  async function send() {
    const of = slot();
    const text = of && localStorage.getItem(place(of));
    if (!text || form().dataset.waiting || form().dataset.stale) return;
    const body = new URLSearchParams();
    for (const [name, value] of new FormData(form())) body.append(name, value);
    let answer = null;
    try {
      answer = await Attune.post(words.draftUrl, body);
    } catch (error) {
      // No line: the copy in this browser stays, and is tried again.
      tell("kept");
      timer = setTimeout(save, AGAIN);
      return;
    }
    sent = performance.now();
    if (answer.status === 204 && slot() === of) form().setAttribute("data-drafted", "");
    if (answer.status === 204 && localStorage.getItem(place(of)) === text) localStorage.removeItem(place(of));
    // The answer itself may have gone out meanwhile.
    if (slot() === of) await judge(answer);
  }

  async function judge(answer) {
    status.classList.remove("typing");
    if (answer.status === 204) return tell("saved");
    tell("kept");
    if (answer.status === 401) return say(await answer.text(), Attune.loginLink());
    if (answer.status === 409) return stale();
    if (answer.status === 404) return say(words.lapsed);
    return undefined;
  }

  function restore() {
    sent = performance.now();
    const text = localStorage.getItem(place(slot()));
    if (!text || form().hasAttribute("data-final")) return;
    const copy = newest(text, form().hasAttribute("data-drafted"));
    if (!copy) {
      localStorage.removeItem(place(slot()));
      return;
    }
    apply(copy.data);
    tell("restored");
    if (!copy.ticks) save();
  }

  // --- An answer that waits for the line ---

  function wait() {
    if (form().dataset.stale) return;
    form().dataset.waiting = "yes";
    const at = document.activeElement;
    hold(true);
    const cancel = button(words.cancel, take);
    say(words.waiting, cancel);
    // What is held can have no focus.
    if (at === document.body || form().contains(at)) cancel.focus({ preventScroll: true });
    clearTimeout(again);
    tries += 1;
    again = setTimeout(resend, patience(tries));
  }

  function take() {
    stay();
    form().querySelector("button[name=submit]").focus();
  }

  function stay() {
    clearTimeout(again);
    delete form().dataset.waiting;
    hold(false);
    say("");
  }

  // What is on its way is not changed: the server may have it already.
  function hold(held) {
    form().querySelectorAll(".decide, .criteria, .claims, .bench").forEach((one) => { one.inert = held; });
  }

  function resend() {
    if (!form() || !form().dataset.waiting) return;
    if (!navigator.onLine) {
      again = setTimeout(resend, AGAIN);
      return;
    }
    stay();
    form().requestSubmit(form().querySelector("button[name=submit]"));
  }

  function ours(event) {
    return form() && event.detail.elt === form() && event.detail.requestConfig.path !== words.draftUrl;
  }

  function answers(event) {
    return ours(event) && !event.detail.requestConfig.parameters.skip;
  }

  document.addEventListener("htmx:sendError", (event) => { if (answers(event)) wait(); });
  document.addEventListener("htmx:timeout", (event) => { if (answers(event)) wait(); });
  document.addEventListener("htmx:responseError", (event) => {
    if (answers(event) && [502, 503, 504].includes(event.detail.xhr.status)) wait();
  });
  addEventListener("online", () => {
    if (!form()) return;
    if (form().dataset.waiting) resend();
    else save();
  });

  // A draft of a change must not arrive behind the change.
  document.addEventListener("htmx:confirm", (event) => {
    if (event.detail.elt !== form() || !changes()) return;
    event.preventDefault();
    line.then(() => event.detail.issueRequest(true));
  });

  document.addEventListener("submit", (event) => {
    if (event.target !== form()) return;
    clearTimeout(timer);
    if (!form().dataset.stale) return;
    event.preventDefault();
    event.stopPropagation();
    stale();
  }, true);

  document.addEventListener("htmx:beforeSwap", (event) => {
    if (!ours(event) || event.detail.xhr.status >= 400) return;
    done(event.detail.requestConfig.parameters.slot);
  });
  document.addEventListener("htmx:beforeOnLoad", (event) => {
    if (ours(event) && event.detail.xhr.getResponseHeader("HX-Redirect")) done(slot());
  });

  function done(of) {
    tries = 0;
    localStorage.removeItem(place(of));
    sessionStorage.removeItem("attune:time:" + of);
    tell("submitted");
    status.classList.remove("typing");
    channel.postMessage({ what: "judged", person: Attune.person, slot: of, change: changes() });
  }

  // --- Two tabs ---

  function stale() {
    form().dataset.stale = "yes";
    clearTimeout(timer);
    clearTimeout(again);
    localStorage.removeItem(place(slot()));
    say(words.moved, button(words.current, () => { location.href = words.judgeUrl; }));
  }

  channel.addEventListener("message", ({ data }) => {
    const same = form() && data.person === Attune.person && data.slot === slot() && data.change === changes();
    if (!same || form().dataset.stale) return;
    if (data.what === "judged") stale();
    else if (!form().dataset.waiting) apply(data.data);
  });

  document.addEventListener("input", typed);
  document.addEventListener("change", (event) => { if (event.target.matches("[type=radio], [type=checkbox], [type=hidden]")) typed(event); });
  document.addEventListener("visibilitychange", () => { if (document.hidden && form()) save(); });
  document.addEventListener("attune:shown", restore);
})();
