// Answers kept in this browser under their assignment, until it is known to be submitted. Who
// takes the same HIT once more finds them again.

const PREFIX = "quorum:hit:";
const KEPT_MS = 14 * 24 * 3600 * 1000;

function storage() {
  try {
    return window.localStorage;
  } catch {
    return null; // the browser forbids it, as it may in another site's frame
  }
}

function parse(text) {
  try {
    const entry = JSON.parse(text);
    return entry && typeof entry === "object" && entry.v === 1 ? entry : null;
  } catch {
    return null;
  }
}

export class Keep {
  /** `hit`: the same for every assignment of a HIT to a worker. */
  constructor(assignment, hit = "") {
    this.name = PREFIX + assignment;
    this.hit = hit;
  }

  read() {
    let entry = null;
    try {
      entry = parse(storage()?.getItem(this.name)) ?? this.#former();
    } catch {
      // As if nothing were kept.
    }
    return { v: 1, at: 0, answers: {}, reports: {}, ...entry };
  }

  /** Of an assignment that ran out or was given back. */
  #former() {
    const entries = Object.entries(storage() ?? {})
      .filter(([name]) => name.startsWith(PREFIX))
      .map(([, text]) => parse(text))
      .filter((entry) => entry?.hit === this.hit && entry.answers && !entry.sent);
    return entries.sort((one, other) => other.at - one.at)[0];
  }

  /** What another tab has written meanwhile stays, but for what `change` changes. */
  update(change) {
    const entry = this.read();
    change(entry);
    return this.#write({ ...entry, hit: this.hit, at: Date.now() });
  }

  /** The answers have arrived: other tabs are told, nothing else is kept. */
  finish() {
    this.#write({ v: 1, at: Date.now(), done: true });
  }

  #write(entry) {
    try {
      storage().setItem(this.name, JSON.stringify(entry));
      return true;
    } catch {
      return false; // forbidden, or full
    }
  }

  follow(listener) {
    window.addEventListener("storage", (event) => {
      if (event.key === this.name && event.newValue) listener();
    });
  }
}

export function dropOldEntries(now = Date.now()) {
  try {
    const kept = storage();
    for (const name of Object.keys(kept)) {
      if (!name.startsWith(PREFIX)) continue;
      const entry = parse(kept.getItem(name));
      if (!(entry?.at > now - KEPT_MS)) kept.removeItem(name);
    }
  } catch {
    // Nothing is kept where nothing can be.
  }
}
