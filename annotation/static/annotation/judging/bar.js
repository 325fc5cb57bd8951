// The bar at the foot of the page: how far the work is, and what there is to say about it.

const BREATH_MS = 50;

export class Bar {
  #saying = null;

  constructor(form) {
    const find = (selector) => form.querySelector(selector);
    this.meter = find("progress");
    this.number = find(".count");
    this.note = find(".note");
    this.words = find(".note .words");
    this.rest = find(".note .wait");
    this.unseen = find(".unseen");
    this.button = find("button.submit");
    this.undo = find("button.undo");
  }

  count(answered, total) {
    this.meter.value = answered;
    this.number.textContent = `${answered} of ${total}`;
  }

  /** To those who hear the page. */
  say(words) {
    this.unseen.textContent = ""; // the same words again are heard again
    clearTimeout(this.#saying);
    this.#saying = setTimeout(() => (this.unseen.textContent = words), BREATH_MS);
  }

  get said() {
    return this.words.dataset.said ?? "";
  }

  get tone() {
    return this.note.dataset.tone ?? "";
  }

  /** A sentence over the bar; `tone` is "calm", "wait" or "stop". */
  tell(words, tone, { href, label, target = "" } = {}) {
    // The same words again would be read out again.
    if (this.said !== words) {
      this.words.dataset.said = words;
      this.words.textContent = words;
      if (href) this.words.append(" ", link(href, label, target));
    }
    this.rest.textContent = "";
    this.note.dataset.tone = tone;
  }

  /** What changes every second is seen, not heard. */
  tellRest(words) {
    this.rest.textContent = words;
  }

  hush() {
    this.tell("", "");
  }

  /** What pressing the button does now. */
  offer(label, isPossible = true) {
    this.button.textContent = label;
    this.button.disabled = !isPossible;
  }
}

function link(href, label, target) {
  return Object.assign(document.createElement("a"), { href, target, textContent: label });
}
