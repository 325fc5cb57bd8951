// On the page that says that an assignment is submitted: its answers need not be kept any longer.

import { Keep } from "./keep.js";

new Keep(document.querySelector("[data-done]").dataset.done).finish();
