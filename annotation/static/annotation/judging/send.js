// The way of the answers: again and again while there is no connection, and only once.

const WAITS = [1, 2, 4, 8, 15, 30]; // seconds
const PATIENCE_MS = 20_000;
const PROBE_MS = 8_000;
export const TOKEN = "csrfmiddlewaretoken";
const NOT_UNDERSTOOD =
  "The site did not understand: load this page again. Your answers are kept here.";

export const OFFLINE = "No connection: your answers are kept here; trying again";
export const AWAY = "The site is away: your answers are kept here; trying again";

/** Calls `attempt` until it names no trouble, after longer and longer waits. */
export class Patience {
  #wake = () => {};

  /** `label`: of the button, by the number of tries that failed. */
  constructor(bar, label) {
    this.bar = bar;
    this.label = label;
    window.addEventListener("online", () => this.#wake(false));
  }

  /** The button: no more waiting. */
  press() {
    this.#wake(true);
  }

  async until(attempt) {
    let isPressed = false;
    for (let tries = 0; ; ) {
      const answer = await attempt(tries, isPressed);
      if (!answer.trouble) return answer;
      tries += 1;
      this.bar.tell(answer.trouble, "wait");
      this.bar.offer(this.label(tries));
      isPressed = await this.#wait(WAITS[Math.min(tries, WAITS.length) - 1]);
    }
  }

  /** Whether it was cut short by the button. */
  #wait(seconds) {
    return new Promise((resolve) => {
      const end = Date.now() + seconds * 1000;
      const done = (isPressed) => {
        clearInterval(timer);
        this.#wake = () => {};
        this.bar.tellRest(" now");
        resolve(isPressed);
      };
      const tick = () => {
        const left = Math.ceil((end - Date.now()) / 1000);
        if (left <= 0) done(false);
        else this.bar.tellRest(` in ${left} s`);
      };
      const timer = setInterval(tick, 250);
      this.#wake = done;
      tick();
    });
  }
}

/** Any answer will do: it is the crowd that the answers go to, over the same connection. */
export async function probe(url) {
  try {
    await fetch(url, { cache: "no-store", credentials: "omit", signal: within(PROBE_MS) });
    return {};
  } catch {
    return { trouble: OFFLINE };
  }
}

/** {trouble}, or {status, ...what the server says}; it agrees only where it says `wanted`. */
export async function post(url, body, wanted) {
  if (freshToken()) body.set(TOKEN, freshToken());
  let response;
  try {
    response = await fetch(url, {
      method: "POST",
      body,
      headers: { Accept: "application/json" },
      credentials: "same-origin",
      cache: "no-store",
      signal: within(PATIENCE_MS),
    });
  } catch {
    return { trouble: OFFLINE };
  }
  if (response.status >= 500 || response.status === 429) return { trouble: AWAY };
  let said = {};
  try {
    said = (await response.json()) ?? {};
  } catch {
    // Cut short, or the page of somebody between this one and the site.
  }
  if (response.ok) return wanted in said ? { ...said, status: 200 } : { trouble: AWAY };
  if (!said.error) return { status: 400, error: NOT_UNDERSTOOD };
  const way = said.sign_in && { href: said.sign_in, label: "Sign in", target: "_blank" };
  return { ...said, way, status: response.status };
}

/** Of the forms that the browser itself sends. */
export function refreshTokens() {
  const refresh = ({ target }) => {
    if (freshToken()) target.elements[TOKEN].value = freshToken();
  };
  document.addEventListener("submit", refresh, true);
}

/** A new one comes with every sign-in, also from another tab. */
function freshToken() {
  return document.cookie.match(/(?:^|; )csrftoken=([^;]+)/)?.[1];
}

function within(milliseconds) {
  const abortion = new AbortController(); // AbortSignal.timeout is younger than some browsers
  setTimeout(() => abortion.abort(), milliseconds);
  return abortion.signal;
}
