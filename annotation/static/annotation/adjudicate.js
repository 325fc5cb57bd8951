// Single keys press the buttons that name them; without this script the buttons do all the same.

import { SINGLE_KEYS } from "./judging/dialogs.js";

const label = document.querySelector("label.switch");
const keys = label?.querySelector("input");
const writes = (target) => target.closest("textarea, [contenteditable]");

const stored = (change) => {
  try {
    return change(window.localStorage);
  } catch {
    return null; // the browser keeps nothing: the switch holds for this page
  }
};

if (keys) {
  keys.checked = stored((kept) => kept.getItem(SINGLE_KEYS)) !== "off";
  keys.addEventListener("change", () => {
    stored((kept) => kept.setItem(SINGLE_KEYS, keys.checked ? "on" : "off"));
  });
  label.hidden = false;
}

document.addEventListener("keydown", (event) => {
  if (!keys?.checked || writes(event.target)) return;
  if (event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
  const key = CSS.escape(event.key.toLowerCase());
  const button = document.querySelector(`[data-key="${key}"]`);
  if (!button) return;
  event.preventDefault();
  button.click();
});

// Chromium drops `autofocus` now and then when it is busy; Enter has to open the next triplet,
// unless the reader is elsewhere already.
if (document.activeElement === document.body) {
  document.querySelector(".revealed [autofocus]")?.focus();
}

// A long text scrolls in its box: the keyboard must be able to reach it.
for (const text of document.querySelectorAll("dd")) {
  if (text.scrollHeight > text.clientHeight) text.tabIndex = 0;
}

// Two submits of a form are one: the second would only repeat the first.
for (const form of document.querySelectorAll("form.decide")) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
  });
  // Come back to by the browser's own way, the page may be sent again.
  window.addEventListener("pageshow", () => delete form.dataset.sent);
}
