// Opens the preview in a window as wide as a phone; without a script the link opens a tab.
document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-phone]");
  if (!link) return;
  event.preventDefault();
  window.open(link.href, "_blank", "popup,noopener,width=390,height=844");
});
