// Where in the page the worker is: one item is current.

export class Place {
  constructor(form, sheet, turned) {
    this.sheet = sheet;
    this.turned = turned;
    this.bar = form.querySelector(".bar");
    this.current = null;
    this.#mark(sheet.missing[0] ?? sheet.items[0]);
    for (const kind of ["focusin", "pointerdown"]) {
      form.addEventListener(kind, (event) => this.#mark(sheet.itemOf(event.target)));
    }
  }

  /** The focus goes along: a screen reader reads the item, and Tab leads on from it. */
  go(item) {
    this.#mark(item);
    item.box.focus({ preventScroll: true });
    this.#show(item.box);
  }

  step(by) {
    const next = this.sheet.items[this.sheet.items.indexOf(this.current) + by];
    if (next) this.go(next);
  }

  #mark(item) {
    if (!item || item === this.current) return;
    this.current?.box.removeAttribute("aria-current");
    item.box.setAttribute("aria-current", "true");
    this.current = item;
    this.turned(item);
  }

  #show(box) {
    const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    const room = window.innerHeight - this.bar.offsetHeight;
    box.scrollIntoView({
      behavior: calm ? "auto" : "smooth",
      block: box.offsetHeight < room - 32 ? "center" : "start",
    });
  }
}
