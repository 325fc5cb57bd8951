// A HIT in hand is lent for a time, and lent on while somebody works at it.

const SHOWN_MS = 5 * 60_000;
const LONGEST_MS = 4 * 60_000; // between two renewals
const SHORTEST_MS = 10_000;
const TICK_MS = 1_000;

export class Lease {
  #renewed = Date.now();
  #isBusy = false;
  #timer = null;

  /** `ask` renews at the server; `idle` tells for how long nobody was at it. */
  constructor({ seconds, ask, idle, bar, lost, isOver, isQuiet }) {
    Object.assign(this, { ask, idle, bar, lost, isOver, isQuiet });
    this.told = null; // the sentence over the bar that is this one's own
    this.#lend(seconds);
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
  }

  #lend(seconds) {
    this.until = Date.now() + seconds * 1000;
    this.every = Math.max(SHORTEST_MS, Math.min(LONGEST_MS, (seconds * 1000) / 3));
    this.#renewed = Date.now();
  }

  #end() {
    clearInterval(this.#timer);
    this.#timer = null;
  }

  async #tick() {
    if (this.isOver()) this.#end();
    const since = Date.now() - this.#renewed;
    if (this.#timer && !this.#isBusy && !document.hidden && since > this.every && this.idle() < since) {
      await this.#renew();
    }
    if (this.#timer) this.#show();
  }

  async #renew() {
    this.#isBusy = true;
    const answer = await this.ask();
    this.#isBusy = false;
    if (answer.status === 200) {
      this.#lend(answer.seconds);
      if (this.bar.said === this.told) this.bar.hush();
      return;
    }
    this.#renewed = Date.now(); // not at once again
    if (answer.status === 404 || answer.status === 409) {
      this.#end();
      this.lost(answer.error);
    } else if (answer.status === 403) {
      this.#tell(answer.error, "stop", answer.way);
    }
  }

  #show() {
    const left = this.until - Date.now();
    if (left > SHOWN_MS || this.#isBusy) return;
    if (left <= 0) {
      const words =
        "The time for this task has run out. What you submit still counts if nobody else has" +
        " taken its place.";
      this.#tell(words, "stop");
    } else {
      const minutes = Math.ceil(left / 60_000);
      this.#tell(`${minutes} min left for this task.`, "calm");
    }
  }

  /** Over nobody else's sentence; but that the time is over is more than a calm one. */
  #tell(words, tone, way) {
    const { said, tone: before } = this.bar;
    const isFree = !said || said === this.told || (tone === "stop" && before === "calm");
    if (!isFree || this.isQuiet()) return;
    this.told = words;
    this.bar.tell(words, tone, way);
  }
}
