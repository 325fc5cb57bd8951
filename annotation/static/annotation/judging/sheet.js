// The items of the page, their answers and reports.

export const CANNOT_JUDGE = "cannot_judge";

export class Item {
  constructor(box) {
    this.box = box;
    this.key = box.dataset.item;
    this.radios = [...box.querySelectorAll("input[type=radio]")];
    this.reason = box.querySelector("select");
    this.words = box.querySelector("textarea");
    this.fold = box.querySelector(".report");
    this.summary = this.fold.querySelector("summary");
    this.settled = this.answer;
  }

  get answer() {
    return this.radios.find((radio) => radio.checked)?.value ?? "";
  }

  set answer(value) {
    for (const radio of this.radios) radio.checked = radio.value === value;
    this.settled = this.answer;
  }

  takes(value) {
    return this.radios.some((radio) => radio.value === value);
  }

  /** Who can't judge it says why. */
  get lacksReason() {
    return this.answer === CANNOT_JUDGE && !this.reason.value;
  }

  get isMissing() {
    return !this.answer || this.lacksReason;
  }

  showMissing() {
    this.box.classList.add("unanswered");
    const words = this.lacksReason ? "Please say why." : "Please choose an answer.";
    this.box.querySelector(".missing").textContent = words;
  }

  askWhy() {
    this.fold.open = true;
    this.reason.focus();
  }

  /** The answer of before, when it has changed since it was last asked; else null. */
  settle() {
    const before = this.settled;
    this.settled = this.answer;
    return before === this.settled ? null : before;
  }

  get report() {
    return { reason: this.reason.value, text: this.words.value };
  }

  set report({ reason, text }) {
    this.reason.value = [...this.reason.options].some((one) => one.value === reason) ? reason : "";
    if (this.words.value !== text) this.words.value = text.slice(0, this.words.maxLength);
    this.showReport();
  }

  showReport() {
    const { reason, text } = this.report;
    this.summary.textContent = reason || text.trim() ? "Reported" : "Report this item";
  }
}

export class Sheet {
  constructor(form) {
    this.items = [...form.querySelectorAll("fieldset[data-item]")].map((box) => new Item(box));
  }

  itemOf(element) {
    const box = element.closest("fieldset[data-item]");
    return this.items.find((item) => item.box === box);
  }

  get missing() {
    return this.items.filter((item) => item.isMissing);
  }

  /** The next item without an answer, from the top again after the last one. */
  missingAfter(item) {
    const start = this.items.indexOf(item) + 1;
    const round = [...this.items.slice(start), ...this.items.slice(0, start)];
    return round.find((one) => one.isMissing);
  }

  lock() {
    for (const item of this.items) item.box.disabled = true;
  }
}
