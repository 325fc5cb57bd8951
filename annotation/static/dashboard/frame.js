// What the theme leaves to the mouse, for the keyboard and for readers of screens.
"use strict";

const NAMES = { dock_to_right: "Menu", close: "Close the menu", unfold_more: "Account" };
// Parts that scroll; of two that hold one, the inner comes later.
const PLACES = { "#nav-sidebar-apps": "Menu", "#changelist": "List", "#changelist-filter": "Filters" };

function asButton(one) {
  const icon = one.matches(".material-symbols-outlined") ? one.textContent.trim() : "";
  one.setAttribute("role", "button");
  one.tabIndex = 0;
  if (icon) one.setAttribute("aria-label", NAMES[icon] ?? icon.replaceAll("_", " "));
  one.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    one.click();
  });
}

// Of lists to choose from, which come when their own script has run.
function name(list) {
  const field = list.getAttribute("aria-labelledby")?.match(/^select2-(.+)-container$/)?.[1];
  const label = field && document.querySelector(`label[for="${field}"]`);
  if (!label) return;
  for (const part of [list, list.querySelector("[role=textbox]")]) {
    part?.removeAttribute("aria-labelledby");
    part?.setAttribute("aria-label", label.textContent.replace("*", "").trim());
  }
}

function nameAll() {
  document.querySelectorAll(".select2-selection[role=combobox]").forEach(name);
}

// The theme writes a chosen file's name into the nearest field of words, save where it has been:
// in our forms that field is another one. It looks for them when the page is loaded, and later.
document.addEventListener("DOMContentLoaded", () => {
  for (const input of document.querySelectorAll(".dash-form input[type=file]")) {
    input.hasChangeListener = true;
  }
});

window.addEventListener("load", () => {
  const clicked = "span[x-on\\:click], #changelist a[x-on\\:click]:not([href])";
  document.querySelectorAll(clicked).forEach(asButton);
  for (const [place, words] of Object.entries(PLACES)) {
    for (const part of document.querySelectorAll(`${place} .simplebar-content-wrapper`)) {
      part.setAttribute("aria-label", words);
    }
  }
  for (const heading of document.querySelectorAll("#changelist-filter h3")) {
    heading.setAttribute("aria-level", "2");
  }
  nameAll();
  new MutationObserver(nameAll).observe(document.body, { childList: true, subtree: true });
});
