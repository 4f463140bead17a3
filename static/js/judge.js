// The judging page without a mouse, and the seconds it really took. It works without this file.
(function () {
  "use strict";

  const IDLE_AFTER = 30000;
  let active = 0;
  let lastTick = performance.now();
  let lastSign = lastTick;
  let slot = "";

  function form() {
    return document.querySelector("form.judge");
  }

  function typing(target) {
    return target.matches("textarea, select, input:not([type=radio]):not([type=checkbox])");
  }

  // Time counts while the page is in view and the person moved, scrolled or typed of late.
  function tick() {
    const now = performance.now();
    if (!document.hidden && now - lastSign < IDLE_AFTER) active += now - lastTick;
    lastTick = now;
    const field = form() && form().elements.seconds;
    if (field) field.value = (active / 1000).toFixed(1);
  }

  function sign() {
    tick();
    lastSign = performance.now();
  }

  // A refused answer comes back with its item: the time spent on it goes on.
  function restart() {
    const shown = form() ? form().elements.slot.value : "";
    if (shown !== slot) active = 0;
    slot = shown;
    lastTick = lastSign = performance.now();
  }

  function choose(key) {
    const radio = form().querySelector('input[name=choice][data-key="' + CSS.escape(key) + '"]');
    if (!radio) return false;
    radio.checked = true;
    radio.focus({ preventScroll: true });
    return true;
  }

  document.addEventListener("keydown", (event) => {
    if (!form() || event.altKey || event.repeat) return;
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter") {
      event.preventDefault();
      form().requestSubmit(form().querySelector("button[name=submit]"));
      return;
    }
    if (event.ctrlKey || event.metaKey || typing(event.target)) return;
    if (choose(event.key)) event.preventDefault();
  });

  ["pointermove", "pointerdown", "keydown", "wheel", "touchstart"].forEach((name) =>
    document.addEventListener(name, sign, { passive: true }));
  document.addEventListener("visibilitychange", tick);
  document.addEventListener("scroll", sign, { passive: true, capture: true });
  setInterval(tick, 1000);
  document.addEventListener("submit", tick, true);
  restart();
  document.addEventListener("htmx:afterSwap", () => {
    restart();
    const place = document.querySelector("form.judge [role=alert]") || document.getElementById("question");
    if (place) place.focus({ preventScroll: true });
  });
})();
