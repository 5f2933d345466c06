/**
 * Opens the built page in a browser with made-up results: no console message, no request, no broken panel.
 *
 *     node test/page.mjs [--screenshots DIR] [--result FILE.html]
 *
 * The browser is CHROMIUM, /usr/bin/chromium by default. With --result, opens a page made by a real run instead.
 */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { chromium } from "playwright-core";
import * as fixtures from "./fixtures.mjs";

const { values: options } = parseArgs({ options: { screenshots: { type: "string" }, result: { type: "string" } } });
const template = readFileSync(fileURLToPath(new URL("../../python/penstock/report/viewer.html", import.meta.url)), "utf8");
const folder = mkdtempSync(join(tmpdir(), "penstock-viewer-"));
if (options.screenshots) mkdirSync(options.screenshots, { recursive: true });

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

/** Opens a page file and fails on any console message or request. */
async function open(file, { width = 1280, dark = false } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: dark ? "dark" : "light" });
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => complaints.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("request", (request) => {
    if (request.url() !== pathToFileURL(file).href && !request.url().startsWith("data:")) complaints.push(`request: ${request.url()}`);
  });
  const before = performance.now();
  await page.goto(pathToFileURL(file).href);
  await page.waitForSelector("main");
  const opened = performance.now() - before;
  await page.waitForTimeout(150);
  return { page, context, complaints, opened };
}

function write(name, content) {
  const json = JSON.stringify(content).replaceAll("<", "\\u003c");
  const file = join(folder, `${name}.html`);
  // A function, because a text may contain "$&".
  writeFileSync(file, template.replace(">__PENSTOCK_RESULT__<", () => `>${json}<`));
  return file;
}

async function shot(page, name) {
  if (options.screenshots) await page.screenshot({ path: join(options.screenshots, `${name}.png`), fullPage: true });
}

