// Files of an import: dropped or chosen, listed, and sent with a bar that tells how far they are.
// Without this script the form sends them by itself.
(() => {
  const form = document.querySelector("[data-import]");
  if (!form) {
    return;
  }
  const input = form.querySelector("input[type=file]");
  const drop = form.querySelector("[data-drop]");
  const list = form.querySelector("[data-list]");
  const sending = form.querySelector("[data-sending]");
  const bar = sending.querySelector("progress");
  const said = sending.querySelector("[data-sent]");
  const button = form.querySelector("button");
  const fault = document.querySelector("[data-fault]");
  const most = Number(form.dataset.most);
  const mostFiles = Number(form.dataset.files);

  const size = (bytes) => {
    const units = ["bytes", "KB", "MB", "GB"];
    const step = bytes && Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3));
    return `${(bytes / 1000 ** step).toFixed(step ? 1 : 0)} ${units[step]}`;
  };

  const tell = (sentence) => {
    fault.textContent = sentence;
    fault.hidden = !sentence;
    if (sentence) {
      fault.scrollIntoView({ block: "center" });
    }
  };

  const total = () => [...input.files].reduce((sum, file) => sum + file.size, 0);

  const check = () => {
    if (input.files.length > mostFiles) {
      return `At most ${mostFiles} files are imported at once: choose fewer.`;
    }
    const empty = [...input.files].find((file) => !file.size);
    if (empty) {
      return `${empty.name} is empty: choose a file that has rows.`;
    }
    return total() > most ? `These files have ${size(total())}, and ${size(most)} are the most.` : "";
  };

  const show = () => {
    const items = [...input.files].map((file) => {
      const item = document.createElement("li");
      item.textContent = `${file.name}, ${size(file.size)}`;
      return item;
    });
    list.replaceChildren(...items);
    tell(check());
  };

  const over = (event) => {
    if ([...event.dataTransfer.types].includes("Files")) {
      event.preventDefault();
      drop.classList.add("db-over");
    }
  };

  const dropped = (event) => {
    event.preventDefault();
    drop.classList.remove("db-over");
    if (event.dataTransfer.files.length && !button.disabled) {
      input.files = event.dataTransfer.files;
      show();
    }
  };

  const rest = (sentence) => {
    button.disabled = false;
    sending.hidden = true;
    tell(sentence);
  };

  const answered = (request) => {
    let answer = {};
    try {
      answer = JSON.parse(request.responseText);
    } catch {
      // A page: of a session that has ended, or of a proxy that refuses.
    }
    if (request.status === 201 && answer.location) {
      window.location.assign(answer.location);
      return;
    }
    const big = "The server in front of the site takes no file of this size: split it.";
    const other = "The site did not take it: load this page again and sign in, then send it again.";
    rest(answer.error || (request.status === 413 ? big : other));
  };

  const send = () => {
    const request = new XMLHttpRequest();
    request.open("POST", form.action);
    request.setRequestHeader("Accept", "application/json");
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) {
        bar.value = event.loaded / event.total;
        said.textContent = `Sent ${size(event.loaded)} of ${size(event.total)}`;
      }
    });
    request.upload.addEventListener("load", () => {
      said.textContent = "Sent; the site looks at it";
    });
    request.addEventListener("load", () => answered(request));
    request.addEventListener("error", () => rest("The connection broke off: send it again."));
    button.disabled = true;
    sending.hidden = false;
    bar.value = 0;
    said.textContent = "Sending";
    tell("");
    request.send(new FormData(form));
  };

  form.querySelector("[data-hint]").hidden = false;
  input.addEventListener("change", show);
  for (const name of ["dragenter", "dragover"]) {
    drop.addEventListener(name, over);
  }
  drop.addEventListener("dragleave", () => drop.classList.remove("db-over"));
  drop.addEventListener("drop", dropped);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const sentence = check();
    if (sentence) {
      tell(sentence);
    } else {
      send();
    }
  });
  window.addEventListener("beforeunload", (event) => {
    if (button.disabled && !sending.hidden && bar.value < 1) {
      event.preventDefault();
    }
  });
})();
