/** What the head of the report says: one sentence about what was simulated, and the few numbers that matter first. */
import { bytes, count, counted, formatted, listed, seconds, share, si } from "./format";
import type { Evenness, Report, Verdict } from "./schema";
import type { TableOf } from "./table";

export interface Fact {
  label: string;
  value: string;
  /** What the number means here, in a few words. */
  meaning: string;
  tone: "plain" | "good" | "warn" | "bad";
}

export function sentence(report: Report): string {
  const { hosts, switches } = report.topology;
  const flows = report.table("flows");
  const parts = [hosts > 0 ? counted(hosts, "host") : "", switches > 0 ? counted(switches, "switch", "switches") : ""].filter((part) => part !== "");
  const fabric = parts.length > 0 ? `A fabric of ${listed(parts)}${linksOf(report.topology)}` : "The fabric";
  const traffic = flows.rows > 0 ? `carried ${counted(flows.all, "flow")}${classesOf(flows)}` : "had no traffic";
  const time = report.run.simulatedS === null ? "" : ` for ${seconds(report.run.simulatedS)} of simulated time`;
  return `${fabric} ${traffic}${report.flowControl ? ` ${report.flowControl}` : ""}${time}.`;
}

function linksOf({ links, allLinks }: Report["topology"]): string {
  if (links.length === 0) return "";
  const rates = [...new Set(links.flatMap((link) => [link.rateBps, link.reverseRateBps]).filter((rate) => rate !== null))].sort((a, b) => a - b);
  const speed = rates.length === 0 || rates.length > 3 ? "" : ` at ${listed(rates.map((rate) => si(rate, "b/s")))}`;
  return `, joined by ${counted(allLinks, "link")}${speed},`;
}

function classesOf(flows: TableOf<"flows">): string {
  const classes = new Set(flows.column("class"));
  return classes.size > 1 ? ` in ${classes.size} classes` : "";
}

export function facts(report: Report): Fact[] {
  const found = [goodput(report), fairness(report), drops(report), paused(report), pausedMost(report), latency(report)];
  // Nothing is green on the page of a run that went wrong.
  return report.verdict.tone === "bad" ? found.map((one) => (one.tone === "good" ? { ...one, tone: "plain" } : one)) : found;
}

function goodput(report: Report): Fact {
  const flows = report.table("flows");
  const total = flows.sum("goodput_bps") ?? flows.sum("throughput_bps");
  const offered = flows.sum(askedColumn(flows));
  const carried = flows.sum("throughput_bps");
  if (total === null) return { label: "Total goodput", value: "–", meaning: "no flow sent", tone: "plain" };
  const meaning = offered !== null && carried !== null && offered > 0 ? `payload of all flows; ${share(carried / offered)} of the offered load arrived` : "payload received by all flows together";
  return { label: "Total goodput", value: formatted(total, "bps"), meaning, tone: "plain" };
}

function fairness(report: Report): Fact {
  const [worst] = report.fairness;
  if (!worst) return { label: "Jain fairness", value: "–", meaning: "no two flows of a class had equal demand", tone: "plain" };
  const tone = worst.jain >= 0.95 ? "good" : worst.jain < 0.8 ? "warn" : "plain";
  return { label: "Jain fairness", value: worst.jain.toFixed(3), meaning: `of ${evenOf(worst)}, with equal demand`, tone };
}

/** "incast, 40 flows", or "one and two". */
export function evenOf({ name, flows }: Evenness): string {
  return name.includes(" and ") && flows === 2 ? name : `${name}, ${counted(flows, "flow")}`;
}

/** The column of what flows asked for; results of before have only what their NICs took. */
export function askedColumn(flows: TableOf<"flows">): "demand_bps" | "offered_bps" {
  return flows.columns.includes("demand_bps") ? "demand_bps" : "offered_bps";
}

