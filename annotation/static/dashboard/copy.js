// A button beside each text that is made to be copied; without this script there is none.

const SHOWN_MS = 2000;

const select = (text) => {
  const range = document.createRange();
  range.selectNodeContents(text);
  const selection = window.getSelection();
  selection.removeAllRanges();
  selection.addRange(range);
};

const copy = async (text) => {
  try {
    await navigator.clipboard.writeText(text.textContent);
  } catch {
    // No clipboard outside of https: the old way copies what is selected.
    select(text);
    return document.execCommand("copy");
  }
  return true;
};

for (const button of document.querySelectorAll("button[data-copy]")) {
  const text = document.getElementById(button.dataset.copy);
  const said = button.parentElement.querySelector("[role=status]");
  button.hidden = false;
  button.addEventListener("click", async () => {
    const done = await copy(text);
    if (!done) select(text);
    said.textContent = done ? "Copied" : "Selected: copy it by the keyboard";
    setTimeout(() => {
      said.textContent = "";
    }, SHOWN_MS);
  });
}
