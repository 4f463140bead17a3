// Files go in pieces, so that a broken line costs one piece: the server says where to go on.
// Without this script the form sends the file whole.
(function () {
  "use strict";

  const form = document.getElementById("send");
  const field = form.querySelector("[type=file]");
  const said = form.querySelector(".under-way");
  const PIECE = Number(form.dataset.piece);
  const LONGEST_PAUSE = 30000;
  const HEAD = 65536;

  function say(line, words, file, percent) {
    line.textContent = form.dataset[words].replace("{name}", file.name).replace("{percent}", percent);
  }

  // Files that have arrived share one line, so that nine of them do not push the list away.
  function sayArrived(line, file) {
    const before = said.querySelector(".arrived");
    const count = before ? Number(before.dataset.count) + 1 : 1;
    if (before) before.remove();
    line.className = "arrived";
    line.dataset.count = count;
    say(line, count > 1 && form.dataset.several ? "several" : "sent", file, 100);
    line.textContent = line.textContent.replace("{n}", count);
  }

  // A refusal has a sentence; anything else may pass by itself.
  class Refused extends Error {}

  async function ask(address, options) {
    const token = form.querySelector("[name=csrfmiddlewaretoken]").value;
    const headers = { "X-CSRFToken": token, ...options.headers };
    const answer = await fetch(address, { ...options, headers });
    if (answer.ok || answer.status === 409) return answer;
    if (answer.status >= 500 && answer.status !== 507) throw new Error(String(answer.status));
    const problem = await answer.json().catch(() => ({}));
    throw new Refused(problem.detail || answer.statusText);
  }

  // What tells this file from others: its beginning, its size and its date.
  async function fingerprint(file) {
    if (!window.crypto || !crypto.subtle) return "";
    const head = await file.slice(0, HEAD).arrayBuffer();
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", head));
    const hex = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
    return `${hex}-${file.size}-${file.lastModified}`;
  }

  function begin(file, mark) {
    const body = JSON.stringify({ size: file.size, fingerprint: mark, name: file.name.slice(0, 200) });
    return ask(form.dataset.address, { method: "POST", headers: { "Content-Type": "application/json" }, body });
  }

  // One piece; where the server wants another one, or has all, it is asked what it has.
  async function step(file, address, offset) {
    const body = file.slice(offset, offset + PIECE);
    const headers = { "Content-Type": "application/octet-stream", "Upload-Offset": String(offset) };
    const answer = await ask(address, { method: "PATCH", headers, body });
    return answer.ok ? answer.json() : (await ask(address, { method: "GET" })).json();
  }

  async function patiently(act, waits) {
    for (let pause = 1000; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
      try {
        return await act();
      } catch (error) {
        if (error instanceof Refused) throw error;
        waits();
        await new Promise((go) => setTimeout(go, pause));
      }
    }
  }

  async function send(file) {
    const line = said.appendChild(document.createElement("p"));
    const waits = () => say(line, "waiting", file, "");
    try {
      const mark = await fingerprint(file);
      const begun = await patiently(async () => (await begin(file, mark)).json(), waits);
      if (!begun.upload) throw new Refused(begun.detail);
      changed();
      let { offset, status } = { offset: begun.offset, status: "receiving" };
      while (status === "receiving") {
        say(line, "sending", file, Math.floor((100 * offset) / file.size));
        ({ offset, status } = await patiently(() => step(file, begun.status_url, offset), waits));
      }
      sayArrived(line, file);
      if (begun.page_url) window.location.assign(begun.page_url);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      line.className = "note warn";
      line.textContent = `${file.name}: ${error.message}`;
    }
    changed();
  }

  function changed() {
    document.body.dispatchEvent(new Event("uploads-changed"));
  }

  async function sendAll(files) {
    for (const file of files) await send(file);
  }

  form.addEventListener("submit", (event) => {
    if (!field.files.length) return;
    event.preventDefault();
    const chosen = Array.from(field.files);
    field.value = "";
    sendAll(chosen);
  });

  form.querySelector(".droppable").hidden = false;
  for (const name of ["dragenter", "dragover", "dragleave", "drop"]) {
    form.addEventListener(name, (event) => {
      if (!event.dataTransfer || !Array.from(event.dataTransfer.types).includes("Files")) return;
      event.preventDefault();
      form.classList.toggle("over", name === "dragenter" || name === "dragover");
      if (name === "drop") sendAll(Array.from(event.dataTransfer.files));
    });
  }
})();
