// The progress bar of a build moves by itself; without this script a link loads the page again.

const PAUSE_MS = 1000;
const PATIENCE = 30; // failed questions in a row: a restart of the site is waited for

const panel = document.querySelector("[data-state]");
const bar = panel.querySelector("progress");
const stage = panel.querySelector("[data-stage]");
const percent = panel.querySelector("[data-percent]");

const show = (text, element) => {
  // Readers of the screen say a change, and only that.
  if (element.textContent !== text) element.textContent = text;
};

const ask = async () => {
  const answer = await fetch(panel.dataset.state, { headers: { Accept: "application/json" } });
  if (!answer.ok) throw new Error(answer.status);
  return answer.json();
};

let failed = 0;

const again = panel.querySelector("[data-refresh]");

const look = async () => {
  try {
    const build = await ask();
    failed = 0;
    if (!build.unfinished) {
      // Not a reload: what is shown may be the answer to a form, which would be sent again.
      window.location.replace(again.href);
      return;
    }
    bar.value = build.percent;
    show(build.stage, stage);
    show(`${Math.floor(build.percent)} %`, percent);
  } catch {
    failed += 1;
  }
  if (failed < PATIENCE) {
    setTimeout(look, PAUSE_MS);
  } else {
    show("The site does not answer: load this page again.", stage);
  }
};

again.hidden = true;
look();
