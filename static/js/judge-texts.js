// Reading aids: find in the card, the source of an answer, words that differ, marked passages.
(function () {
  "use strict";

  const { act, words, form, panes } = Attune;
  const { wordsOf, alike, telling, parts, differences, points, units } = JudgePure;
  const NOBODY = "00000000-0000-0000-0000-000000000000";
  const PASSAGE = 2000;
  const rendered = new WeakMap();
  let fetched = { slot: "", answers: [] };
  let chosen = null;

  function paint(name, ranges) {
    if (typeof Highlight === "undefined") return;
    if (ranges.length) CSS.highlights.set(name, new Highlight(...ranges));
    else CSS.highlights.delete(name);
  }

  function element(name, text, className) {
    const made = document.createElement(name);
    made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  // --- Find in the card ---

  let found = [];
  let at = 0;

  function find(text) {
    found = [];
    at = 0;
    const walk = document.createTreeWalker(form().querySelector(".person .card"), NodeFilter.SHOW_TEXT);
    const wanted = text.trim().toLowerCase();
    while (wanted && walk.nextNode()) {
      const line = walk.currentNode.data.toLowerCase();
      for (let from = line.indexOf(wanted); from >= 0; from = line.indexOf(wanted, from + wanted.length)) {
        const range = new Range();
        range.setStart(walk.currentNode, from);
        range.setEnd(walk.currentNode, from + wanted.length);
        found.push(range);
      }
    }
    go(0, wanted);
  }

  function go(to, wanted) {
    at = found.length ? (to + found.length) % found.length : 0;
    form().querySelector(".find output").textContent = wanted ? (found.length ? at + 1 : 0) + " / " + found.length : "";
    paint("found", found);
    paint("found-here", found.slice(at, at + 1));
    if (found.length) found[at].startContainer.parentElement.scrollIntoView({ block: "nearest" });
  }

  document.addEventListener("input", (event) => { if (event.target.id === "find") find(event.target.value); });
  document.addEventListener("keydown", (event) => {
    if (event.target.id !== "find" || event.key !== "Enter") return;
    // Without this the form around would be submitted.
    event.preventDefault();
    go(at + (event.shiftKey ? -1 : 1), event.target.value.trim());
  });

  // --- Where the words of a trait stand in the answers: text against text, the same for all ---

  function touches(box, wanted) {
    const walk = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
    const ranges = [];
    while (walk.nextNode()) {
      const node = walk.currentNode;
      wordsOf(node.data).filter((word) => wanted.some((other) => alike(word.text, other))).forEach((word) => {
        const range = new Range();
        range.setStart(node, word.at);
        range.setEnd(node, word.at + word.length);
        ranges.push(range);
      });
    }
    return ranges;
  }

  function rows() {
    return [...form().querySelectorAll(".traits > div")];
  }

  act.touch = () => {
    const toggle = form().querySelector("[data-act=touch]");
    if (!toggle) return;
    const on = toggle.getAttribute("aria-pressed") !== "true";
    toggle.setAttribute("aria-pressed", String(on));
    form().classList.toggle("touching", on);
    rows().forEach((row) => { row.tabIndex = on ? 0 : -1; });
    if (on) Attune.told.traits = true;
    else touch(null);
  };

  function touch(row) {
    const wanted = row ? telling(row.querySelector("dd").textContent) : [];
    const ranges = panes().map((pane) => touches(pane.querySelector(".text"), wanted));
    paint("touched", ranges.flat());
    rows().forEach((other) => other.classList.toggle("here", other === row));
    form().querySelector(".touched").textContent = row
      ? ranges.map((list, n) => words.answer + " " + (n + 1) + ": " + list.length).join(" · ") : "";
  }

  ["mouseover", "focusin"].forEach((name) => document.addEventListener(name, (event) => {
    if (!form() || !form().classList.contains("touching") || !event.target.closest) return;
    const row = event.target.closest(".traits > div");
    if (row && !row.classList.contains("here")) touch(row);
  }));

  // --- Source and comparison ---

  async function sources() {
    const slot = form().elements.slot.value;
    if (fetched.slot !== slot) {
      const answer = await fetch(words.sourcesUrl.replace(NOBODY, slot));
      if (!answer.ok) throw new Error(answer.status);
      fetched = { slot, answers: (await answer.json()).answers };
    }
    return fetched.answers;
  }

  act.source = async () => {
    const raw = !form().classList.contains("raw");
    try {
      const texts = raw ? await sources() : [];
      panes().forEach((pane, n) => swap(pane.querySelector(".text"), texts[n], raw));
    } catch (error) {
      Attune.say(words.unread);
      return;
    }
    form().classList.toggle("raw", raw);
    form().querySelector("[data-act=source]").setAttribute("aria-pressed", String(raw));
    Attune.told.raw = true;
    draw();
  };

  function swap(box, text, raw) {
    if (raw) {
      rendered.set(box, [...box.childNodes]);
      box.replaceChildren(element("pre", text, "source"));
    } else box.replaceChildren(...rendered.get(box));
    box.scrollTo(0, 0);
  }

  act.compare = async () => {
    const count = panes().length;
    if (count < 2) return;
    const dialog = document.getElementById("compare");
    dialog.showModal();
    Attune.told.diff = true;
    try {
      const texts = await sources();
      const pairs = [];
      for (let a = 0; a < count; a += 1) for (let b = a + 1; b < count; b += 1) pairs.push([a, b]);
      dialog.querySelector(".pairs").replaceChildren(...(pairs.length > 1 ? pairs.map((pair) => pairButton(texts, ...pair)) : []));
      compare(texts, 0, 1);
    } catch (error) {
      dialog.querySelector(".result").textContent = words.unread;
    }
  };

  function pairButton(texts, a, b) {
    const made = Attune.button((a + 1) + " – " + (b + 1), () => compare(texts, a, b));
    made.dataset.pair = a + "-" + b;
    return made;
  }

  function compare(texts, a, b) {
    const dialog = document.getElementById("compare");
    dialog.querySelectorAll("[data-pair]").forEach((one) => one.setAttribute("aria-pressed", String(one.dataset.pair === a + "-" + b)));
    const result = dialog.querySelector(".result");
    const edits = differences(parts(texts[a]), parts(texts[b]));
    const shared = (edits || []).map(([sign, text]) => (sign === "=" ? text : "")).join("").length;
    if (shared * 3 < Math.max(texts[a].length, texts[b].length)) result.textContent = words.apart;
    else if (edits.every(([sign]) => sign === "=")) result.textContent = words.same;
    else result.replaceChildren(...edits.map(([sign, text]) => (sign === "=" ? text : element(sign === "-" ? "del" : "ins", text))));
  }

  // --- Marked passages: offsets count the characters of the answer as it is read ---

  const STYLES = 4;

  // The fields that hold marks, each with the classes that it takes: [[value, words], ...].
  function fields() {
    return form() ? [...form().querySelectorAll("[data-marks]")] : [];
  }

  function classes(of) {
    return JSON.parse(of.dataset.marks);
  }

  function marks(of) {
    return of.value ? JSON.parse(of.value) : [];
  }

  function keep(of, list) {
    of.value = list.length ? JSON.stringify(list) : "";
    of.dispatchEvent(new Event("change", { bubbles: true }));
    draw();
  }

  function range(box, start, end) {
    const made = new Range();
    const walk = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
    let passed = 0;
    let open = false;
    while (walk.nextNode()) {
      const { length } = walk.currentNode;
      if (!open && start < passed + length) { made.setStart(walk.currentNode, start - passed); open = true; }
      if (open && end <= passed + length) { made.setEnd(walk.currentNode, end - passed); return made; }
      passed += length;
    }
    return null;
  }

  function draw() {
    if (!fields().length) return;
    const kinds = fields().flatMap((of) => classes(of).map(([sign, name]) => ({ of, sign, name, list: marks(of) })));
    const ranges = Array.from({ length: STYLES }, () => []);
    panes().forEach((pane) => {
      const box = pane.querySelector(".text");
      const mine = kinds.flatMap((kind, style) => kind.list.filter((one) => one.option === pane.dataset.option && one.sign === kind.sign)
        .map((one) => ({ one, kind, style: style % STYLES })));
      if (!form().classList.contains("raw")) {
        mine.forEach(({ one, style }) => {
          const text = box.textContent;
          const made = range(box, units(text, one.start), units(text, one.end));
          if (made) ranges[style].push(made);
        });
      }
      let shown = pane.querySelector(".marks");
      if (shown) shown.remove();
      if (!mine.length) return;
      shown = element("ul", "", "marks");
      shown.append(...mine.map(entry));
      box.after(shown);
    });
    ranges.forEach((list, style) => paint("mark-" + (style + 1), list));
  }

  function entry({ one, kind, style }) {
    const item = element("li", "", style % 2 ? "other" : "");
    const remove = Attune.button(words.remove, () => keep(kind.of, kind.list.filter((other) => other !== one)));
    remove.setAttribute("aria-label", words.remove + ": " + one.text.slice(0, 40));
    item.append(element("strong", kind.name), " ", element("q", one.text), one.comment ? " " + one.comment : "", " ", remove);
    return item;
  }

  // Pressing a button may take the selection away: the last one in an answer is remembered.
  function remember() {
    const selection = getSelection();
    if (!selection.rangeCount || selection.isCollapsed || !form() || form().classList.contains("raw")) return;
    const picked = selection.getRangeAt(0);
    const box = panes().map((pane) => pane.querySelector(".text")).find((one) => one.contains(picked.commonAncestorContainer));
    if (!box) return;
    const before = new Range();
    before.setStart(box, 0);
    before.setEnd(picked.startContainer, picked.startOffset);
    const all = picked.toString();
    const start = before.toString().length + all.length - all.trimStart().length;
    chosen = { box, start, end: start + all.trim().length, text: all.trim() };
  }

  document.addEventListener("selectionchange", remember);

  const dialog = document.getElementById("mark");
  const field = document.getElementById("mark-text");

  // What a passage can be called: the classes of each field, of several fields with their questions.
  function offer() {
    const all = fields().flatMap((of) => classes(of).map(([sign, name]) => ({ of, sign, name })));
    const box = dialog.querySelector(".signs div");
    box.replaceChildren(...all.map(({ of, name }, n) => {
      const label = document.createElement("label");
      const radio = Object.assign(document.createElement("input"), { type: "radio", name: "sign", value: n, defaultChecked: !n });
      const title = fields().length > 1 && of.dataset.title && of.dataset.title !== name ? of.dataset.title + ": " : "";
      label.append(radio, " " + title + name);
      return label;
    }));
    box.parentElement.hidden = all.length < 2;
    return all;
  }

  let offered = [];

  act.mark = async () => {
    if (!fields().length) return;
    // The event comes after the selection; a quick key may come between the two.
    remember();
    if (form().classList.contains("raw")) await act.source();
    offered = offer();
    const live = chosen && chosen.box.isConnected;
    field.value = live ? chosen.text : "";
    document.getElementById("mark-comment").value = "";
    complain("");
    dialog.showModal();
    (live && offered.length > 1 ? dialog.querySelector("[name=sign]:checked") : field).focus();
  };

  function complain(text) {
    const note = dialog.querySelector("[role=alert]");
    note.textContent = text;
    note.hidden = !text;
  }

  // Where the words were typed, they are looked for in the answers in their order.
  function locate(text) {
    if (chosen && chosen.box.isConnected && chosen.text === text) return chosen;
    for (const pane of panes()) {
      const box = pane.querySelector(".text");
      const start = box.textContent.indexOf(text);
      if (start >= 0) return { box, start, end: start + text.length };
    }
    return null;
  }

  dialog.querySelector("form").addEventListener("submit", (event) => {
    const passage = field.value.length <= PASSAGE ? locate(field.value) : null;
    const { of, sign } = offered[dialog.querySelector("[name=sign]:checked").value];
    const made = passage && field.value.trim() && mark(passage, sign);
    // A question's passages of one class stand apart.
    const over = made && of.dataset.title && marks(of).some((one) => one.option === made.option && one.sign === sign
      && one.start < made.end && made.start < one.end);
    if (!made || over) {
      event.preventDefault();
      complain(over ? words.overlap : words.nowhere);
      field.focus();
      return;
    }
    keep(of, [...marks(of), made]);
    chosen = null;
  });

  function mark(passage, sign) {
    const all = passage.box.textContent;
    return {
      option: passage.box.closest(".pane").dataset.option,
      start: points(all, passage.start),
      end: points(all, passage.end),
      text: all.slice(passage.start, passage.end),
      sign,
      comment: document.getElementById("mark-comment").value.trim(),
    };
  }

  // --- Claims: how many are still to be decided ---

  function left() {
    const place = form() && form().querySelector("[data-left]");
    if (!place) return;
    const open = [...form().querySelectorAll(".claim")].filter((one) => !one.querySelector(":checked")).length;
    place.textContent = open ? place.dataset.left + " " + open : "";
  }

  document.addEventListener("attune:shown", () => { draw(); left(); });
  document.addEventListener("attune:typed", () => { draw(); left(); });
})();
