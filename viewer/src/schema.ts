/**
 * Reads the report document: what the page was given, checked once here, so that the rest need not ask.
 *
 * Structure that the page cannot do without (the schema version, `run`) is an error with a sentence a user can act on.
 * Everything else may be missing: a table that is not there is an empty table.
 */
import { readDelays, type Delays } from "./delays";
import { readFilm, type Film } from "./fabric/film";
import { hostsOf, readFabric, type Tier } from "./fabric/tiers";
import { Table, type Cell, type TableName, type TableOf, type Totals } from "./table";

/** The major version of the document that this page reads. */
export const SCHEMA = "penstock-report/1";

export interface Run {
  name: string;
  description: string;
  seed: string;
  engineVersion: string;
  fingerprint: string;
  simulatedS: number | null;
  /** Without the warm-up: what counters and shares are of. */
  measuredS: number | null;
  durationS: number | null;
  wallS: number | null;
  events: number | null;
  frameHops: number | null;
  complete: boolean;
  /** What ended the run before its time, in words; empty if nothing did. */
  endedBy: string;
  warnings: string[];
}

/** The verdict on the run, which Python makes for all commands and pages. */
export interface Verdict {
  /** "deadlocked", "hung", "lost_lossless", "not_lossless", "unfinished", "stopped_early" or "complete". */
  state: string;
  text: string;
  tone: "good" | "warn" | "bad";
  findings: { state: string; text: string }[];
}

export interface Node {
  name: string;
  role: string;
  level: number | null;
}

export interface Link {
  a: string;
  b: string;
  /** From `a` to `b`. */
  rateBps: number | null;
  /** From `b` to `a`. */
  reverseRateBps: number | null;
  delayNs: number | null;
}

export interface Topology {
  nodes: Node[];
  links: Link[];
  /** Of the whole fabric; the page may draw a part of it. */
  hosts: number;
  switches: number;
  allLinks: number;
}

export interface ColumnAbout {
  unit: string;
  about: string;
}

export interface TableAbout {
  about: string;
  columns: Map<string, ColumnAbout>;
}

/** Flows that asked for the same, and Jain's index of what they got: 1 when all got the same, 1/n when one took all. */
export interface Evenness {
  name: string;
  flows: number;
  jain: number;
}

export interface Report {
  run: Run;
  verdict: Verdict;
  scenario: string;
  /** The flow control in force: "under priority flow control (PFC)"; empty where the document does not say. */
  flowControl: string;
  /** Flows of a class that asked for the same, the most unevenly served first. */
  fairness: Evenness[];
  delays: Delays;
  topology: Topology;
  /** All links by the layers that they join, the uppermost first. */
  tiers: readonly Tier[];
  /** The fabric over time; null where it was not recorded. */
  film: Film | null;
  /** Names of all hosts, also of those that are not in `topology`. */
  hosts: ReadonlySet<string>;
  about: Map<string, TableAbout>;
  /** The series were thinned out for this page: a missing bin then holds the value before it. */
  thinned: boolean;
  /** The named table; an empty one when the run did not write it. */
  table<Name extends TableName>(name: Name): TableOf<Name>;
  table(name: string): Table;
}

export type Parsed = { ok: true; report: Report } | { ok: false; title: string; message: string };

export function parseReport(text: string): Parsed {
  const trimmed = text.trim();
  if (trimmed === "" || trimmed.startsWith("__PENSTOCK")) {
    return fail("No result in this page", "This is the empty report template. “penstock run” fills it in, and writes report.html beside the result.");
  }
  let document: unknown;
  try {
    document = JSON.parse(trimmed);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return fail("The result in this page is damaged", `It is not valid JSON (${why}). The file may have been cut short while it was written or copied.`);
  }
  if (!isObject(document)) return fail("The result in this page is damaged", "It is not a JSON object.");
  const mismatch = schemaMismatch(document["schema"]);
  if (mismatch) return fail("This page cannot read this result", mismatch);
  if (!isObject(document["run"])) return fail("The result in this page is damaged", "It contains no description of its run (no “run”).");

  const totals = isObject(document["totals"]) ? document["totals"] : {};
  const facts = isObject(document["facts"]) ? document["facts"] : {};
  const topology = readTopology(document["topology"], totals["topology"]);
  const tiers = readFabric(document["fabric"]);
  const hosts = [...topology.nodes.filter((node) => node.role === "host").map((node) => node.name), ...hostsOf(tiers)];
  const tables = readTables(document["tables"], totals);
  return {
    ok: true,
    report: {
      run: readRun(document["run"]),
      verdict: readVerdict(document["verdict"], document["run"]),
      scenario: text_(document["scenario_toml"]),
      flowControl: text_(facts["flow_control"]),
      fairness: array(facts["fairness"]).filter(isObject).map((one) => ({ name: text_(one["name"]), flows: number(one["flows"]) ?? 0, jain: number(one["jain"]) ?? 0 })),
      delays: readDelays(document["delays"]),
      topology,
      tiers,
      film: readFilm(document["fabric"]),
      hosts: new Set(hosts),
      about: readAbout(document["description"]),
      thinned: document["thinned"] === true,
      table: (name: string) => tables.get(name) ?? Table.empty,
    },
  };
}

