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

  // What a page holds packed: the report, and on a large page the evidence of each finding as its template wrote it.
  async function unpack() {
    const bytes = Uint8Array.from(atob(one("#data").textContent), (letter) => letter.charCodeAt(0));
    return JSON.parse(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text());
  }
  let found = null, ready = null;
  const unpacked = () => ready ??= unpack().then((data) => found = data);

  function fill(each) {
    const place = each.lastElementChild;
    if (found && !place.hasChildNodes()) place.innerHTML = found.shown[each.dataset.order];
    for (const formula of all(".formula", each)) { // one that is too wide scrolls, by keyboard too
      if (formula.scrollWidth > formula.clientWidth) formula.tabIndex = 0;
    }
  }
  if (one("#data")?.dataset.inline === "no") unpacked(); // before anybody prints
  document.addEventListener("toggle", async (event) => {
    if (!event.target.matches(".finding[open]")) return;
    if (!event.target.lastElementChild.hasChildNodes()) await unpacked();
    fill(event.target);
  }, true);

  function follow() {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (!target || !target.matches("details")) return;
    target.hidden = false;
    target.open = true;
    target.scrollIntoView();
  }
  addEventListener("hashchange", follow);
  follow();

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = all("details:not([open])");
    for (const each of opened) each.open = true;
    findings.forEach(fill);
  });
  addEventListener("afterprint", () => {
    for (const each of opened) each.open = false;
  });

  document.addEventListener("click", async (event) => {
    const button = event.target.closest(".json");
    if (button) {
      const open = button.getAttribute("aria-expanded") !== "true";
      button.setAttribute("aria-expanded", open);
      if (!open) return button.parentElement.nextElementSibling.remove();
      const shown = document.createElement("pre");
      shown.tabIndex = 0;
      shown.textContent = JSON.stringify((await unpacked()).report.findings[button.dataset.index].evidence, null, 2);
      button.parentElement.after(shown);
    } else if (event.target.id === "whole") {
      const text = JSON.stringify((await unpacked()).report, null, 2);
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
      link.download = "report.json";
      link.click();
      URL.revokeObjectURL(link.href);
    }
  });
})();