function drops(report: Report): Fact {
  const flows = report.table("flows");
  const dropped = flows.sum("frames_dropped") ?? report.table("ports").sum("drops");
  const sent = flows.sum("frames_sent");
  if (dropped === null) return { label: "Drops", value: "–", meaning: "no frame was counted", tone: "plain" };
  if (dropped === 0) return { label: "Drops", value: "0", meaning: sent === null ? "no frame was lost" : `none of ${counted(sent, "frame")} was lost`, tone: "good" };
  const meaning = sent ? `frames lost, ${share(dropped / sent)} of those sent` : "frames lost";
  return { label: "Drops", value: count(dropped), meaning, tone: "bad" };
}

function paused(report: Report): Fact {
  const ports = report.table("ports");
  const total = ports.sum("paused_s");
  const stopped = ports.aboveZero("paused_s");
  if (total === null || total === 0) return { label: "Time paused", value: "0 s", meaning: "no port was paused", tone: total === 0 ? "good" : "plain" };
  return { label: "Time paused", value: seconds(total), meaning: `summed over ${counted(stopped, "port")} paused`, tone: "warn" };
}

function pausedMost(report: Report): Fact {
  const ports = report.table("ports");
  const row = ports.rowOfMax("paused_s");
  const most = row === null ? 0 : (ports.number("paused_s", row) ?? 0);
  if (row === null || most === 0) return { label: "Paused most", value: "none", meaning: "no port was paused", tone: "plain" };
  const run = report.run.measuredS;
  const part = run ? `, ${share(most / run)} of the run` : "";
  return { label: "Paused most", value: ports.text("port", row), meaning: `paused for ${seconds(most)}${part}`, tone: "warn" };
}

function latency(report: Report): Fact {
  const flows = report.table("flows");
  const row = flows.rowOfMax("latency_p99_ns");
  if (row === null) return { label: "Worst p99 latency", value: "–", meaning: "no frame arrived", tone: "plain" };
  const mean = flows.number("latency_mean_ns", row);
  const beside = mean === null ? "" : `; its mean is ${formatted(mean, "ns")}`;
  return { label: "Worst p99 latency", value: formatted(flows.number("latency_p99_ns", row), "ns"), meaning: `flow ${flows.text("flow", row)}${beside}`, tone: "plain" };
}

/** The line of small print under the title: seed, fingerprint, times, speed. */
export function particulars(report: Report): [string, string][] {
  const { run } = report;
  const speed = run.frameHops !== null && run.wallS ? `${si(run.frameHops / run.wallS, "")}/s` : "";
  const entries: [string, string][] = [
    ["Simulated", run.simulatedS === null ? "" : seconds(run.simulatedS)],
    ["Wall time", run.wallS === null ? "" : seconds(run.wallS)],
    ["Frame-hops", run.frameHops === null ? "" : count(run.frameHops)],
    ["Frame-hops per second", speed],
    ["Seed", run.seed],
    ["Fingerprint", run.fingerprint],
    ["Engine", run.engineVersion],
  ];
  return entries.filter(([, value]) => value !== "");
}

const STATES: Record<string, string> = {
  deadlocked: "Deadlocked",
  hung: "Hung",
  lost_lossless: "Lost frames in a lossless class",
  not_lossless: "Not lossless",
  unfinished: "Unfinished",
  stopped_early: "Stopped early",
  complete: "Complete",
};

/** The verdict on the run: its state in words, its color, and a sentence for each finding. */
export function outcome(report: Report): { tone: Verdict["tone"]; text: string; findings: string[] } {
  const { state, tone, findings } = report.verdict;
  const words = (one: string): string => STATES[one] ?? one;
  return { tone, text: words(state), findings: findings.map((one) => `${words(one.state)}: ${one.text}.`) };
}

/** "2.1 KiB" or "14 frames". */
export function amount(value: number, unit: string): string {
  return unit.startsWith("frame") ? counted(Math.round(value * 10) / 10, "frame") : bytes(value);
}
