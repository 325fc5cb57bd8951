// Swagger UI is dark by a class: it is set where the page's frame is, or the reader's system.
"use strict";
const root = document.documentElement;
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const inFrame = () => root.hasAttribute("x-data"); // the dashboard's theme switch
const follow = () =>
  root.classList.toggle("dark-mode", inFrame() ? root.classList.contains("dark") : dark.matches);
dark.addEventListener("change", follow);
new MutationObserver(follow).observe(root, { attributes: true, attributeFilter: ["class"] });
follow();
