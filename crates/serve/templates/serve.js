"use strict";
// Replaces the parts of a page that have changed. Browsers without scripts reload the page instead.
(() => {
  document.documentElement.classList.add("scripted");

  const keyOf = element => element && (element.id || element.getAttribute("href") || element.value);

  // Replaces the content of a part of the page but keeps the focus and the checked boxes.
  const exchange = (part, fresh) => {
    if (part.innerHTML === fresh.innerHTML) return;
    const focused = part.contains(document.activeElement) ? keyOf(document.activeElement) : null;
    const checked = [...part.querySelectorAll("input:checked")].map(input => input.value);
    part.replaceChildren(...fresh.childNodes);
    for (const input of part.querySelectorAll("input[type=checkbox]")) {
      if (checked.includes(input.value)) input.checked = true;
    }
    if (focused) {
      const same = [...part.querySelectorAll("a, input, button")].find(it => keyOf(it) === focused);
      if (same) same.focus({ preventScroll: true });
    }
  };

  const exchangeAll = text => {
    const fresh = new DOMParser().parseFromString(text, "text/html");
    for (const part of document.querySelectorAll("[data-live]")) {
      if (!part.isConnected) continue;
      const own = fresh.getElementById(part.id);
      if (own) exchange(part, document.importNode(own, true));
      else if (part.hasAttribute("data-ends") && !part.parentElement.closest("[data-live]")) location.reload();
    }
  };

  const path = document.body.dataset.events;
  if (path) {
    const lost = document.getElementById("lost");
    const changes = new EventSource(path);
    let waiting = 0;
    changes.addEventListener("open", () => { clearTimeout(waiting); waiting = 0; lost.hidden = true; });
    // Each failed attempt to reconnect also causes an error event.
    changes.addEventListener("error", () => {
      waiting ||= setTimeout(() => { lost.hidden = false; }, 5000);
    });
    changes.addEventListener("parts", event => exchangeAll(event.data));
    changes.addEventListener("over", () => { changes.close(); location.reload(); });
    addEventListener("pagehide", () => changes.close());
    // A page that the Back button restores has its old content and no connection.
    addEventListener("pageshow", event => { if (event.persisted) location.reload(); });
  }

  for (const form of document.querySelectorAll("form[data-refresh]")) {
    form.addEventListener("change", async () => {
      const choice = new URLSearchParams(new FormData(form));
      const response = await fetch(`${form.getAttribute("action")}?${choice}`);
      if (response.ok) exchangeAll(await response.text());
    });
  }
})();
