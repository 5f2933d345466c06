/** How late frames and transfers were: curves that the report has counted. */
export interface Latency {
  /** How many flows have a distribution; those with the longest tails are here. */
  flows: number;
  ns: number[];
  /** By flow the part of its frames that took at least as long. */
  above: [flow: string, parts: number[]][];
}

export interface SizeBin {
  transfers: number;
  bytes_max: number;
  p50: number;
  p95: number;
  p99: number;
  mean: number;
}

/** The complete transfers of an entry of the scenario. */
export interface Slowdown {
  name: string;
  begun: number;
  complete: number;
  slowdown: Record<string, number>;
  bins: SizeBin[];
  /** Of transfers of one size: the part of them that had at most such a slowdown. */
  steps: { slowdown: number[]; share: number[] } | null;
}

export interface Delays {
  latency: Latency | null;
  slowdown: Slowdown[];
}

/** From the document, or of one of before there were any. */
export function readDelays(value: unknown): Delays {
  const told = (value ?? {}) as { latency?: { flows: number; ns: number[]; above: Record<string, number[]> }; slowdown?: Slowdown[] };
  const { flows = 0, ns = [], above = {} } = told.latency ?? {};
  return {
    latency: ns.length > 0 ? { flows, ns, above: Object.entries(above) } : null,
    slowdown: (told.slowdown ?? []).map((one) => ({ ...one, steps: one.steps ?? null })),
  };
}
