// Keys of one letter or number. They are silent while somebody types, none of them destroys
// anything, and each can be changed or all of them switched off; the choice stays in this browser.
(function () {
  "use strict";

  const { act, form } = Attune;
  const STORE = "attune:keys:" + Attune.person;
  const dialog = document.getElementById("keys");
  const inputs = [...dialog.querySelectorAll("[id^=key-]")];
  const USUAL = Object.fromEntries(inputs.map((one) => [one.id.slice(4), one.defaultValue]));
  const own = JSON.parse(localStorage.getItem(STORE) || "{}");
  const settings = { on: own.on !== false, keys: { ...USUAL, ...own.keys } };

  function typing(target) {
    return target.matches("textarea, select, [contenteditable], input:not([type=radio], [type=checkbox])");
  }

  // What is to be answered next: the group with the focus, else the one that had it last.
  function groups() {
    return [...form().querySelectorAll("[data-group]")].filter((one) => one.checkVisibility({ visibilityProperty: true }));
  }

  function current() {
    const all = groups();
    const focused = document.activeElement.closest("[data-group]");
    if (focused) return focused;
    return all.find((one) => one.classList.contains("at")) || all[0];
  }

  // ``left`` is the field that is left for the keys: words alone have no other stop.
  function enter(group, left) {
    form().querySelectorAll(".at").forEach((one) => one.classList.remove("at"));
    if (!group) return;
    group.classList.add("at");
    const stop = group.querySelector(":checked") || group.querySelector("input:not([type=hidden]), textarea, button");
    if (stop === left) left.blur();
    else stop.focus();
  }

  function press(radio) {
    if (!radio || radio.disabled) return false;
    if (radio.checked) return louder();
    radio.checked = true;
    radio.focus({ preventScroll: true });
    radio.dispatchEvent(new Event("change", { bubbles: true }));
    return true;
  }

  // The number of the chosen answer once more: slightly, clearly, much, and round again.
  function louder() {
    const strengths = [...form().querySelectorAll("[name$='/strength']")];
    if (!strengths.length) return true;
    const next = strengths[(strengths.findIndex((one) => one.checked) + 1) % strengths.length];
    next.checked = true;
    next.dispatchEvent(new Event("change", { bubbles: true }));
    return true;
  }

  // In scoring, a digit after a digit is for the next criterion: 4 3 5 2 are four scores. Whoever
  // went somewhere else in between (j, k, Tab, a click) scores what they are at.
  let scored = null;

  function choose(number) {
    let group = form().querySelector("[data-main]") || current();
    if (group && group === scored) {
      const all = groups();
      const next = all[all.indexOf(group) + 1];
      if (next && next.matches(".criterion")) enter(group = next);
    }
    const done = Boolean(group) && press(group.querySelector('[data-key="' + number + '"]'));
    scored = done && group.matches(".criterion") ? group : null;
    return done;
  }

  act.tie = () => press(form().querySelector("input[data-act=tie]"));
  act.none = () => press(form().querySelector("input[data-act=none]"));
  act.next = () => move(1);
  act.previous = () => move(-1);

  function move(by) {
    scored = null;
    const all = groups();
    const at = all.indexOf(current());
    const entered = document.activeElement.closest("[data-group]") || form().querySelector(".at");
    enter(all[entered ? Math.min(Math.max(at + by, 0), all.length - 1) : 0]);
  }

  act.flag = () => {
    const more = document.getElementById("more");
    if (!more) return;
    more.open = true;
    more.querySelector("input").focus();
  };

  // The button opens the question by itself; the key has to.
  function skip() {
    const question = document.getElementById("leave");
    if (!question) return;
    question.showPopover();
    // Who believed to be typing presses the space bar next: that must not skip.
    question.querySelector("textarea, .link").focus();
  }

  function undo() {
    const link = document.querySelector("a[data-act=undo]");
    if (link) link.click();
  }

  act.help = () => dialog.showModal();

  function letter(event) {
    // With a Korean keyboard the key n says ㅜ: the place of the key tells which it is.
    const plain = event.key.length === 1 && event.key.charCodeAt(0) < 128;
    return plain || !event.code.startsWith("Key") ? event.key : event.code.slice(3).toLowerCase();
  }

  function single(key) {
    // A number is typed where it is asked for: its first key goes to the field.
    const field = /^[-0-9]$/.test(key) && form() && current() && current().querySelector("[data-number]");
    if (field) {
      field.select();
      return false;
    }
    if (/^[1-9]$/.test(key) && form()) return choose(key);
    const name = Object.keys(settings.keys).find((one) => settings.keys[one] === key);
    if (!name) return false;
    const run = { skip, undo }[name] || act[name];
    const anywhere = ["undo", "help", "guideline"].includes(name);
    if (!run || (!form() && !anywhere)) return false;
    run();
    return true;
  }

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.altKey || event.repeat || event.isComposing) return;
    const open = document.querySelector("dialog[open], .leave:popover-open");
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter") {
      if (open || !form()) return;
      event.preventDefault();
      const button = form().querySelector("button[name=submit]");
      if (button && !form().dataset.waiting) form().requestSubmit(button);
      return;
    }
    if (event.ctrlKey || event.metaKey || open) return;
    if (typing(event.target)) {
      scored = null;
      if (event.key === "Escape" && form() && form().contains(event.target)) enter(current(), event.target);
      return;
    }
    if (!settings.on || (form() && form().dataset.waiting)) return;
    if (single(letter(event))) event.preventDefault();
  });

  document.addEventListener("pointerdown", () => { scored = null; });
  document.addEventListener("focusin", (event) => {
    const group = event.target.closest && event.target.closest("[data-group]");
    if (!group) return;
    form().querySelectorAll(".at").forEach((one) => one.classList.toggle("at", one === group));
    group.classList.add("at");
  });

  // --- The settings ---

  function draw() {
    document.documentElement.classList.toggle("keyless", !settings.on);
    inputs.forEach((one) => { one.value = settings.keys[one.id.slice(4)]; });
    document.getElementById("keys-on").checked = settings.on;
    document.querySelectorAll("kbd[data-of]").forEach((one) => {
      const key = settings.keys[one.dataset.of];
      if (one.textContent !== key) one.textContent = key;
    });
  }

  function keep() {
    localStorage.setItem(STORE, JSON.stringify(settings));
    draw();
  }

  function complain(text) {
    const note = dialog.querySelector("[role=alert]");
    note.textContent = text;
    note.hidden = !text;
  }

  inputs.forEach((input) => {
    input.addEventListener("focus", () => input.select());
    input.addEventListener("change", () => {
      const name = input.id.slice(4);
      const key = input.value.trim().toLowerCase();
      const taken = Object.keys(settings.keys).some((one) => one !== name && settings.keys[one] === key);
      if (!key || taken || /^[1-9]$/.test(key)) {
        complain(key ? Attune.words.taken : "");
        draw();
        return;
      }
      complain("");
      settings.keys[name] = key;
      keep();
    });
  });
  document.getElementById("keys-on").addEventListener("change", (event) => {
    settings.on = event.target.checked;
    keep();
  });
  document.getElementById("keys-reset").addEventListener("click", () => {
    complain("");
    settings.keys = { ...USUAL };
    keep();
  });
  document.addEventListener("attune:shown", draw);
})();
