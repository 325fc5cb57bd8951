// The question's frame has a history of its own: after a submit, going back in it shows the form
// again. The site knows better, so it is asked whenever the frame or the page comes back.

const IN_HAND_NO_MORE = 409;

async function look() {
  try {
    const answer = await fetch(window.location.href, { method: "HEAD", cache: "no-store" });
    if (answer.status === IN_HAND_NO_MORE) window.location.replace(window.location.href);
  } catch {
    // No connection: the next look may have one.
  }
}

document.querySelector(".turk-question")?.addEventListener("load", look);
window.addEventListener("pageshow", (event) => {
  if (event.persisted) look();
});
