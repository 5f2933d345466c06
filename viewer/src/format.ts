/** Numbers for people, three significant figures: rates and counts in powers of ten, sizes in KiB as scenarios have them. */

const PREFIXES: readonly [number, string][] = [
  [1e15, "P"],
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
  [1, ""],
];

const BINARY: readonly [number, string][] = [
  [2 ** 40, "TiB"],
  [2 ** 30, "GiB"],
  [2 ** 20, "MiB"],
  [2 ** 10, "KiB"],
];

const NOTHING = "–";

/** What is measured: decides how a number is written. */
export type Unit = "bps" | "bytes" | "ns" | "s" | "share" | "count" | "plain";

/** The unit of a column, from the end of its name (units come last in names) or from its described unit. */
export function unitOf(column: string, described = ""): Unit {
  if (/_bps$/.test(column) || /^bits?\/s$|^bps$/.test(described)) return "bps";
  if (/(^|_)ns$/.test(column) || described === "ns") return "ns";
  if (/_s$/.test(column) || described === "s") return "s";
  if (/(^|_)bytes(_|$)/.test(column) || /^(bytes?|B)$/.test(described)) return "bytes";
  if (/utilisation$|share$|ratio$/.test(column)) return "share";
  if (/(^|_)(frames|drops|pauses|resumes|violations|flows|events|hops)(_|$)/.test(column)) return "count";
  return "plain";
}

export function formatted(value: number | null, unit: Unit): string {
  if (value === null || !Number.isFinite(value)) return NOTHING;
  switch (unit) {
    case "bps":
      return si(value, "b/s");
    case "bytes":
      return bytes(value);
    case "ns":
      return seconds(value * 1e-9);
    case "s":
      return seconds(value);
    case "share":
      return share(value);
    case "count":
      return count(value);
    case "plain":
      return plain(value);
  }
}

/** 9.42e9, "b/s" -> "9.42 Gb/s". */
export function si(value: number, unit: string): string {
  if (value === 0) return `0 ${unit}`;
  const size = Math.abs(value);
  // A value that would round up to 1000 of a prefix belongs to the next one.
  const found = PREFIXES.find(([scale]) => size >= scale * 0.9995) ?? [1, ""];
  return `${figures(value / found[0])} ${found[1]}${unit}`.trim();
}

/** Bytes as KiB, MiB or GiB, as scenarios and pictures have them. */
export function bytes(value: number): string {
  const size = Math.abs(value);
  const [scale, unit] = BINARY.find(([scale]) => size >= scale * 0.9995) ?? [1, "B"];
  return `${figures(value / scale)} ${unit}`;
}

/** Steps of an axis of bytes: powers of two, so that ticks are round in B, KiB, MiB and GiB. */
export const BYTE_STEPS: readonly number[] = Array.from({ length: 51 }, (_, power) => 2 ** power);

/** Seconds, as ns, us, ms or s. */
export function seconds(value: number): string {
  if (value === 0) return "0 s";
  const size = Math.abs(value);
  if (size >= 0.9995) return `${figures(value)} s`;
  if (size >= 0.9995e-3) return `${figures(value * 1e3)} ms`;
  if (size >= 0.9995e-6) return `${figures(value * 1e6)} µs`;
  return `${figures(value * 1e9)} ns`;
}

/** 0.4567 -> "45.7 %". */
export function share(value: number): string {
  const percent = value * 100;
  if (percent !== 0 && Math.abs(percent) < 0.1) return "< 0.1 %";
  return `${percent.toFixed(Math.abs(percent) < 99.95 ? 1 : 0)} %`;
}

/** Counts stay exact up to a million: a reader compares them frame by frame. */
export function count(value: number): string {
  if (!Number.isInteger(value)) return figures(value);
  return Math.abs(value) < 1e6 ? grouped(value) : si(value, "");
}

/** "1 host", "4 hosts", "1,024 hosts". */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${grouped(value)} ${value === 1 ? one : many}`;
}

/** "a", "a and b", "a, b and c". */
export function listed(items: readonly string[]): string {
  if (items.length <= 1) return items.join("");
  return `${items.slice(0, -1).join(", ")} and ${items[items.length - 1]}`;
}

function plain(value: number): string {
  return Number.isInteger(value) ? grouped(value) : figures(value);
}

function grouped(value: number): string {
  return value.toLocaleString("en-US");
}

/** Three significant figures without a trailing ".0", never in exponents below 1e6. */
function figures(value: number): string {
  const size = Math.abs(value);
  if (size >= 999.5) return Math.round(value).toLocaleString("en-US");
  if (size !== 0 && size < 0.001) return value.toExponential(1);
  return String(Number(value.toPrecision(3)));
}

/** The common unit of a time axis: ticks then share one unit instead of changing along the axis. */
export function timeScale(spanNs: number): { unit: string; perUnit: number } {
  if (spanNs >= 2e9) return { unit: "s", perUnit: 1e9 };
  if (spanNs >= 2e6) return { unit: "ms", perUnit: 1e6 };
  if (spanNs >= 2e3) return { unit: "µs", perUnit: 1e3 };
  return { unit: "ns", perUnit: 1 };
}

/** An exact time for tooltips: enough digits to tell neighbouring frames apart. */
export function instant(ns: number): string {
  const { unit, perUnit } = timeScale(Math.max(ns, 1));
  return `${Number((ns / perUnit).toFixed(6))} ${unit}`;
}