/** The page's sentence on a schema it does not read, or null for one it does. A minor version may only add. */
export function schemaMismatch(schema: unknown): string | null {
  const found = typeof schema === "string" ? /^penstock-report\/(\d+)(\.\d+)?$/.exec(schema) : null;
  if (!found) {
    return `It has the schema “${String(schema ?? "none")}”; this page reads “${SCHEMA}”. It was probably not written by Penstock.`;
  }
  const major = Number(found[1]);
  if (major === 1) return null;
  const remedy = major > 1 ? "The result is newer than this page: make the report again with the newer Penstock." : "The result is older than this page: make the report again with the Penstock that wrote it.";
  return `It has the schema “${String(schema)}”; this page reads “${SCHEMA}”. ${remedy}`;
}

function fail(title: string, message: string): Parsed {
  return { ok: false, title, message };
}

function readRun(run: Record<string, unknown>): Run {
  const simulatedS = number(run["simulated_s"]);
  const durationS = number(run["duration_s"]);
  return {
    name: text_(run["name"]) || "unnamed run",
    description: text_(run["description"]),
    seed: text_(run["seed"]),
    engineVersion: text_(run["engine_version"]),
    fingerprint: text_(run["fingerprint"]),
    simulatedS,
    measuredS: simulatedS === null ? null : Math.max(simulatedS - (number(run["warmup_s"]) ?? 0), 0),
    durationS,
    wallS: number(run["wall_s"]),
    events: number(run["events"]),
    frameHops: number(run["frame_hops"]),
    complete: run["complete"] !== false,
    endedBy: text_(run["ended_by"]),
    warnings: array(run["warnings"]).map(warning).filter((line) => line !== ""),
  };
}

/** The verdict, or what a document from before there were any says of the end of its run. */
function readVerdict(value: unknown, run: Record<string, unknown>): Verdict {
  if (isObject(value)) {
    const tone = text_(value["tone"]);
    const findings = array(value["findings"]).filter(isObject).map((one) => ({ state: text_(one["state"]), text: text_(one["text"]) }));
    return { state: text_(value["state"]), text: text_(value["text"]), tone: tone === "good" || tone === "warn" ? tone : "bad", findings };
  }
  if (run["complete"] !== false) return { state: "complete", text: "complete", tone: "good", findings: [] };
  const endedBy = text_(run["ended_by"]);
  if (endedBy !== "") return { state: "deadlocked", text: `deadlocked: ${endedBy}`, tone: "bad", findings: [{ state: "deadlocked", text: endedBy }] };
  return { state: "stopped_early", text: "stopped early", tone: "warn", findings: [] };
}

/** A warning is a sentence, or a diagnostic with a message. */
function warning(value: unknown): string {
  return isObject(value) ? text_(value["message"]) : text_(value);
}

function readTopology(value: unknown, totals: unknown): Topology {
  const topology = isObject(value) ? value : {};
  const nodes = array(topology["nodes"]).filter(isObject).map((node) => ({
    name: text_(node["name"]),
    role: text_(node["role"]),
    level: number(node["level"]),
  }));
  const known = new Set(nodes.map((node) => node.name));
  const links = array(topology["links"]).filter(isObject).map((link) => ({
    a: text_(link["a"]),
    b: text_(link["b"]),
    rateBps: number(link["rate_bps"]),
    // Left out where it is the same.
    reverseRateBps: number(link["reverse_rate_bps"]) ?? number(link["rate_bps"]),
    delayNs: number(link["delay_ns"]),
  }));
  const all = isObject(totals) ? totals : {};
  const hosts = nodes.filter((node) => node.role === "host").length;
  return {
    nodes,
    links: links.filter((link) => known.has(link.a) && known.has(link.b)),
    hosts: number(all["hosts"]) ?? hosts,
    switches: number(all["switches"]) ?? nodes.length - hosts,
    allLinks: number(all["links"]) ?? links.length,
  };
}

function readAbout(value: unknown): Map<string, TableAbout> {
  const about = new Map<string, TableAbout>();
  for (const [name, table] of Object.entries(isObject(value) ? value : {})) {
    if (!isObject(table)) continue;
    const columns = new Map<string, ColumnAbout>();
    for (const column of array(table["columns"]).filter(isObject)) {
      columns.set(text_(column["name"]), { unit: text_(column["unit"]), about: text_(column["about"]) });
    }
    about.set(name, { about: text_(table["about"]), columns });
  }
  return about;
}

function readTables(value: unknown, totals: Record<string, unknown>): Map<string, Table> {
  const tables = new Map<string, Table>();
  for (const [name, table] of Object.entries(isObject(value) ? value : {})) {
    const columns = isObject(table) && isObject(table["columns"]) ? table["columns"] : {};
    tables.set(name, new Table(Object.entries(columns).map(([column, cells]) => [column, readColumn(cells)]), readTotals(totals[name])));
  }
  return tables;
}

/** A column is a list; or names, and the number of the name of each row. */
function readColumn(cells: unknown): Cell[] {
  if (!isObject(cells)) return array(cells) as Cell[];
  const names = array(cells["names"]) as Cell[];
  return array(cells["of"]).map((of) => names[Number(of)] ?? null);
}

function readTotals(value: unknown): Totals | null {
  if (!isObject(value)) return null;
  const numbers = (of: unknown): Map<string, number> => new Map(Object.entries(isObject(of) ? of : {}).filter((entry): entry is [string, number] => typeof entry[1] === "number"));
  return { rows: number(value["rows"]) ?? 0, sums: numbers(value["sums"]), aboveZero: numbers(value["above_zero"]) };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function array(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function number(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

function text_(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "bigint" ? String(value) : "";
}
