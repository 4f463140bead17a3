// Opens the preview in a window as wide as a phone; without a script the link opens a tab.
document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-phone]");
  if (!link) return;
  event.preventDefault();
  window.open(link.href, "_blank", "popup,noopener,width=390,height=844");
});

// Beside the form of a task stands the page that its annotators would meet, as typed so far.
(function () {
  "use strict";

  const form = document.querySelector("form[data-preview]");
  if (!form) return;
  const frame = document.querySelector("iframe.live");
  let wait = 0, asked = 0;

  async function show() {
    const mine = ++asked;
    const fields = new FormData(form);
    fields.delete("press");
    const answer = await fetch(form.dataset.preview, { method: "POST", body: fields }).catch(() => null);
    if (answer?.ok && mine === asked) frame.srcdoc = await answer.text();
  }

  form.addEventListener("input", () => {
    clearTimeout(wait);
    wait = setTimeout(show, 400);
  });
  // A page that waits for the form is one sentence: no empty frame stands below it.
  frame.addEventListener("load", () => frame.classList.toggle("waits", !frame.contentDocument.querySelector(".judge")));
  show();
})();
