/**
 * More points of a part of the run. A page holds some ten thousand points, each the smallest or largest of a stretch;
 * `penstock view`, which serves the page, has all of them, and answers with those of the part that is shown.
 */
import { SeriesSet } from "../series";
import { Table, type Cell } from "../table";

/** Of a series, in the part that is shown and as much on either side. */
const POINTS = 6000;
/** How much shorter than its part a view may become before finer points are asked for. */
const COARSE = 6;

export interface Part {
  metric: string;
  names: readonly string[];
  from: number;
  to: number;
  set: SeriesSet;
}

export interface Wanted {
  metric: string;
  names: readonly string[];
  from: number;
  to: number;
}

/** Whether a part can be drawn where these series are wanted. */
export function covers(part: Part | null, wanted: Wanted): part is Part {
  return part !== null && part.metric === wanted.metric && wanted.names.every((name) => part.names.includes(name)) && part.from <= wanted.from && wanted.to <= part.to;
}

/** Whether it is as fine as it should be. */
export function fine(part: Part | null, wanted: Wanted): boolean {
  return covers(part, wanted) && part.to - part.from <= COARSE * (wanted.to - wanted.from);
}

/** Whether `penstock view` has served this page; a file, or a page elsewhere, has its own points only. */
export function served(place: Pick<Location, "protocol" | "hostname"> = location): boolean {
  return place.protocol === "http:" && place.hostname === "127.0.0.1";
}

/** The part around what is wanted, with its series; null if nobody answers. */
export async function ask(wanted: Wanted, signal: AbortSignal): Promise<Part | null> {
  const span = wanted.to - wanted.from;
  const [from, to] = [wanted.from - span, wanted.to + span];
  const query = new URLSearchParams({ metric: wanted.metric, from: String(from), to: String(to), points: String(POINTS) });
  for (const name of wanted.names) query.append("entity", name);
  try {
    const answer = await fetch(`levels?${query}`, { signal });
    return answer.ok ? { ...wanted, from, to, set: setOf(wanted.metric, await answer.json()) } : null;
  } catch {
    return null;
  }
}

interface Answer {
  series: Record<string, { time_ns: number[]; value: (number | null)[] }>;
}

/** The series of an answer: each value holds until the next, as in a page that was thinned out. */
export function setOf(metric: string, answer: Answer): SeriesSet {
  const columns: [string, Cell[]][] = [["metric", []], ["entity", []], ["time_ns", []], ["value", []]];
  const [metrics, entities, times, values] = columns.map(([, cells]) => cells) as [Cell[], Cell[], Cell[], Cell[]];
  for (const [name, series] of Object.entries(answer.series)) {
    for (const [at, time] of series.time_ns.entries()) {
      metrics.push(metric);
      entities.push(name);
      times.push(time);
      values.push(series.value[at] ?? null);
    }
  }
  return new SeriesSet(new Table(columns), metric, true);
}

/** Values on other times: at each the last value that is not later. */
export function held(x: Float64Array, values: Float64Array, on: Float64Array): Float64Array {
  let at = 0;
  return on.map((time) => {
    while (at + 1 < x.length && x[at + 1]! <= time) at++;
    return values[at] ?? 0;
  });
}
