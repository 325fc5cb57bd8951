// What a reader has opened stays open, and what has the focus keeps it, when the figures are
// replaced by newer ones.
(() => {
  let opened = [];
  let focused = "";

  const titleOf = (details) => details.closest("section")?.getAttribute("aria-labelledby");
  const detailsOf = (title) => document.querySelector(`section[aria-labelledby="${title}"] details`);
  const isOurs = (event) => event.detail.target?.id === "overview";

  document.addEventListener("htmx:beforeSwap", (event) => {
    if (!isOurs(event)) return;
    opened = [...event.detail.target.querySelectorAll("details[open]")].map(titleOf);
    const active = document.activeElement;
    focused = active?.tagName === "SUMMARY" ? titleOf(active) : active?.getAttribute("href") ?? "";
  });

  document.addEventListener("htmx:afterSettle", () => {
    for (const title of opened) detailsOf(title)?.setAttribute("open", "");
    const link = [...document.querySelectorAll("#overview a")].find(
      (one) => one.getAttribute("href") === focused,
    );
    if (focused) (detailsOf(focused)?.querySelector("summary") ?? link)?.focus({ preventScroll: true });
    opened = [];
    focused = "";
  });
})();
