// The judging page. Without it the page works all the same: the browser itself refuses to send a
// form in which a required choice is not made.

import { Bar } from "./bar.js";
import { Dialogs } from "./dialogs.js";
import { Keep, dropOldEntries } from "./keep.js";
import { listenToKeys } from "./keys.js";
import { Lease } from "./lease.js";
import { Place } from "./place.js";
import { Patience, TOKEN, post, probe, refreshTokens } from "./send.js";
import { CANNOT_JUDGE, Sheet } from "./sheet.js";
import { Behaviour } from "./behaviour.js";

const HASTE_MS = 400; // the second half of a double click is no answer to the next item
const FORGETFUL = "This browser keeps nothing: please submit before you close the page.";

const form = document.querySelector("form.judging");
const told = form.dataset;
const isInhouse = "home" in told;
const sheet = new Sheet(form);
const bar = new Bar(form);
const dialogs = new Dialogs();
const keys = sheet.items.map((item) => item.key);
const keep = new Keep(told.assignment, [told.worker, ...keys].join(" "));
const start = keep.read();
const behaviour = new Behaviour(keys, start.behaviour);
const undone = []; // {item, before}, the last one last
let isLocked = false;
let isSending = false;

dropOldEntries();
// A page that is opened again has not arrived: what was sent from it may be sent once more.
if (start.sent || start.done) keep.update((entry) => void (delete entry.sent, delete entry.done));
show(keep.read());
const place = new Place(form, sheet, (item) => behaviour.turnTo(item.key));
if (start.sent) bar.tell("Your answers are back: submit them if this task is still open.", "calm");
else if (sheet.missing.length < sheet.items.length) bar.say("Your answers are back.");

/** What is kept, at the start and whenever another tab has changed it. */
function show(entry) {
  if (entry.done) return lock("This task was submitted from another tab.");
  for (const item of sheet.items) {
    // What is kept goes before what the browser or the server has put here.
    item.answer = entry.answers[item.key] ?? item.answer;
    const { reason, text } = entry.reports[item.key] ?? item.report;
    item.report = { reason: String(reason ?? ""), text: String(text ?? "") };
    behaviour.knows(item.key, item.answer);
  }
  count();
  // After the answers: the last of them may arrive together with the submission.
  if (entry.sent) lock("This task was submitted from another tab; if that failed, reload.");
}

function count() {
  for (const item of sheet.items) if (!item.isMissing) item.box.classList.remove("unanswered");
  bar.count(sheet.items.length - sheet.missing.length, sheet.items.length);
  offerUndo();
}

function offerUndo() {
  bar.undo.disabled = isLocked || isSending || !undone.length;
}

function save(change) {
  const isKept = keep.update((entry) => {
    change(entry);
    entry.behaviour = behaviour.tell();
  });
  if (!isKept && !isSending) bar.tell(FORGETFUL, "calm");
}

/** The item's answer has changed from `before`; its reason goes with "can't judge". */
function settle(item, before) {
  behaviour.answered(item.key, item.answer);
  if (before === CANNOT_JUDGE) item.report = { reason: "", text: item.report.text };
  save((entry) => {
    entry.answers[item.key] = item.answer;
    entry.reports[item.key] = item.report;
  });
  count();
}

/** After an answer; who can't judge the item says why first. */
function goOn(item) {
  if (item.lacksReason) item.askWhy();
  else moveOn(item);
}

// A phone has no Enter to press.
const HAS_KEYS = !matchMedia("(hover: none)").matches;

function moveOn(item) {
  const next = sheet.missingAfter(item);
  if (next) place.go(next);
  else bar.say(`All items are answered: ${HAS_KEYS ? "press Enter to submit" : "you can submit"}.`);
}

function answer(value) {
  if (isLocked || isSending) return;
  const item = place.current;
  if (!item.takes(value)) return;
  const before = item.answer;
  if (before !== value) {
    undone.push({ item, before });
    item.answer = value;
    settle(item, before);
  }
  goOn(item);
}

function undo() {
  if (isLocked || isSending || !undone.length) return;
  const last = undone.pop();
  const after = last.item.answer;
  last.item.answer = last.before;
  settle(last.item, after);
  place.go(last.item);
  bar.say("The last answer is taken back.");
}

function lock(sentence) {
  if (isLocked) return;
  isLocked = true;
  sheet.lock();
  const way = isInhouse ? { href: told.home, label: "Go on with other work" } : {};
  bar.tell(sentence, "stop", way);
  bar.offer("Submit", false);
  offerUndo();
}

/** The HIT is not this worker's any more. */
function lose(sentence) {
  if (isSending) return;
  // All of it may still be taken, what is not finished will not.
  if (sheet.missing.length) lock(sentence);
  else bar.tell(sentence, "stop");
}

function showMissing() {
  const [first] = sheet.missing;
  for (const item of sheet.missing) item.showMissing();
  place.go(first);
  if (first.lacksReason) first.askWhy();
  bar.say(`${sheet.missing.length} without an answer: please choose one.`);
}

