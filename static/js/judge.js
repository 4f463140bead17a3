// The judging page's shell: what was seen, how long it took, its dialogs. It works without this
// file. judge-keys.js, judge-drafts.js and judge-texts.js add to Attune.act and listen to
// "attune:shown", which says that an item is on the page.
(function () {
  "use strict";

  const IDLE_AFTER = 30000;
  const words = document.getElementById("words").dataset;
  const act = {};
  const told = { diff: false, raw: false, traits: false, card: false, ends: false, reminded: false };
  let time = { active: 0, idle: 0, panes: [] };
  let lastTick = performance.now();
  let lastSign = lastTick;
  let slot = "";
  let pane = 0;
  let seen = new Set();
  let watcher = null;

  function form() {
    return document.querySelector("form.judge");
  }

  function panes() {
    return form() ? [...form().querySelectorAll("[data-panes] .pane")] : [];
  }

  function phone() {
    return matchMedia("(width < 900px)").matches;
  }

  function narrow() {
    return matchMedia("(width < 900px), (height < 480px)").matches;
  }

  // --- Time: active and idle apart, and for each answer ---

  function tick() {
    const now = performance.now();
    const working = !document.hidden && now - lastSign < IDLE_AFTER;
    time[working ? "active" : "idle"] += now - lastTick;
    if (working && pane in time.panes) time.panes[pane] += now - lastTick;
    suggest(now - lastTick, working);
    lastTick = now;
  }

  // --- Breaks: by time at work in this tab, never by pace; a rest of five minutes begins anew ---

  const REST = 300000;
  const BREAKS = "attune:breaks:" + Attune.person;
  let work = Number(sessionStorage.getItem("attune:work")) || 0;

  function suggest(ms, working) {
    if (performance.now() - lastSign > REST) work = 0;
    else if (working) work += ms;
    // Nothing is kept after a log-out, which took the person from the page.
    if (document.body.dataset.person) sessionStorage.setItem("attune:work", String(Math.round(work)));
    const minutes = Number(words.break);
    const quiet = document.getElementById("trouble").hidden && localStorage.getItem(BREAKS) !== "off";
    if (!minutes || work < minutes * 60000 || !quiet || !form()) return;
    work = 0;
    Attune.say(words.rest.replace("{n}", minutes), button(words.goOn, () => Attune.say("")), button(words.noRest, () => rests(false)));
  }

  function rests(on) {
    localStorage.setItem(BREAKS, on ? "on" : "off");
    document.getElementById("breaks-on").checked = on;
    Attune.say("");
  }

  document.addEventListener("change", (event) => { if (event.target.id === "breaks-on") rests(event.target.checked); });

  function sign(event) {
    tick();
    lastSign = lastTick;
    const at = panes().indexOf(event.target.closest ? event.target.closest(".pane") : null);
    if (at >= 0) pane = at;
  }

  function record() {
    tick();
    if (!form()) return;
    const seconds = (ms) => Number((ms / 1000).toFixed(1));
    form().elements.seconds.value = seconds(time.active);
    form().elements.circumstances.value = JSON.stringify({
      idle: seconds(time.idle), panes: time.panes.map(seconds), ...told,
      device: matchMedia("(width < 900px)").matches ? "phone" : "desktop",
    });
    if (document.body.dataset.person) sessionStorage.setItem("attune:time:" + slot, JSON.stringify({ ...time, ...told }));
  }

  // --- Every answer must have been in view before one is chosen ---

  function watch() {
    const all = panes();
    const parts = new Map();
    seen = new Set(form().hasAttribute("data-judged") ? all : []);
    if (watcher) watcher.disconnect();
    watcher = new IntersectionObserver((entries) => {
      entries.forEach((entry) => {
        const part = entry.intersectionRect.width / (entry.boundingClientRect.width || 1);
        parts.set(entry.target, entry.isIntersecting ? part : 0);
        if (entry.isIntersecting && part > 0.6) seen.add(entry.target);
      });
      const best = all.reduce((a, b) => (parts.get(b) > (parts.get(a) || 0) ? b : a), all[0]);
      if (narrow()) pane = all.indexOf(best);
      document.querySelectorAll(".bench [data-pane]").forEach((button, n) => {
        if (all[n] === best) button.setAttribute("aria-current", "true");
        else button.removeAttribute("aria-current");
        button.classList.toggle("seen", seen.has(all[n]));
      });
    }, { threshold: Array.from({ length: 101 }, (_, n) => n / 100) });
    all.forEach((one) => watcher.observe(one));
  }

  // The observer tells of a pane a moment after it came into view; a quick key must not wait for it.
  function inView(one) {
    const box = one.getBoundingClientRect();
    return Math.min(box.right, innerWidth) - Math.max(box.left, 0) > 0.6 * box.width;
  }

  function show(number) {
    if (form().classList.contains("widened")) return widen(number);
    panes()[number].scrollIntoView({ block: "nearest", inline: "start" });
  }

  // The answer that was read last over the whole width, and back.
  act.widen = () => {
    if (narrow()) return;
    const wide = form().classList.toggle("widened");
    form().querySelector("[data-act=widen]").setAttribute("aria-pressed", String(wide));
    if (wide) widen(pane);
    else Attune.edges();
  };

  function widen(number) {
    pane = Number(number);
    panes().forEach((one, n) => one.classList.toggle("wide", n === pane));
    document.querySelectorAll(".bench [data-pane]").forEach((one, n) => {
      if (n === pane) one.setAttribute("aria-current", "true");
      else one.removeAttribute("aria-current");
    });
    Attune.edges();
  }

  function button(text, press) {
    const made = document.createElement("button");
    made.type = "button";
    made.className = "link";
    made.textContent = text;
    made.addEventListener("click", press);
    return made;
  }

  document.addEventListener("submit", (event) => {
    if (event.target !== form()) return;
    record();
    if (event.submitter && event.submitter.name === "skip") return;
    const missing = panes().findIndex((one) => !seen.has(one) && !inView(one));
    if (missing < 0) return remind(event);
    event.preventDefault();
    event.stopPropagation();
    const label = words.answer + " " + (missing + 1);
    Attune.say(words.unseen.replace("{n}", missing + 1), button(label, () => { Attune.say(""); show(missing); }));
    return undefined;
  }, true);

  // --- What was not read is said once an item; nobody is kept from submitting ---

  const SHORT = 2000;
  const CARDS = "attune:cards";
  let ended = new Set();
  let ender = null;

  function card() {
    return form().querySelector(".person .card");
  }

  // Who the card is about; a card that was read once need not be read for each item.
  function about() {
    return document.getElementById("person-name").textContent + card().textContent.length;
  }

  function carded() {
    if (!form() || !card()) return false;
    const read = JSON.parse(sessionStorage.getItem(CARDS) || "[]");
    const now = card().checkVisibility();
    if (now && !read.includes(about()) && document.body.dataset.person) sessionStorage.setItem(CARDS, JSON.stringify([...read, about()].slice(-200)));
    return now || read.includes(about());
  }

  function follow() {
    ended = new Set();
    if (ender) ender.disconnect();
    ender = new IntersectionObserver((entries) => entries.forEach(({ target, isIntersecting, intersectionRect, boundingClientRect }) => {
      if (isIntersecting && intersectionRect.bottom > boundingClientRect.bottom - 40) ended.add(target.closest(".pane"));
    }), { threshold: Array.from({ length: 21 }, (_, n) => n / 20) });
    panes().forEach((one) => { const end = one.querySelector(".text")?.lastElementChild; if (end) ender.observe(end); else ended.add(one); });
  }

  function remind(event) {
    const open = panes().findIndex((one) => !ended.has(one));
    told.card = carded();
    told.ends = open < 0;
    const quick = time.active + time.idle < SHORT;
    if (words.remind && !told.reminded && !form().hasAttribute("data-judged") && (quick || !told.ends || (card() && !told.card))) {
      event.preventDefault();
      event.stopPropagation();
      told.reminded = true;
      if (card() && !told.card) {
        const opener = form().querySelector(".about");
        Attune.say(words.noCard.replace("{name}", document.getElementById("person-name").textContent),
          button(opener.querySelector(".named").textContent, () => { Attune.say(""); document.getElementById("person").showPopover(); }));
      } else if (!told.ends) {
        Attune.say(words.noEnd.replace("{n}", open + 1), button(words.answer + " " + (open + 1), () => { Attune.say(""); show(open); }));
      } else Attune.say(words.noTime);
    }
    record();
  }

  document.addEventListener("toggle", carded, true);

  // --- Dialogs ---

  // Fill a place with a page's fragment; where it cannot be had, say so there.
  async function load(place, url) {
    try {
      const answer = await fetch(url, { headers: { "HX-Request": "true" } });
      if (!answer.ok) throw new Error(answer.status);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      place.replaceChildren(...page.body.childNodes);
      return true;
    } catch (error) {
      place.textContent = words.unread;
      return false;
    }
  }

  act.guideline = async () => {
    const drawer = document.getElementById("guideline");
    const { task } = form() ? form().dataset : {};
    drawer.showModal();
    if (drawer.dataset.task === (task || "all")) return;
    const query = task ? "?task=" + task : "";
    if (await load(drawer.querySelector(".body"), words.guidelineUrl + query)) drawer.dataset.task = task || "all";
  };

  act.tour = async () => {
    if (!form()) return;
    const dialog = document.getElementById("tour");
    // Opened when it is there: a dialog that grows would move under the reader's eyes.
    const there = await load(dialog, words.tourUrl + "?task=" + form().dataset.task);
    document.querySelectorAll("dialog[open]").forEach((one) => one.close());
    dialog.showModal();
    if (there) step(0);
    else dialog.append(button(document.querySelector("[data-close]").textContent, () => dialog.close()));
  };

  function step(at) {
    const tour = document.querySelector("#tour form");
    const steps = [...tour.querySelectorAll("section")];
    tour.dataset.at = at;
    steps.forEach((one, n) => { one.hidden = n !== at; });
    tour.querySelector("[data-back]").hidden = at === 0;
    tour.querySelector("[data-next]").hidden = at === steps.length - 1;
    tour.querySelector("[data-done]").hidden = at !== steps.length - 1;
    steps[at].querySelector("h2").focus();
  }

  document.addEventListener("submit", (event) => {
    if (!event.target.matches("#tour form")) return;
    event.preventDefault();
    document.getElementById("tour").close();
  });

  // The next item can come before the server has noted the tour of this one.
  const toured = new Set();
  document.getElementById("tour").addEventListener("close", () => {
    if (!form() || !form().hasAttribute("data-tour")) return;
    form().removeAttribute("data-tour");
    toured.add(form().dataset.task);
    // Where this fails, the tour opens once more another day.
    Attune.post(words.tourUrl + "?task=" + form().dataset.task, new URLSearchParams()).catch(() => {});
    document.getElementById("question").focus({ preventScroll: true });
  });

  act.fold = () => {
    const toggle = form().querySelector("[data-act=fold]");
    const folded = form().classList.toggle("folded");
    toggle.setAttribute("aria-expanded", String(!folded));
    [toggle.textContent, toggle.dataset.other] = [toggle.dataset.other, toggle.textContent];
    if (!folded) clipped();
  };

  // On a phone the request folds to a line as soon as an answer is read further; what is read
  // stays where it is. A tap on the line unfolds it.
  const READ = 64;
  let top = 0;

  function foldAway() {
    if (!phone() || !form() || form().classList.contains("folded") ) return 0;
    const before = form().querySelector(".panes").getBoundingClientRect().top;
    form().classList.remove("unclipped");
    act.fold();
    return before - form().querySelector(".panes").getBoundingClientRect().top;
  }

  document.addEventListener("scroll", ({ target }) => {
    if (!form() || !target.matches || !target.matches(".pane :is(.text, .claims), .split, .panes:not([data-panes])")) return;
    const down = target.scrollTop > top;
    top = target.scrollTop;
    if (down && top > READ) target.scrollTop = top = Math.max(top - foldAway(), 0);
  }, { passive: true, capture: true });

  document.addEventListener("click", ({ target }) => {
    if (target.closest(".judge.folded .asked") && phone()) act.fold();
  });

  // --- On a phone: the whole question, the reason and the scores open where they are wanted ---

  act.whole = () => {
    const toggle = form().querySelector(".whole");
    const whole = form().classList.toggle("unclipped");
    toggle.setAttribute("aria-expanded", String(whole));
  };

  function clipped() {
    const asked = document.getElementById("question");
    const toggle = form().querySelector(".whole");
    if (toggle) toggle.hidden = !form().classList.contains("unclipped") && asked.scrollHeight <= asked.clientHeight + 2;
  }

  act.reason = () => {
    form().classList.add("reasoned");
    form().querySelector(".reason").setAttribute("aria-expanded", "true");
    document.getElementById("reason").focus();
  };

  // The criteria of the answer in view, or the places of all, over the lower part of the page.
  act.score = () => {
    const toggle = form().querySelector(".score-open");
    const sheet = panes()[pane].querySelector(".criteria") || form().querySelector(".criteria");
    const open = !sheet.classList.contains("open");
    form().querySelectorAll(".criteria.open").forEach((one) => one.classList.remove("open"));
    sheet.classList.toggle("open", open);
    toggle.setAttribute("aria-expanded", String(open));
    const group = asked(sheet).find((one) => !one.querySelector(":checked"));
    if (!open) return toggle.focus();
    foldAway();
    return turn(sheet, group || asked(sheet)[0]);
  };

  // The questions of a sheet, one of them shown at a time; places of a ranking stand together.
  function asked(sheet) {
    return [...sheet.querySelectorAll("[data-group]")].filter((one) => !one.closest("[hidden]"));
  }

  function turn(sheet, group) {
    const all = asked(sheet);
    all.forEach((one) => one.classList.toggle("now", one === group));
    if (sheet.closest(".pane")) steps(sheet, all.indexOf(group), all.length);
    group.querySelector(":checked, input, textarea").focus({ preventScroll: true });
  }

  function steps(sheet, at, count) {
    const further = panes().length > pane + 1 && panes()[pane + 1].querySelector(".criteria");
    const place = sheet.querySelector(".paging") || sheet.appendChild(document.createElement("p"));
    place.className = "paging";
    const back = button(words.previous, () => turn(sheet, asked(sheet)[at - 1]));
    back.style.visibility = at ? "" : "hidden";
    const last = at === count - 1;
    const told = document.createElement("span");
    told.textContent = at + 1 + " / " + count;
    const on = button(last ? (further ? words.nextAnswer : words.done) : words.next, () => {
      if (!last) return turn(sheet, asked(sheet)[at + 1]);
      act.score();
      if (!further) return undefined;
      show(pane += 1);
      return act.score();
    });
    on.className = "outline";
    place.replaceChildren(back, told, on);
  }

  // A score that a finger gave, and that wants no words, leads on to the next question.
  let touched = false;
  document.addEventListener("pointerdown", () => { touched = true; });
  document.addEventListener("keydown", () => { touched = false; });
  document.addEventListener("change", ({ target }) => {
    const sheet = target.type === "radio" && target.closest(".pane .criteria.open");
    if (!sheet || !touched) return;
    const all = asked(sheet);
    const group = target.closest("[data-group]");
    const next = all[all.indexOf(group) + 1];
    if (next && !group.querySelector("textarea, [type=checkbox]")) turn(sheet, next);
  });

  // --- A keyboard on the screen leaves room for the answer, the field and its button ---

  const KEYBOARD = 600;

  function typing() {
    const height = Math.round(window.visualViewport ? visualViewport.height : innerHeight);
    const field = document.activeElement;
    const on = Boolean(form() && phone() && height < KEYBOARD && field.matches("textarea, [data-number]") && form().contains(field) && !field.closest("[popover]"));
    document.documentElement.style.setProperty("--seen", height + "px");
    document.documentElement.classList.toggle("typing", on);
    if (on) scrollTo(0, 0);
  }

  document.addEventListener("focusin", ({ target }) => {
    // A button that is being pressed must not move away from under the finger.
    if (target.matches("textarea, [data-number]")) typing();
    else setTimeout(typing, 300);
  });
  document.addEventListener("focusout", () => setTimeout(typing, 300));
  (window.visualViewport || window).addEventListener("resize", typing);

  function count() {
    const place = form() && form().querySelector(".score-open .scored-of");
    if (!place) return;
    const all = [...form().querySelectorAll(".criteria [data-group]")];
    place.textContent = all.filter((one) => one.querySelector("[type=radio]:checked, [data-number]:not(:placeholder-shown)")).length + "/" + all.length;
  }

  // What is missing is told in our words, and shown: the browser cannot point at a closed sheet.
  // A choice has the name of its group; words have their own, beside a choice that was made.
  function nameOf(field) {
    const group = field.closest("fieldset, .why, .claim");
    const legend = group && group.querySelector("legend, label");
    const own = field.getAttribute("aria-label") || "";
    return (field.type !== "radio" && own) || (legend ? legend.firstChild.textContent.trim() : own);
  }

  let missing = -Infinity;
  let lacks = {};
  document.addEventListener("invalid", (event) => {
    if (!form() || event.target.form !== form()) return;
    event.preventDefault();
    if (event.target.matches("textarea")) event.target.setAttribute("aria-invalid", "true");
    if (performance.now() - missing < 500) return;
    missing = performance.now();
    lacks = { name: event.target.name, said: words.missing.replace("{name}", nameOf(event.target)) };
    Attune.say(lacks.said);
    const sheet = event.target.closest(".criteria");
    if (sheet && !sheet.checkVisibility()) {
      const at = panes().indexOf(sheet.closest(".pane"));
      if (at >= 0) show(pane = at);
      act.score();
    }
    if (sheet && sheet.matches(".pane .open")) turn(sheet, event.target.closest("[data-group]"));
    event.target.focus();
  }, true);
  document.addEventListener("input", ({ target }) => {
    if (!target.validity || !target.validity.valid) return;
    target.removeAttribute("aria-invalid");
    // What was asked for has come.
    if (target.name === lacks.name && document.getElementById("trouble").textContent === lacks.said) Attune.say("");
  });

  document.addEventListener("change", count);
  addEventListener("resize", () => { if (form()) clipped(); });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && form() && form().querySelector(".criteria.open")) act.score();
  });

  document.addEventListener("click", (event) => {
    const on = (selector) => event.target.closest(selector);
    if (on("[data-close]")) on("dialog").close();
    else if (on("[data-opens]") && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      act[on("[data-opens]").dataset.opens]();
    } else if (on("button[data-act]") && act[on("button[data-act]").dataset.act]) {
      on(".tools:popover-open")?.hidePopover();
      act[on("button[data-act]").dataset.act]();
    } else if (on("button[data-pane]")) show(on("button[data-pane]").dataset.pane - 1);
    else if (on("#tour [data-next]")) step(Number(on("form").dataset.at) + 1);
    else if (on("#tour [data-back]")) step(Number(on("form").dataset.at) - 1);
    else if (event.target.matches("dialog")) {
      const box = event.target.getBoundingClientRect();
      const inside = event.clientX >= box.left && event.clientX <= box.right
        && event.clientY >= box.top && event.clientY <= box.bottom;
      if (!inside && event.target.id !== "tour") event.target.close();
    }
  });

  // --- Questions that depend on an earlier one ---

  function asks() {
    form().querySelectorAll("[data-when]").forEach((question) => {
      const chosen = [...form().elements].find((one) => one.name === question.dataset.when && one.checked);
      question.hidden = !chosen || !JSON.parse(question.dataset.labels).includes(chosen.value);
    });
  }

  document.addEventListener("change", (event) => { if (form() && form().contains(event.target)) asks(); });

  // --- An item has come ---

  function shown() {
    const rest = document.getElementById("breaks-on");
    if (rest) rest.checked = localStorage.getItem(BREAKS) !== "off";
    if (!form()) return;
    // A refused answer comes back with its item: the time spent on it goes on, also after a reload.
    if (form().elements.slot.value !== slot) {
      slot = form().elements.slot.value;
      const kept = sessionStorage.getItem("attune:time:" + slot);
      time = kept ? JSON.parse(kept) : { active: 0, idle: 0, panes: panes().map(() => 0) };
      told.diff = Boolean(time.diff);
      told.raw = Boolean(time.raw);
      told.traits = Boolean(time.traits);
      told.reminded = Boolean(time.reminded);
      pane = top = 0;
    }
    lastTick = lastSign = performance.now();
    if (form().hasAttribute("data-final")) form().querySelectorAll("input, textarea").forEach((one) => { one.disabled = true; });
    watch();
    follow();
    carded();
    asks();
    clipped();
    Attune.edges();
    count();
    if (form().elements.reason && form().elements.reason.value) form().classList.add("reasoned");
    document.dispatchEvent(new CustomEvent("attune:shown"));
    if (form().hasAttribute("data-tour") && !toured.has(form().dataset.task)) act.tour();
  }

  ["pointermove", "pointerdown", "keydown", "wheel", "touchstart", "focusin"].forEach((name) =>
    document.addEventListener(name, sign, { passive: true }));
  document.addEventListener("scroll", sign, { passive: true, capture: true });
  document.addEventListener("visibilitychange", record);
  addEventListener("pagehide", record);
  setInterval(tick, 1000);
  // A page from the browser's memory may show an item that was judged since.
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  document.addEventListener("htmx:afterSwap", (event) => {
    // What comes later beside the item is no new item.
    if (event.detail.target.id !== "judge") return;
    // What was said of the answer before.
    document.querySelectorAll("main > .note:not(#trouble)").forEach((one) => one.remove());
    shown();
    const place = document.querySelector("form.judge [role=alert]") || document.getElementById("question");
    if (place && !document.querySelector("dialog[open]")) place.focus({ preventScroll: true });
  });
  // Until it settles the new form has the classes of the old one, and its request is folded.
  document.addEventListener("htmx:afterSettle", () => { if (form()) clipped(); });

  // One press drops every claim with words that the response does not have; each can be changed.
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-drop-ungrounded]")) return;
    event.preventDefault();
    form().querySelectorAll("[data-ungrounded] input[value=drop]").forEach((one) => {
      one.checked = true;
      one.dispatchEvent(new Event("change", { bubbles: true }));
    });
  });

  // A link to what was written about the item.
  if (location.hash === "#about-item") document.getElementById("about-item")?.showPopover();

  Object.assign(Attune, { act, words, form, panes, show, button, told });
  document.addEventListener("DOMContentLoaded", shown);
})();
