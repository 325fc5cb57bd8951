"use strict";

// Counts the answers and shows which are missing. Without it the page works all the same: the
// browser itself refuses to send a form in which a required choice is not made.
(() => {
  const form = document.querySelector("form");
  if (!form) return;

  const items = Array.from(form.querySelectorAll("fieldset[data-item]"));
  const progress = form.querySelector(".progress");
  const meter = progress.querySelector("progress");
  const words = progress.querySelector("output");

  const count = () => {
    const answered = items.filter((item) => item.querySelector("input:checked")).length;
    meter.value = answered;
    words.value = `${answered} of ${items.length} answered`;
  };

  form.addEventListener("change", (event) => {
    event.target.closest("fieldset").classList.remove("unanswered");
    count();
  });
  form.addEventListener(
    "invalid",
    (event) => event.target.closest("fieldset").classList.add("unanswered"),
    true,
  );
  // A browser may bring choices back when the page is shown again.
  window.addEventListener("pageshow", count);

  // A long text scrolls in its box: the keyboard must be able to reach it.
  for (const text of form.querySelectorAll("dd")) {
    if (text.scrollHeight > text.clientHeight) text.tabIndex = 0;
  }

  progress.hidden = false;
  count();
})();