// ----- choices by mouse, finger or the browser's own keys

let pressed = { at: -HASTE_MS, item: null, isPointer: false };

form.addEventListener(
  "click",
  (event) => {
    const item = sheet.itemOf(event.target);
    if (!item?.radios.includes(event.target)) return;
    const isPointer = event.detail > 0;
    const isHasty = event.timeStamp - pressed.at < HASTE_MS && item !== pressed.item;
    if (isPointer && isHasty) event.preventDefault();
    else pressed = { at: event.timeStamp, item, isPointer };
  },
  true,
);

form.addEventListener("change", (event) => {
  const item = sheet.itemOf(event.target);
  if (!item || event.target.type !== "radio") return;
  const before = item.settle();
  if (before === null) return;
  undone.push({ item, before });
  settle(item, before);
  // Who walks through the choices with the keys of the browser stays among them.
  if (item.lacksReason) item.fold.open = true;
  if (pressed.isPointer) goOn(item);
});

form.addEventListener("input", (event) => {
  const item = sheet.itemOf(event.target);
  if (!item || event.target.type === "radio") return;
  item.showReport();
  save((entry) => {
    entry.reports[item.key] = item.report;
  });
  count();
});

// A reason that is chosen by the mouse is said; by keys, one walks through all before it.
let reasonByPointer = false;
form.addEventListener("pointerdown", () => (reasonByPointer = true), true);
form.addEventListener("keydown", () => (reasonByPointer = false), true);
form.addEventListener("change", (event) => {
  const item = sheet.itemOf(event.target);
  if (event.target !== item?.reason || !reasonByPointer) return;
  if (item.answer === CANNOT_JUDGE && !item.isMissing) moveOn(item);
});

form.addEventListener("keydown", (event) => {
  const item = sheet.itemOf(event.target);
  if (event.key !== "Enter" || event.target !== item?.reason || item.isMissing) return;
  event.preventDefault();
  moveOn(item);
});

form.addEventListener("click", (event) => {
  if (event.target.closest(".later")) moveOn(sheet.itemOf(event.target));
});

// ----- submitting

const patience = new Patience(bar, (tries) => (mayForce(tries) ? "Submit anyway" : "Try now"));

/** It may be our site alone that does not answer, and not the crowd's. */
function mayForce(tries) {
  return !isInhouse && tries > 2 && navigator.onLine;
}

form.noValidate = true; // from here on the page says itself what is missing
form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (isLocked) return;
  if (isSending) patience.press();
  else if (sheet.missing.length) showMissing();
  else if (isInhouse) submit();
  else handOver();
});

form.addEventListener("formdata", ({ formData }) => {
  formData.set("behaviour", JSON.stringify(behaviour.tell()));
  for (const [name, value] of [...formData]) {
    if (name.startsWith("report-") && !value.trim()) formData.delete(name);
  }
});

async function submit() {
  begin();
  const body = new URLSearchParams(new FormData(form));
  const said = await patience.until(() => post(form.action, body, "next"));
  if (said.status === 200) {
    keep.finish();
    bar.tell("Submitted.", "calm");
    window.location.assign(said.next);
    return;
  }
  isSending = false;
  if (said.status === 404 || said.status === 409) return lock(said.error);
  bar.tell(said.error, "stop", said.way);
  bar.offer("Submit");
  offerUndo();
}

/** The crowd takes the answers from the browser itself, which leaves this page for it. */
async function handOver() {
  begin();
  await patience.until((tries, isPressed) => isPressed && mayForce(tries) ? {} : probe(told.probe));
  keep.update((entry) => {
    entry.sent = Date.now();
    entry.behaviour = behaviour.tell();
  });
  form.submit();
}

function begin() {
  isSending = true;
  bar.hush();
  bar.offer("Submitting…");
  offerUndo();
}

// ----- the rest of the page

bar.undo.addEventListener("click", undo);
keep.follow(() => isSending || show(keep.read()));
dialogs.askBeforeSkipping(() => !isLocked && sheet.missing.length < sheet.items.length);
listenToKeys({
  answer,
  later: () => isLocked || moveOn(place.current),
  step: (by) => place.step(by),
  undo,
  enter: () => isLocked || form.requestSubmit(),
  help: () => dialogs.showHelp(),
  singleKeys: () => dialogs.keys.checked,
  isCovered: () => dialogs.isOpen,
});
document.addEventListener("visibilitychange", () => {
  if (document.hidden && !isLocked && !isSending) save(() => {});
});
window.addEventListener("pageshow", (event) => {
  if (event.persisted) window.location.reload(); // "Submitting…" of before
});
if (isInhouse) {
  const token = { [TOKEN]: form.elements[TOKEN].value };
  new Lease({
    seconds: told.deadline - told.now,
    ask: () => post(told.renew, new URLSearchParams(token), "seconds"),
    idle: () => behaviour.idle,
    bar,
    lost: lose,
    isOver: () => isLocked,
    isQuiet: () => isSending,
  });
  refreshTokens();
}
