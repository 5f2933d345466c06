/** The tables of the page: their order, and which columns each shows before the reader asks for all. */

export interface Shown {
  name: string;
  title: string;
  /** Empty: all columns. */
  main: readonly string[];
  /** What to say when the run has no such rows. */
  empty: string;
}

export const TABLES: readonly Shown[] = [
  {
    name: "flows",
    title: "Flows",
    main: ["flow", "class", "source", "destination", "demand_bps", "throughput_bps", "frames_delivered", "frames_dropped", "latency_mean_ns", "latency_p99_ns", "latency_max_ns"],
    empty: "This run had no flows.",
  },
  {
    name: "connections",
    title: "Connections",
    main: ["flow", "round_trips", "round_trip_min_ns", "round_trip_mean_ns", "round_trip_p99_ns", "round_trip_max_ns", "exchanges", "exchange_min_ns", "exchange_mean_ns", "exchange_p99_ns", "exchange_max_ns", "completed_ns"],
    empty: "This run had no connections: its sources send frames without responses.",
  },
  {
    name: "transfers",
    title: "Transfers",
    main: ["name", "source", "destination", "bytes", "start_ns", "completion_ns", "ideal_ns", "slowdown"],
    empty: "There are no transfers.",
  },
  {
    name: "classes",
    title: "Classes",
    main: ["class", "flows", "offered_bps", "throughput_bps", "frames_delivered", "frames_dropped", "latency_mean_ns", "latency_p99_ns", "jain"],
    empty: "This run had no traffic classes.",
  },
  {
    name: "ports",
    title: "Ports",
    main: ["port", "rate_bps", "utilisation", "frames_sent", "queue_bytes_mean", "queue_bytes_max", "drops", "pauses_sent", "pauses_received", "paused_s"],
    empty: "This run recorded no ports.",
  },
  {
    name: "queues",
    title: "Queues",
    main: ["port", "class", "frames", "wait_mean_ns", "wait_p99_ns", "wait_max_ns", "queue_bytes_mean", "queue_bytes_max", "queue_frames_max", "drops"],
    empty: "No queue carried a frame.",
  },
  { name: "pauses", title: "Pauses", main: [], empty: "No port was paused, or pauses were not recorded." },
  { name: "rate_limiters", title: "Rate limiters", main: [], empty: "No host had a rate limiter." },
  { name: "delay_variation", title: "Delay variation", main: [], empty: "No frames were recorded where they arrive: [[probes]] with what = \"frames\" chooses ports of receivers." },
  { name: "drops", title: "Drops", main: [], empty: "No frame was dropped." },
  { name: "faults", title: "Faults", main: [], empty: "There were no faults." },
];

/** "latency_p99_ns" -> "latency p99": the unit goes to the numbers, where it is scaled. */
export function heading(column: string): string {
  return column.replace(/_(bps|ns|s)$/, "").replaceAll("_", " ");
}

/** The columns to show: the main ones that exist, or all. */
export function visible(columns: readonly string[], main: readonly string[], all: boolean): readonly string[] {
  const known = main.filter((column) => columns.includes(column));
  return all || known.length === 0 ? columns : known;
}
