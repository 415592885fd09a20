// Opens a page, and prints as JSON what a browser and axe say of it: node look.js FILE CHROMIUM WIDTH light|dark [PICTURE]
"use strict";
const fs = require("fs");
const { chromium } = require("playwright-core");

async function main([file, executablePath, width, colorScheme, picture]) {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const page = await browser.newPage({ viewport: { width: Number(width), height: width < 600 ? 844 : 900 }, colorScheme });
  const said = [], requests = [];
  page.on("console", (message) => said.push(message.text()));
  page.on("pageerror", (error) => said.push(String(error)));
  page.on("request", (request) => requests.push(request.url()));
  await page.goto(`file://${file}`);
  if (picture) await page.screenshot({ path: picture });
  const found = await page.evaluate(() => {
    const box = document.querySelector(".result")?.getBoundingClientRect();
    const paint = performance.getEntriesByName("first-contentful-paint")[0];
    return {
      pwned: window.pwned ?? null,
      wide: document.documentElement.scrollWidth - innerWidth,
      result: box ? [Math.round(box.bottom), innerHeight] : null,
      seconds: paint ? paint.startTime / 1000 : null,
      background: box ? getComputedStyle(document.querySelector(".result .first")).color : null,
    };
  });
  const shown = () => page.locator(".finding:visible").count();
  const has = (selector) => page.locator(selector).count();
  if (await has(".tools")) {
    found.all = await shown();
    await page.fill("#text", "zzz no such finding");
    found.none = await shown();
    await page.fill("#text", "");
    const first = page.locator("[name=verdict]").first();
    found.verdict = await first.inputValue();
    for (const box of await page.locator("[name=verdict]").all()) if (await box.inputValue() !== found.verdict) await box.uncheck();
    found.chosen = await page.locator(".finding:visible").evaluateAll((all) => all.map((each) => each.dataset.verdict));
    for (const box of await page.locator("[name=verdict]").all()) await box.check();
    await page.selectOption("#sort", "name");
    found.byName = await page.locator(".findings").first().locator(".finding").evaluateAll((all) => all.map((each) => each.dataset.name));
    await page.selectOption("#sort", "weight");
    found.byWeight = await page.locator(".findings").first().locator(".finding").evaluateAll((all) => all.map((each) => each.dataset.verdict));
    // by keyboard alone: to the first finding, and open it
    await page.locator("#all").focus();
    for (let i = 0; i < 8 && !(await page.evaluate(() => document.activeElement.matches(".finding > summary"))); i++) await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForTimeout(200);
    found.opened = await page.evaluate(() => document.activeElement.parentElement.open === true && document.activeElement.parentElement.lastElementChild.hasChildNodes());
    if (await has(".finding[open] .json")) {
      await page.locator(".finding[open] .json").first().click();
      await page.waitForSelector(".finding[open] pre");
      found.json = await page.locator(".finding[open] pre").first().textContent();
    }
  }
  await page.evaluate(fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8"));
  const axe = await page.evaluate(() => axe.run(document));
  found.axe = axe.violations.map((each) => [each.id, each.impact, each.nodes[0].html.slice(0, 200)]);
  found.passes = axe.passes.length;
  await page.emulateMedia({ media: "print" });
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  found.printed = await page.evaluate(() => document.body.innerText);
  Object.assign(found, { said, requests });
  await browser.close();
  console.log(JSON.stringify(found));
}

main(process.argv.slice(2)).catch((error) => { console.error(String(error)); process.exit(1); });
