"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const one = (selector) => document.querySelector(selector);
  document.documentElement.classList.add("scripted");
  const findings = all(".finding");
  const words = new Map(findings.map((each) => [each, `${each.dataset.name} ${each.firstElementChild.textContent}`.toLowerCase()]));
  const form = one(".tools"), count = one("#count");

  function filter() {
    const text = one("#text").value.trim().toLowerCase().split(/\s+/);
    const chosen = new Set(all("[name=verdict]:checked").map((each) => each.value));
    const changed = one("#changed")?.checked;
    let shown = 0;
    for (const each of findings) {
      const fits = chosen.has(each.dataset.verdict) && (!changed || each.dataset.changed === "yes")
        && text.every((word) => words.get(each).includes(word));
      each.hidden = !fits;
      shown += fits;
    }
    count.textContent = `${shown} of ${findings.length} findings`;
  }

  function sort() {
    const key = one("#sort").value;
    const number = (each) => Number(each.dataset[key]);
    const order = (each) => Number(each.dataset.order);
    const compare = key === "name"
      ? (a, b) => a.dataset.name.localeCompare(b.dataset.name)
      : (a, b) => number(a) - number(b) || order(a) - order(b);
    for (const list of all(".findings")) list.append(...all(":scope > .finding", list).sort(compare));
  }

  if (form) {
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", filter);
    one("#sort").addEventListener("change", sort);
    one("#all").addEventListener("click", (event) => {
      const open = event.target.getAttribute("aria-expanded") !== "true";
      for (const each of findings) each.open = open;
      event.target.setAttribute("aria-expanded", open);
      event.target.textContent = open ? "Close all" : "Open all";
    });
    sort();
    filter();
  }

  function follow() {
    const found = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (!found || !found.matches("details")) return;
    found.hidden = false;
    found.open = true;
    found.scrollIntoView();
  }
  addEventListener("hashchange", follow);
  follow();

  // A formula that is too wide scrolls, by keyboard too.
  document.addEventListener("toggle", (event) => {
    for (const each of all(".formula", event.target)) {
      if (each.scrollWidth > each.clientWidth) each.tabIndex = 0;
    }
  }, true);

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = all("details:not([open])");
    for (const each of opened) each.open = true;
  });
  addEventListener("afterprint", () => {
    for (const each of opened) each.open = false;
  });

  async function report() {
    const bytes = Uint8Array.from(atob(one("#data").textContent), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
  }
  document.addEventListener("click", async (event) => {
    const button = event.target.closest(".json");
    if (button) {
      const open = button.getAttribute("aria-expanded") !== "true";
      button.setAttribute("aria-expanded", open);
      if (!open) return button.parentElement.nextElementSibling.remove();
      const shown = document.createElement("pre");
      shown.tabIndex = 0;
      shown.textContent = JSON.stringify(JSON.parse(await report()).findings[button.dataset.index].evidence, null, 2);
      button.parentElement.after(shown);
    } else if (event.target.id === "whole") {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([await report()], { type: "application/json" }));
      link.download = "report.json";
      link.click();
      URL.revokeObjectURL(link.href);
    }
  });
})();
