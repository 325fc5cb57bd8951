// While there is nothing to do, the page looks now and then whether new work has come; not while
// nobody sees it.

const EVERY_MS = 30_000;

const offers = document.querySelector("#offers");
const isWaiting = () => offers.querySelector("[data-waiting]") !== null;

async function look() {
  if (document.hidden || !isWaiting()) return;
  try {
    const answer = await fetch(window.location.href, { cache: "no-store" });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.querySelector("#offers");
    if (!answer.ok || !fresh) return; // signed out since, or the site is away
    offers.replaceChildren(...fresh.childNodes);
    if (!isWaiting()) document.querySelector("#news").textContent = "There is new work.";
  } catch {
    // No connection: the next look may have one.
  }
}

setInterval(look, EVERY_MS);
document.addEventListener("visibilitychange", look);