const tests = {
  async "the template has one place for the result and asks nothing of a network"() {
    assert.equal(template.split("__PENSTOCK_RESULT__").length - 1, 1);
    assert.doesNotMatch(template, /(src|href)="https?:/);
    assert.doesNotMatch(template, /\beval\(|new Function\(/);
    assert.ok(template.length < 250_000, `${template.length} bytes`);
  },

  async "every sample opens in silence, light and dark, wide and narrow"() {
    for (const [name, make] of Object.entries(fixtures)) {
      const file = write(name, make());
      for (const [width, dark] of [[1280, false], [1280, true], [800, false], [420, true], [420, false]]) {
        const { page, context, complaints, opened } = await open(file, { width, dark });
        assert.deepEqual(complaints, [], `${name} ${width}`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wide <= 0, `${name} at ${width} is ${wide} px too wide`);
        if (width === 1280 && !dark) console.log(`  ${name}: open in ${Math.round(opened)} ms`);
        await shot(page, `${name}-${width}-${dark ? "dark" : "light"}`);
        await context.close();
      }
    }
  },

  async "zoom and cursor are one for all charts"() {
    const { page, complaints, context } = await open(write("small", fixtures.small()));
    const charts = page.locator("#time .u-over");
    assert.equal(await charts.count(), 3);
    const span = page.locator("#time .tools .quiet").first();
    assert.equal(await span.textContent(), "0 to 10 ms");
    await charts.nth(1).scrollIntoViewIfNeeded();
    const box = await charts.nth(1).boundingBox();
    await page.mouse.move(box.x + box.width * 0.25, box.y + 60);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 60, { steps: 4 });
    await page.mouse.up();
    assert.match(await span.textContent(), /^2\.\d+ ms to (4\.9|5)/);
    const lefts = await page.locator("#time .u-cursor-x").evaluateAll((all) => all.map((one) => Math.round(one.getBoundingClientRect().x)));
    assert.equal(new Set(lefts).size, 1, `cursors at ${lefts}`);
    await shot(page, "small-zoomed");
    await page.mouse.dblclick(box.x + box.width * 0.6, box.y + 60);
    assert.equal(await span.textContent(), "0 to 10 ms");
    assert.deepEqual(complaints, []);
    await context.close();
  },

  async "tables sort by keyboard, search and copy"() {
    const { page, complaints, context } = await open(write("big", fixtures.big()));
    const heading = page.getByRole("button", { name: "throughput", exact: true });
    await heading.focus();
    await page.keyboard.press("Enter");
    assert.equal(await page.locator("th[aria-sort=descending]").count(), 1);
    await page.getByRole("searchbox", { name: "Search flows" }).last().fill("h1023");
    await page.waitForTimeout(50);
    assert.match(await page.locator("#tables").textContent(), /2 of 1,024 rows/);
    await page.getByRole("tab", { name: /Flows/ }).focus();
    while (!/Classes/.test(await page.locator("[role=tab][aria-selected=true]").textContent())) await page.keyboard.press("ArrowRight");
    assert.match(await page.locator("#tables [role=tabpanel]").textContent(), /jain/);
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Copy as CSV" }).click();
    const csv = await page.evaluate(() => navigator.clipboard.readText());
    assert.match(csv, /^class,flows,offered_bps/);
    assert.deepEqual(complaints, []);
    await context.close();
  },

  async "a thousand faint lines of 200,000 points draw in well under a second"() {
    const { page, context } = await open(write("big", fixtures.big()));
    const select = page.locator("#time select").filter({ hasText: "every line" }).first();
    const took = await select.evaluate(async (element) => {
      const before = performance.now();
      element.value = "every";
      element.dispatchEvent(new Event("change", { bubbles: true }));
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      return performance.now() - before;
    });
    console.log(`  204,800 points: ${Math.round(took)} ms`);
    assert.ok(took < 1500, `${took} ms`);
    await shot(page, "big-every");
    await context.close();
  },

  async "pointing at the fabric and at a pause tells about it"() {
    const { page, complaints, context } = await open(write("small", fixtures.small()));
    await page.locator("#fabric .node").last().hover();
    assert.match(await page.locator(".tip").textContent(), /host h3/);
    await shot(page, "small-hover");
    const bars = page.locator("#time .plot").last();
    await bars.scrollIntoViewIfNeeded();
    const box = await bars.locator(".u-over").boundingBox();
    for (let x = 0.25; x < 0.5; x += 0.005) {
      await page.mouse.move(box.x + box.width * x, box.y + 14);
      if ((await page.locator(".tip").count()) > 0) break;
    }
    assert.match(await page.locator(".tip").textContent(), /paused for .* by sw\./s);
    assert.deepEqual(complaints, []);
    await context.close();
  },

  async "a large fabric is cells that tell about their links and can be found"() {
    const { page, complaints, context } = await open(write("big", fixtures.big()));
    const canvas = page.locator("#fabric canvas");
    const box = await canvas.boundingBox();
    await page.mouse.move(box.x + 105, box.y + 4);
    assert.match(await page.locator(".tip").textContent(), /agg0\.0 → core0\s*used/);
    const before = await canvas.evaluate((one) => one.toDataURL());
    await page.getByRole("searchbox", { name: "Find a host or switch" }).fill("h77");
    assert.match(await page.locator("#fabric").textContent(), /1 link stands out/);
    await page.waitForTimeout(50);
    assert.notEqual(await canvas.evaluate((one) => one.toDataURL()), before);
    await shot(page, "big-found");
    assert.deepEqual(complaints, []);
    await context.close();
  },

  async "a narrow window gives the plots most of its width"() {
    const { page, complaints, context } = await open(write("small", fixtures.small()), { width: 420 });
    for (const plot of await page.locator("#time .u-over").all()) assert.ok((await plot.boundingBox()).width > 0.6 * 420);
    assert.deepEqual(complaints, []);
    await context.close();
  },

  async "results of other versions and damaged ones get a sentence"() {
    for (const [name, content, expected] of [["later", fixtures.later(), /newer than this page/], ["other", { hello: 1 }, /not written by Penstock/]]) {
      const { page, context } = await open(write(name, content));
      assert.match(await page.getByRole("alert").textContent(), expected);
      await context.close();
    }
    const bare = join(folder, "bare.html");
    writeFileSync(bare, template);
    const { page, context } = await open(bare);
    assert.match(await page.getByRole("alert").textContent(), /empty report template/);
    await context.close();
  },

  async "it prints"() {
    const { page, complaints, context } = await open(write("small", fixtures.small()), { dark: true });
    const pdf = await page.pdf({ preferCSSPageSize: true });
    assert.ok(pdf.length > 10_000);
    if (options.screenshots) writeFileSync(join(options.screenshots, "small.pdf"), pdf);
    assert.deepEqual(complaints, []);
    await context.close();
  },
};

const real = {
  async "a real result opens in silence"() {
    for (const [width, dark] of [[1280, false], [800, true]]) {
      const { page, context, complaints, opened } = await open(options.result, { width, dark });
      assert.deepEqual(complaints, []);
      console.log(`  open in ${Math.round(opened)} ms`);
      await shot(page, `real-${width}-${dark ? "dark" : "light"}`);
      await context.close();
    }
  },
};

let failures = 0;
for (const [name, test] of Object.entries(options.result ? real : tests)) {
  try {
    await test();
    console.log(`ok   ${name}`);
  } catch (error) {
    failures++;
    console.log(`FAIL ${name}\n${error.stack}`);
  }
}
await browser.close();
rmSync(folder, { recursive: true });
process.exitCode = failures > 0 ? 1 : 0;
