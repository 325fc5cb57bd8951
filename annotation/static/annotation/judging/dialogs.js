// Help, the instructions on narrow screens, and the question before a HIT is skipped.

export const SINGLE_KEYS = "quorum:single-keys";

export class Dialogs {
  #guideIsOpen = false;

  constructor() {
    this.help = document.querySelector("#help");
    this.keys = this.help.querySelector("#single-keys");
    for (const dialog of document.querySelectorAll("dialog")) {
      dialog.querySelector(".close").addEventListener("click", () => dialog.close());
      // The backdrop belongs to the dialog: a click that hits no content of it closes.
      dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    }
    document.querySelector("#open-help").addEventListener("click", () => this.showHelp());
    document.querySelector("#guide").addEventListener("toggle", (event) => {
      this.#guideIsOpen = event.newState === "open";
    });
    this.#rememberKeys();
  }

  get isOpen() {
    return this.#guideIsOpen || document.querySelector("dialog[open]") !== null;
  }

  showHelp() {
    this.help.showModal();
    this.help.querySelector(".close").focus();
  }

  askBeforeSkipping(isBegun) {
    const form = document.querySelector("#skip");
    const dialog = document.querySelector("#skipping");
    form?.addEventListener("submit", (event) => {
      if (!isBegun() || dialog.open) return;
      event.preventDefault();
      dialog.showModal();
      dialog.querySelector(".close").focus();
    });
  }

  #rememberKeys() {
    try {
      this.keys.checked = window.localStorage.getItem(SINGLE_KEYS) !== "off";
    } catch {
      // On, as for everybody who never switched them off.
    }
    this.keys.addEventListener("change", () => {
      try {
        window.localStorage.setItem(SINGLE_KEYS, this.keys.checked ? "on" : "off");
      } catch {
        // Then it holds for this page.
      }
    });
  }
}
