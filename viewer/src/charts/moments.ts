/** When something happened to the fabric: the end of the warm-up, faults that begin and end. */
import type { Run } from "../schema";
import type { TableOf } from "../table";

export interface Moment {
  timeNs: number;
  text: string;
}

/** In order of time; what happened at once is one moment. What is so from the start happens at no time. */
export function readMoments(faults: TableOf<"faults">, run: Run): Moment[] {
  const at = new Map<number, string[]>();
  const warmup = ((run.simulatedS ?? 0) - (run.measuredS ?? run.simulatedS ?? 0)) * 1e9;
  if (warmup > 0.5) at.set(warmup, ["warmup ends"]);
  for (const row of faults.rowNumbers()) {
    const time = faults.number("time_ns", row) ?? 0;
    if (time <= 0) continue;
    const what = faults.text("what", row).replace(/^link_/, "").replaceAll("_", " ");
    at.set(time, [...(at.get(time) ?? []), `${faults.text("where", row)} ${what}`]);
  }
  return [...at].sort(([a], [b]) => a - b).map(([timeNs, texts]) => ({ timeNs, text: texts.length === 1 ? texts[0]! : `${texts[0]} and ${texts.length - 1} more` }));
}
