/** Pause intervals by paused port and priority, ready to be drawn as bars and searched by time. */
import { natural, type TableOf } from "./table";

export interface Interval {
  start: number;
  end: number;
  sentBy: string;
  reason: string;
  queue: string;
  occupancy: number | null;
  watermark: number | null;
  unit: string;
}

export interface PauseRow {
  port: string;
  priority: string;
  label: string;
  intervals: Interval[];
  /** Time in which the port had to stop; overlapping intervals count once. */
  totalNs: number;
}

/** Longest paused first. An interval without an end lasts until `endNs`, the end of the run. */
export function readPauses(table: TableOf<"pauses">, endNs: number): PauseRow[] {
  const rows = new Map<string, PauseRow>();
  for (let row = 0; row < table.rows; row++) {
    const start = table.number("start_ns", row);
    if (start === null) continue;
    const port = table.text("port", row);
    const priority = table.text("priority", row);
    const label = priority === "" ? port : `${port} · ${priority}`;
    let paused = rows.get(label);
    if (!paused) rows.set(label, (paused = { port, priority, label, intervals: [], totalNs: 0 }));
    paused.intervals.push({
      start,
      end: Math.max(table.number("end_ns", row) ?? endNs, start),
      sentBy: table.text("sent_by", row),
      reason: table.text("reason", row) || "xoff",
      queue: table.text("queue", row),
      occupancy: table.number("occupancy", row),
      watermark: table.number("watermark", row),
      unit: table.text("unit", row),
    });
  }
  for (const row of rows.values()) {
    row.intervals.sort((a, b) => a.start - b.start);
    row.totalNs = covered(row.intervals);
  }
  return [...rows.values()].sort((a, b) => b.totalNs - a.totalNs || natural(a.label, b.label));
}

function covered(sorted: readonly Interval[]): number {
  let total = 0;
  let until = -Infinity;
  for (const { start, end } of sorted) {
    total += Math.max(0, end - Math.max(start, until));
    until = Math.max(until, end);
  }
  return total;
}

/** The interval at a time, or the nearest within `slack`, so that bars thinner than a pixel can be hit. */
export function intervalAt(row: PauseRow, time: number, slack: number): Interval | null {
  const { intervals } = row;
  const after = firstAfter(intervals, time);
  const before = intervals[after - 1];
  if (before && time <= before.end) return before;
  const next = intervals[after];
  const gapBefore = before ? time - before.end : Infinity;
  const gapAfter = next ? next.start - time : Infinity;
  if (Math.min(gapBefore, gapAfter) > slack) return null;
  return (gapBefore <= gapAfter ? before : next) ?? null;
}

/** Index of the first interval that starts after a time. */
export function firstAfter(intervals: readonly Interval[], time: number): number {
  let low = 0;
  let high = intervals.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (intervals[middle]!.start <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

export interface Bar {
  left: number;
  right: number;
  reason: string;
}

/**
 * Bars in pixels for the visible time: neighbours of one reason closer than half a pixel become one bar,
 * so that a hundred thousand pauses cost no more than the width of the screen.
 */
export function bars(row: PauseRow, from: number, to: number, toPixel: (time: number) => number): Bar[] {
  const out: Bar[] = [];
  for (const interval of row.intervals) {
    if (interval.start > to) break;
    if (interval.end < from) continue;
    const left = toPixel(Math.max(interval.start, from));
    const right = toPixel(Math.min(interval.end, to));
    const last = out[out.length - 1];
    if (last && last.reason === interval.reason && left - last.right < 0.5) last.right = Math.max(last.right, right);
    else out.push({ left, right, reason: interval.reason });
  }
  return out;
}
