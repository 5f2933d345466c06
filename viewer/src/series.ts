/**
 * Time series out of the long `series` table: one row a bin, entity and metric.
 *
 * All entities of one metric share one grid of bins. A bin that was not written counts as zero: nothing was
 * delivered in it, nothing was waiting. Not so in a series that was thinned out for this page: there it holds the
 * value before it. Values are only laid out for the entities that are drawn.
 */
import { natural, type TableOf } from "./table";

export interface Entity {
  name: string;
  mean: number;
  max: number;
}

export class SeriesSet {
  /** Starts of the bins, and one more entry for the end of the last. */
  readonly x: Float64Array;
  /** Largest mean first, then in natural order. */
  readonly entities: readonly Entity[];
  readonly binNs: number;
  readonly points: number;

  private readonly rows: ReadonlyMap<string, readonly number[]>;
  private readonly binOfRow: Uint32Array;
  private readonly values: readonly unknown[];
  readonly metric: string;
  readonly thinned: boolean;

  constructor(table: TableOf<"series">, metric: string, thinned = false, wanted: (entity: string) => boolean = () => true) {
    this.metric = metric;
    this.thinned = thinned;
    const metrics = table.column("metric");
    const names = table.column("entity");
    const times = table.column("time_ns");
    this.values = table.column("value");

    const rows = new Map<string, number[]>();
    const starts = new Set<number>();
    let points = 0;
    for (let row = 0; row < table.rows; row++) {
      const time = times[row];
      if (metrics[row] !== metric || typeof time !== "number") continue;
      const name = String(names[row] ?? "");
      if (!wanted(name)) continue;
      const own = rows.get(name);
      if (own) own.push(row);
      else rows.set(name, [row]);
      starts.add(time);
      points++;
    }
    const grid = Float64Array.from(starts).sort();
    this.binNs = binWidth(grid);
    this.x = new Float64Array(grid.length + (grid.length > 0 ? 1 : 0));
    this.x.set(grid);
    if (grid.length > 0) this.x[grid.length] = grid[grid.length - 1]! + this.binNs;

    const indexOf = new Map<number, number>();
    grid.forEach((time, bin) => indexOf.set(time, bin));
    this.binOfRow = new Uint32Array(table.rows);
    for (const own of rows.values()) for (const row of own) this.binOfRow[row] = indexOf.get(times[row] as number)!;
    this.rows = rows;
    this.points = points;
    this.entities = [...rows].map(([name, own]) => this.summary(name, own, grid.length)).sort((a, b) => b.mean - a.mean || natural(a.name, b.name));
  }

  /** In the order of the document. */
  get names(): string[] {
    return [...this.rows.keys()];
  }

  has(entity: string): boolean {
    return this.rows.has(entity);
  }

  /** The values of one entity on the grid; the last one is repeated to close its bin. */
  of(entity: string): Float64Array {
    const out = new Float64Array(this.x.length);
    this.addTo(out, this.rows.get(entity) ?? []);
    return closed(out);
  }

  /** The largest entities, as many as can be drawn at once without holding up the page. */
  many(): Float64Array[] {
    const most = Math.max(1, Math.floor(4e6 / Math.max(this.x.length, 1)));
    return this.entities.slice(0, most).map((entity) => this.of(entity.name));
  }

  /** The sum over all entities, bin by bin. */
  sum(): Float64Array {
    const out = new Float64Array(this.x.length);
    for (const own of this.rows.values()) this.addTo(out, own);
    return closed(out);
  }

  /** The mean over all entities, bin by bin. */
  mean(): Float64Array {
    return this.sum().map((value) => value / this.rows.size);
  }

  private addTo(out: Float64Array, rows: readonly number[]): void {
    rows.forEach((row, index) => {
      const value = this.values[row];
      if (typeof value !== "number") return;
      const bin = this.binOfRow[row]!;
      const next = rows[index + 1];
      const end = !this.thinned ? bin + 1 : next === undefined ? out.length - 1 : this.binOfRow[next]!;
      for (let held = bin; held < end; held++) out[held]! += value;
    });
  }

  private summary(name: string, rows: readonly number[], bins: number): Entity {
    let sum = 0;
    let max = 0;
    for (const row of rows) {
      const value = this.values[row];
      if (typeof value !== "number") continue;
      sum += value;
      if (value > max) max = value;
    }
    const over = this.thinned ? rows.length : bins;
    return { name, mean: over > 0 ? sum / over : 0, max };
  }
}

function closed(values: Float64Array): Float64Array {
  if (values.length > 1) values[values.length - 1] = values[values.length - 2]!;
  return values;
}

/** The smallest step of the grid: bins that nobody wrote leave larger ones. */
function binWidth(grid: Float64Array): number {
  let width = Infinity;
  for (let bin = 1; bin < grid.length; bin++) width = Math.min(width, grid[bin]! - grid[bin - 1]!);
  return Number.isFinite(width) ? width : 1;
}

export interface Watermark {
  entity: string;
  name: string;
  value: number;
  unit: "bytes" | "frames";
}

export function readWatermarks(table: TableOf<"watermarks">): Watermark[] {
  const marks: Watermark[] = [];
  for (let row = 0; row < table.rows; row++) {
    const value = table.number("value", row);
    if (value === null) continue;
    const unit = table.text("unit", row).startsWith("frame") ? "frames" : "bytes";
    marks.push({ entity: table.text("entity", row), name: table.text("watermark", row), value, unit });
  }
  return marks;
}

/** The node of a queue: "edge0.1" of "edge0.1.3->h5/0". */
export function nodeOf(queue: string): string {
  const port = queue.split("->")[0]!;
  return port.slice(0, Math.max(0, port.lastIndexOf(".")));
}

/** A watermark of a port holds for its queues, which are named after it: "sw.3->h3" for "sw.3->h3 p3", not for "sw.3->h31". */
export function belongs(mark: string, entity: string): boolean {
  return mark === entity || (entity.startsWith(mark) && /^[^\w.-]/.test(entity.slice(mark.length)));
}

export interface DrawnMark extends Watermark {
  /** The one entity of several shown that it holds for, or null. */
  alone: string | null;
}

/** The different watermarks of the entities shown: equal ones once, those far above the picture apart. */
export function watermarksFor(
  marks: readonly Watermark[],
  shown: readonly string[],
  unit: Watermark["unit"],
  highest: number,
): { drawn: DrawnMark[]; above: Watermark[] } {
  const seen = new Map<string, DrawnMark>();
  for (const mark of marks) {
    const own = shown.filter((entity) => belongs(mark.entity, entity));
    // What headroom is needed is no level but an amount above xoff.
    if (mark.unit !== unit || own.length === 0 || mark.name === "headroom_needed") continue;
    const key = `${mark.name} ${mark.value}`;
    const before = seen.get(key);
    const alone = own.length === 1 && shown.length > 1 ? own[0]! : null;
    if (!before) seen.set(key, { ...mark, alone });
    else if (before.alone !== alone) before.alone = null;
  }
  const different = [...seen.values()];
  // Beyond three times the highest fill, a line would press the curves flat.
  const reach = Math.max(highest * 3, 1);
  return {
    drawn: different.filter((mark) => mark.value <= reach),
    above: different.filter((mark) => mark.value > reach),
  };
}
