/** Starts the page: reads the result that the page carries and mounts the report, or says why it cannot. */
import { mount } from "svelte";
import "uplot/dist/uPlot.min.css";
import "./app.css";
import App from "./App.svelte";
import { parseReport } from "./schema";

const holder = document.getElementById("penstock-result");
const parsed = parseReport(holder?.textContent ?? "");
// The text is no longer needed; a large result would otherwise be held twice.
holder?.remove();
if (parsed.ok) document.title = `${parsed.report.run.name}, seed ${parsed.report.run.seed} – Penstock`;
mount(App, { target: document.getElementById("app")!, props: { parsed } });
