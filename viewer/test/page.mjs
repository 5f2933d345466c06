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
async function open(file, { width = 1280, dark = false, hash = "" } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: dark ? "dark" : "light" });
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => complaints.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("request", (request) => {
    if (request.url().split("#")[0] !== pathToFileURL(file).href && !request.url().startsWith("data:")) complaints.push(`request: ${request.url()}`);
  });
  const before = performance.now();
  await page.goto(pathToFileURL(file).href + hash);
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

  async "queue pairs have their series, and a flow has one color in all charts"() {
    const { page, complaints, context } = await open(write("rdma", fixtures.rdma()));
    const control = page.locator("#time .chart").nth(1);
    const shown = control.getByRole("combobox", { name: "Show" });
    assert.deepEqual(await shown.locator("option").allTextContents(), ["rates of queue pairs", "in flight, of queue pairs", "CNPs", "packets sent again"]);
    await shown.selectOption({ label: "CNPs" });
    assert.match(await control.locator("table").textContent(), /CNPs.*queue pairs.*victim\/00 frames1 frame2 frames/s);
    await shot(page, "rdma-cnps");
    const colors = async (chart) => Object.fromEntries(await chart.locator(".chip").evaluateAll((all) => all.map((one) => [one.querySelector(".name").textContent, one.querySelector(".swatch").style.background])));
    const latency = page.locator("#delays .chart").first();
    assert.deepEqual(await colors(latency), await colors(page.locator("#time .chart").first()));
    await page.locator("#time .remove").first().click();
    assert.notEqual((await colors(latency))["burst[h0]"], "var(--series-0)"); // it is free for another flow
    assert.deepEqual(complaints, []);
    await context.close();
  },

  async "latency and slowdown are told under the pointer, by keyboard and in words"() {
    const { page, complaints, context } = await open(write("rdma", fixtures.rdma()));
    await page.getByRole("link", { name: "Latency" }).press("Enter");
    const charts = page.locator("#delays .chart");
    assert.deepEqual(await charts.locator("h3").allTextContents(), ["Latency of frames", "Slowdown of web", "Slowdown of answers"]);
    assert.match(await charts.nth(0).textContent(), /of the 3 slowest of 12 flows.*victim\s*p99/s);
    assert.match(await charts.nth(1).textContent(), /1,000 transfers in 20 bins, each at its largest size, 2 not complete.*p99\s*of all 9/s);
    assert.match(await charts.nth(2).textContent(), /60 transfers of 10\.2 KiB.*median 2, 99th 9/s);
    for (const [nth, expected] of [[0, /latency \d.* µs.*victim\s*\d+(\.\d+)? %/s], [1, /size \d.* KiB.*p50\s*1\.\d/s], [2, /slowdown \d.*answers\s*\d+(\.\d+)? %/s]]) {
      const over = charts.nth(nth).locator(".u-over");
      await over.scrollIntoViewIfNeeded();
      const box = await over.boundingBox();
      await page.mouse.move(box.x + box.width * 0.45, box.y + 90);
      await page.waitForTimeout(30);
      assert.match(await charts.nth(nth).innerText(), expected);
      // The table has a number for each line and place that it tells of.
      const cells = await charts.nth(nth).locator("td").allTextContents();
      assert.ok(cells.length >= 20 && cells.every((cell) => /^[\d–]/.test(cell)), String(cells));
      assert.match(await charts.nth(nth).getByRole("img").getAttribute("aria-label"), /\d .*A table of numbers follows/);
    }
    const before = await charts.nth(1).locator("canvas").evaluate((one) => one.toDataURL());
    await charts.nth(1).getByRole("button", { name: "Take p99 out of the chart" }).focus();
    await page.keyboard.press("Enter");
    assert.deepEqual(await charts.nth(1).locator(".chip .name").allTextContents(), ["p50", "p95", "mean"]);
    assert.notEqual(await charts.nth(1).locator("canvas").evaluate((one) => one.toDataURL()), before);
    assert.deepEqual(complaints, []);
    await context.close();
  },

  async "axes reach as far as those of a page beside this one"() {
    const { page, complaints, context } = await open(write("rdma", fixtures.rdma()));
    for (const [chart, axis] of [["#time", "throughput flow_throughput_bps"], ["#delays", "slowdown web slowdown"]]) {
      const over = page.locator(`${chart} .chart`, { hasText: axis.startsWith("slow") ? "Slowdown of web" : "Throughput" }).locator(".u-over").first();
      const height = async () => {
        await over.hover();
        const [whole, point] = [await over.boundingBox(), await over.locator(".u-cursor-pt").first().boundingBox()];
        return 1 - (point.y + point.height / 2 - whole.y) / whole.height;
      };
      const before = await height();
      const reach = await page.evaluate((axis) => {
        const [low, high] = window.penstock.reach[axis];
        dispatchEvent(new CustomEvent("penstock-beside", { detail: { lines: {}, reach: { [axis]: [low, 4 * high] } } }));
        return [low, high];
      }, axis);
      await page.mouse.move(0, 0);
      const now = await height();
      const expected = chart === "#time" ? before / 4 : (before * Math.log(reach[1] / reach[0])) / Math.log((4 * reach[1]) / reach[0]);
      assert.ok(Math.abs(now - expected) < 0.02, `${axis}: ${before}, then ${now} in place of ${expected}`);
    }
    assert.deepEqual(complaints, []);
    await context.close();
  },

  async "what a page beside this one shows too has the same color in both"() {
    const { page, complaints, context } = await open(write("rdma", fixtures.rdma()));
    const shown = async (chart) => Object.fromEntries(await chart.locator(".chip").evaluateAll((all) => all.map((one) => [one.querySelector(".name").textContent, one.querySelector(".swatch").style.background.replace(/\D/g, "")])));
    const control = page.locator("#time .chart").nth(1);
    assert.deepEqual(await shown(control), { "burst[h0]/0": "18", "burst[h1]/0": "19", "victim/0": "20" });
    await page.evaluate(() => dispatchEvent(new CustomEvent("penstock-beside", { detail: { reach: {}, lines: { "control queue_pair_rate_bps": ["other/0", "victim/0", "burst[h1]/0", "one/0", "burst[h0]/0"] } } })));
    assert.deepEqual(await shown(control), { "burst[h0]/0": "18", "victim/0": "19", "burst[h1]/0": "20" });
    assert.deepEqual(complaints, []);
    await context.close();
  },

  async "a page in a frame of the documentation has its theme, and follows its switch"() {
    const run = write("run", fixtures.rdma());
    const css = readFileSync(fileURLToPath(new URL("../../docs/site/static/penstock.css", import.meta.url)), "utf8");
    const site = join(folder, "site.html");
    writeFileSync(site, `<!doctype html><style>${css}</style><body data-theme="auto"><iframe class="run" src="${pathToFileURL(run).href}"></iframe>`);
    // Without a preference of the browser's own: what stands in for one holds in frames too.
    const context = await browser.newContext({ colorScheme: null });
    const page = await context.newPage();
    await page.goto(pathToFileURL(site).href);
    const inside = page.frameLocator("iframe");
    const canvas = inside.locator("#delays canvas").first();
    await canvas.waitFor();
    const seen = {};
    for (const theme of ["light", "dark", "light", "auto"]) {
      await page.evaluate((one) => (document.body.dataset.theme = one), theme);
      await page.waitForTimeout(200);
      const look = [await inside.locator("body").evaluate((one) => getComputedStyle(one).backgroundColor), await canvas.evaluate((one) => one.toDataURL())];
      assert.deepEqual(look, (seen[theme] ??= look), theme);
    }
    assert.deepEqual([seen.light[0], seen.dark[0]], ["rgb(244, 246, 248)", "rgb(15, 21, 27)"]);
    assert.notEqual(seen.light[1], seen.dark[1]);
    assert.deepEqual(seen.auto, seen.light);
    // What is chosen in the page itself holds.
    await inside.getByRole("combobox", { name: "Colors" }).selectOption("dark");
    assert.equal(await inside.locator("body").evaluate((one) => getComputedStyle(one).backgroundColor), "rgb(15, 21, 27)");
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

  async "the fabric plays, by buttons and by keyboard"() {
    for (const name of ["small", "big"]) {
      const { page, complaints, context } = await open(write(name, fixtures[name]()));
      const look = () => page.locator("#fabric .room").innerHTML();
      const picture = async () => (name === "big" ? page.locator("#fabric canvas").evaluate((one) => one.toDataURL()) : look());
      const [time, told] = [page.getByRole("slider", { name: "Time" }), page.locator(".player .quiet")];
      const [first, whole] = [await picture(), page.locator(".player").getByRole("button", { name: "Whole run" })];
      assert.equal(await told.textContent(), "whole run");
      assert.ok(await whole.isDisabled());
      await time.focus();
      await page.keyboard.press("ArrowRight");
      await page.waitForTimeout(50);
      assert.match(await told.textContent(), /^500 µs to 1000 µs; a full bar is a queue of 97\.7 KiB$/);
      assert.notEqual(await picture(), first);
      await shot(page, `${name}-film`);
      await page.keyboard.press("End");
      await page.getByRole("button", { name: "Play" }).click(); // from the beginning
      await page.waitForFunction(() => /^[1-9]/.test(document.querySelector(".player .quiet").textContent));
      await page.getByRole("button", { name: "Stop" }).click();
      await whole.click();
      await page.waitForTimeout(50);
      assert.equal(await picture(), first);
      assert.deepEqual(complaints, []);
      await context.close();
    }
  },

  async "congestion trees grow over the fabric"() {
    const { page, complaints, context } = await open(write("small", fixtures.small()));
    const now = page.getByRole("list", { name: "Congestion trees now" });
    assert.match(await now.textContent(), /Play to see 1 congestion tree grow/);
    const seen = [];
    await page.getByRole("slider", { name: "Time" }).focus();
    for (let stretch = 0; stretch < 7; stretch++) {
      await page.keyboard.press(stretch === 0 ? "Home" : "ArrowRight");
      await page.waitForTimeout(20);
      seen.push(await page.locator("#fabric .branch").count());
      assert.equal(await page.locator("#fabric .root").count(), Math.min(1, seen.at(-1)));
      if (seen.at(-1) > 0) assert.match(await now.textContent(), /sw\.3->h3 was oversubscribed and stops \d ports?: h\d\.0->sw/);
      const bands = await page.locator("#time .stretch").evaluateAll((all) => all.map((one) => Math.round(one.getBoundingClientRect().x)));
      if (stretch > 0) assert.ok(bands.length === 3 && new Set(bands).size === 1, `the charts are at ${bands}`);
      if (stretch === 2) await shot(page, "small-tree");
    }
    assert.deepEqual(seen, [0, 2, 3, 3, 2, 1, 0]); // pauses before the tree's first are not its own
    assert.deepEqual(complaints, []);
    await context.close();
  },

  async "the address holds what is shown, a copied link opens it, and back undoes a choice"() {
    const file = write("small", fixtures.small());
    const { page, complaints, context } = await open(file);
    const hash = () => page.evaluate(() => location.hash);
    assert.equal(await hash(), "");
    await page.getByRole("slider", { name: "Time" }).focus();
    await page.keyboard.press("ArrowRight");
    await page.locator("#fabric .node").last().click();
    await page.getByRole("button", { name: "Zoom in" }).click();
    await page.getByRole("tab", { name: /Ports/ }).click();
    await page.getByRole("button", { name: "drops", exact: true }).first().click();
    await page.getByRole("searchbox", { name: "Search ports" }).last().fill("h3");
    await page.getByRole("combobox", { name: "Colors" }).selectOption("dark");
    await page.getByRole("link", { name: "Tables" }).click();
    const link = await hash();
    assert.equal(link, "#tables?at=500000&node=h3&time=2500000-7500000&table=ports&sort=-drops&find=h3&theme=dark");
    const look = async (other) => ({
      time: await other.locator(".player .quiet").textContent(),
      node: await other.locator("#fabric .node[aria-pressed=true]").getAttribute("aria-label"),
      span: await other.locator("#time .tools .quiet").first().textContent(),
      rows: await other.locator("#tables tbody").textContent(),
      sorted: await other.locator("#tables th[aria-sort=descending]").textContent(),
      ground: await other.evaluate(() => getComputedStyle(document.body).backgroundColor),
    });
    const copy = await open(file, { hash: link });
    assert.deepEqual(await look(copy.page), await look(page));
    assert.ok((await copy.page.locator("#tables").boundingBox()).y < 450);
    const bands = (other) => other.locator("#time .stretch").evaluateAll((all) => all.map((one) => one.style.left + " " + one.style.width));
    assert.deepEqual(await bands(copy.page), await bands(page));
    await shot(copy.page, "small-link");
    await copy.context.close();
    await page.goBack(); // the section
    await page.goBack(); // the colors
    assert.notEqual((await look(page)).ground, "rgb(15, 21, 27)");
    await page.goBack(); // the order of the table
    await page.waitForTimeout(50);
    assert.equal(await page.locator("#tables th[aria-sort=descending]").count(), 0);
    await page.goBack(); // the table
    await page.waitForTimeout(50);
    assert.match(await page.locator("[role=tab][aria-selected=true]").textContent(), /Flows/);
    await page.goBack(); // the zoom
    assert.equal(await page.locator("#time .tools .quiet").first().textContent(), "0 to 10 ms");
    assert.deepEqual(complaints, []);
    await context.close();
    for (const wrong of ["#nowhere?at=-1&time=5-2&table=x&sort=x&node=x&tree=99&theme=x", "#?%%%", "#time?at=1e99"]) {
      const { page: odd, complaints: said, context: own } = await open(file, { hash: wrong });
      assert.deepEqual(said, [], wrong);
      assert.equal(await odd.locator("#time .tools .quiet").first().textContent(), "0 to 10 ms");
      await own.close();
    }
  },

  async "lines of charts and the page of a table are a part of the address"() {
    const file = write("big", fixtures.big());
    const { page, complaints, context } = await open(file);
    const chart = page.locator("#time .chart").first();
    const names = () => chart.locator(".chip .name").allTextContents();
    const before = await names();
    await chart.locator(".remove").nth(1).click();
    await chart.getByRole("combobox", { name: "Behind" }).selectOption("sum");
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByRole("button", { name: "Next" }).click();
    assert.deepEqual(await names(), before.filter((_, at) => at !== 1));
    const link = await page.evaluate(() => location.hash);
    assert.match(link, /throughput-lines=.*&throughput-behind=sum&page=3$/);
    const copy = await open(file, { hash: link });
    assert.deepEqual(await copy.page.locator("#time .chart").first().locator(".chip .name").allTextContents(), await names());
    assert.equal(await copy.page.locator("#time .chart").first().getByRole("combobox", { name: "Behind" }).inputValue(), "sum");
    assert.equal(await copy.page.locator("#tables tbody").textContent(), await page.locator("#tables tbody").textContent());
    await copy.context.close();
    await page.goBack(); // the third page
    await page.goBack(); // the second page
    await page.goBack(); // the sum
    await page.goBack(); // the line
    await page.waitForTimeout(50);
    assert.deepEqual(await names(), before);
    assert.deepEqual(complaints, []);
    await context.close();
  },

  async "every control has a name, and all can be reached by keyboard"() {
    for (const name of ["small", "rdma", "big", "stuck"]) {
      const { page, context } = await open(write(name, fixtures[name]()));
      const found = await page.evaluate(() => {
        const named = (one) => one.getAttribute("aria-label") || one.labels?.[0]?.textContent.trim() || one.textContent.trim() || one.getAttribute("title");
        const all = [...document.querySelectorAll("button, select, input, a[href], [role=button], [role=img], [role=tab], [role=group], [role=region]")];
        const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
        const levels = [...document.querySelectorAll("h1, h2, h3, h4")].map((one) => Number(one.tagName[1]));
        return {
          nameless: all.filter((one) => !named(one)).map((one) => one.outerHTML.slice(0, 90)),
          twice: ids.filter((id, index) => ids.indexOf(id) !== index),
          lost: [...document.querySelectorAll("[aria-labelledby], [aria-controls]")].flatMap((one) => [one.getAttribute("aria-labelledby"), one.getAttribute("aria-controls")]).filter((id) => id && !ids.includes(id)),
          skipped: levels.filter((level, index) => index > 0 && level - levels[index - 1] > 1).length,
          first: levels[0],
          unheaded: [...document.querySelectorAll("table th:not([scope])")].filter((one) => !one.closest(".tip")).length,
          untabbed: [...document.querySelectorAll("[role=button]")].filter((one) => one.tabIndex < 0).length,
          mains: document.querySelectorAll("main").length,
          language: document.documentElement.lang,
        };
      });
      assert.deepEqual(found, { nameless: [], twice: [], lost: [], skipped: 0, first: 1, unheaded: 0, untabbed: 0, mains: 1, language: "en" });
      await context.close();
    }
  },

  async "a screen reader finds a name for every control, and words for every picture"() {
    const CONTROLS = ["button", "checkbox", "combobox", "link", "option", "searchbox", "slider", "tab", "textbox", "DisclosureTriangle", "spinbutton", "menuitem"];
    const PLACES = ["image", "img", "table", "region", "tabpanel", "tablist", "navigation"];
    for (const name of ["small", "rdma", "big", "stuck"]) {
      const { page, context } = await open(write(name, fixtures[name]()));
      const { nodes } = await (await context.newCDPSession(page)).send("Accessibility.getFullAXTree");
      const heard = nodes.filter((node) => !node.ignored).map((node) => ({ role: node.role?.value ?? "", name: (node.name?.value ?? "").trim(), node }));
      const nameless = heard.filter(({ role, name: own }) => own === "" && [...CONTROLS, ...PLACES].includes(role));
      assert.deepEqual(nameless.map(({ role, node }) => `${role} ${node.backendDOMNodeId}`), [], name);
      assert.ok(heard.filter(({ role }) => CONTROLS.includes(role)).length > 20);
      // Each chart is a picture whose words have numbers, and each of series has a table of them.
      const plots = await page.locator("#time .plot").evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")));
      const pictures = heard.filter(({ role }) => ["image", "img"].includes(role)).map((one) => one.name);
      for (const words of plots) assert.ok(pictures.includes(words) && /\d/.test(words), `${name}: ${words}`);
      const tables = await page.locator("#time table caption").count();
      assert.equal(tables, plots.filter((words) => !words.startsWith("Pauses")).length, name);
      for (const canvas of await page.locator("canvas").all()) {
        assert.ok(await canvas.evaluate((one) => one.closest("[role=img], [aria-label]") !== null), "a canvas without words");
      }
      assert.ok(heard.some(({ node }) => node.properties?.some((one) => one.name === "live" && one.value.value === "polite")), "no live region");
      await context.close();
    }
  },

  async "axe finds nothing to complain of, in both themes, on a desk and on a phone"() {
    for (const make of [fixtures.small, fixtures.rdma, fixtures.big, fixtures.stuck, fixtures.empty]) {
      const file = write("axe", make());
      for (const [width, dark] of [[1280, false], [1280, true], [420, false], [420, true]]) {
        const { page, context } = await open(file, { width, dark });
        await page.addScriptTag({ path: fileURLToPath(new URL("../node_modules/axe-core/axe.min.js", import.meta.url)) });
        const { violations } = await page.evaluate(() => axe.run());
        assert.deepEqual(violations.map((one) => `${one.id}: ${one.nodes[0].html}`), [], `${make.name} ${width} ${dark}`);
        await context.close();
      }
    }
  },

  async "text is dark enough in both themes"() {
    for (const dark of [false, true]) {
      const { page, context } = await open(write("small", fixtures.small()), { dark });
      const faint = await page.evaluate(() => {
        const parts = (color) => color.match(/[\d.]+/g).map(Number);
        const light = (color) => parts(color).slice(0, 3).map((one) => (one /= 255) <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4).reduce((sum, one, at) => sum + one * [0.2126, 0.7152, 0.0722][at], 0);
        const behind = (one) => {
          for (let at = one; at; at = at.parentElement) {
            const color = getComputedStyle(at).backgroundColor;
            if (color.startsWith("rgb(")) return color;
          }
          return "rgb(255, 255, 255)";
        };
        return [...document.querySelectorAll("body *")].filter((one) => !one.closest("svg, :disabled, .visually-hidden, option") && [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())).flatMap((one) => {
          const [a, b] = [light(getComputedStyle(one).color), light(behind(one))];
          const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
          return contrast < 4.5 && one.getClientRects().length > 0 ? [`${one.tagName} ${one.className} "${one.textContent.trim().slice(0, 30)}" ${contrast.toFixed(2)}`] : [];
        });
      });
      assert.deepEqual(faint, [], dark ? "dark" : "light");
      await context.close();
    }
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

  async "the widget of notebooks shows the page in a frame of its own"() {
    const script = readFileSync(fileURLToPath(new URL("../../python/penstock/report/widget.js", import.meta.url)), "utf8");
    const bare = join(folder, "notebook.html");
    writeFileSync(bare, "<!doctype html><main>A notebook</main>");
    const { page, complaints, context } = await open(bare);
    const content = readFileSync(write("small", fixtures.small()), "utf8");
    await page.evaluate(async ([text, html]) => {
      const { default: widget } = await import(`data:text/javascript,${encodeURIComponent(text)}`);
      const state = { page: html, name: "first-light", height: 700 };
      widget.render({ model: { get: (name) => state[name], on: () => undefined }, el: document.querySelector("main") });
    }, [script, content]);
    const inside = page.frameLocator("iframe[title='Report of first-light']");
    await inside.locator("h1").waitFor();
    assert.equal(await inside.locator("h1").textContent(), "first-light");
    await inside.getByRole("tab", { name: /Ports/ }).click();
    await inside.getByRole("link", { name: "Tables" }).click();
    assert.match(await inside.locator("[role=tab][aria-selected=true]").textContent(), /Ports/);
    assert.equal((await page.locator("iframe").boundingBox()).height, 700);
    await page.waitForTimeout(400); // until the address would be written
    assert.deepEqual(complaints.filter((one) => !one.startsWith("request: about:srcdoc") && !one.startsWith("request: data:")), []);
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
