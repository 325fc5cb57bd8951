// How long the work takes: time counts while the page is seen and somebody is at it.

const IDLE_MS = 30_000;
// Who hears the page sends few keys: a screen reader turns them into the last three.
const SIGNS = [
  ...["pointermove", "pointerdown", "keydown", "wheel", "scroll", "touchmove"],
  ...["focusin", "click", "input"],
];

export class Behaviour {
  #current = null;
  #seen = performance.now(); // the last sign of life
  #counted = this.#seen; // time is counted up to here
  #visible = !document.hidden;

  constructor(keys, kept) {
    const count = (value) => (Number.isSafeInteger(value) && value >= 0 ? value : 0);
    this.active = count(kept?.active_ms);
    this.items = new Map();
    for (const key of keys) {
      const before = kept?.items?.[key];
      this.items.set(key, { ms: count(before?.ms), changes: count(before?.changes), last: "" });
    }
    for (const sign of SIGNS) {
      document.addEventListener(sign, () => this.#live(), { capture: true, passive: true });
    }
    document.addEventListener("visibilitychange", () => {
      this.#count();
      this.#visible = !document.hidden;
      if (this.#visible) this.#seen = performance.now();
    });
  }

  /** Milliseconds since somebody was last at it. */
  get idle() {
    return performance.now() - this.#seen;
  }

  turnTo(key) {
    this.#count();
    this.#current = key;
  }

  /** What an item's answer is from the start, or by another tab. */
  knows(key, answer) {
    if (answer) this.items.get(key).last = answer;
  }

  answered(key, answer) {
    if (!answer) return;
    const item = this.items.get(key);
    if (item.last && item.last !== answer) item.changes += 1;
    item.last = answer;
  }

  tell() {
    this.#count();
    const items = {};
    for (const [key, { ms, changes }] of this.items) items[key] = { ms: Math.round(ms), changes };
    return { v: 1, active_ms: Math.round(this.active), items };
  }

  #live() {
    this.#count();
    this.#seen = performance.now();
  }

  #count() {
    const now = performance.now();
    const until = Math.min(now, this.#seen + IDLE_MS);
    const spent = this.#visible ? Math.max(0, until - this.#counted) : 0;
    this.#counted = now;
    this.active += spent;
    if (this.#current) this.items.get(this.#current).ms += spent;
  }
}
