// Keys for the whole page; never while somebody types, and single ones can be switched off.

import { CANNOT_JUDGE } from "./sheet.js";

const ANSWERS = { y: "1", 1: "1", n: "0", 0: "0", c: CANNOT_JUDGE };
const STEPS = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 };
const TYPING = "textarea, select, input:not([type=radio]), [contenteditable]";
const OWN_ENTER = "a, button, summary";

/** Caps Lock alone makes no other key of it. */
function nameOf(event) {
  const isCapital = event.key.length === 1 && event.getModifierState("CapsLock") && !event.shiftKey;
  return isCapital ? event.key.toLowerCase() : event.key;
}

export function listenToKeys(page) {
  const act = (event) => {
    const key = nameOf(event);
    if (event.ctrlKey || event.metaKey) {
      const isUndo = event.key.toLowerCase() === "z" && !event.shiftKey && !event.altKey;
      return isUndo && page.undo;
    }
    if (event.altKey) return null;
    if (event.key === "Enter") return !event.target.closest(OWN_ENTER) && page.enter;
    if (!page.singleKeys()) return null;
    if (event.key === "?") return page.help;
    if (key in ANSWERS) return () => page.answer(ANSWERS[key]);
    if (event.shiftKey) return null;
    if (key === "l") return page.later;
    if (key in STEPS) return () => page.step(STEPS[key]);
    return key === "u" && page.undo;
  };
  document.addEventListener("keydown", (event) => {
    // A key held down is one answer, not seven.
    const isHeld = event.repeat && !event.key.startsWith("Arrow");
    if (event.defaultPrevented || event.isComposing || isHeld || page.isCovered()) return;
    if (event.target.closest(TYPING)) return;
    if (event.key.startsWith("Arrow") && event.target.closest(".guide")) return; // it scrolls
    const run = act(event);
    if (!run) return;
    event.preventDefault();
    run();
  });
}
