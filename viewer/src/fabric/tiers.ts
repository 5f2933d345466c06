/** A large fabric as cells: a strip for each tier and direction, in it a block a switch, in that a cell a link. */

export interface End {
  /** From layer to layer, as "host -> leaf". */
  name: string;
  /** In thousandths; -1 where it is not known. */
  utilisation: readonly number[];
  paused: readonly number[];
  drops: readonly number[];
  /** The place of each port in the film, if there is one. */
  ports: readonly number[];
}

export interface Tier {
  groups: readonly string[];
  /** Links of each group, which follow each other. */
  sizes: readonly number[];
  low: readonly string[];
  high: readonly string[];
  /** What the low ends sent, and what the high ends sent. */
  ends: readonly [End, End];
}

/** One direction of one tier, placed. */
export interface Strip {
  tier: Tier;
  end: number;
  x: number;
  y: number;
  pitch: number;
  columns: number;
  rows: number;
  wide: number;
  high: number;
  /** Whether the names of its blocks stand below it. */
  named: boolean;
}

export interface Cells {
  width: number;
  height: number;
  strips: Strip[];
}

export interface Hit {
  strip: Strip;
  link: number;
}

const LEFT = 100;
const MOST_HIGH = 72;
const LARGEST = 18;
const STRIP_GAP = 8;
const NAMES = 20;

export function place(tiers: readonly Tier[], width: number): Cells {
  const left = width < 600 ? 0 : LEFT;
  const strips: Strip[] = [];
  let y = 0;
  for (const tier of tiers) {
    const pitch = (width - left) / tier.groups.length;
    const shape = blocks(Math.max(...tier.sizes), pitch);
    for (const end of [0, 1]) {
      if (left === 0) y += NAMES; // the name of a strip stands above it
      strips.push({ tier, end, x: left, y, pitch, ...shape, named: end === 1 });
      y += shape.rows * shape.high + STRIP_GAP;
    }
    y += NAMES;
  }
  return { width, height: y, strips };
}

/** The largest cells with which blocks of so many fit their pitch, in few rows. */
export function blocks(largest: number, pitch: number): { columns: number; rows: number; wide: number; high: number } {
  let best = { columns: 1, rows: largest, wide: 0, high: 0 };
  for (let columns = 1; columns <= largest; columns++) {
    const rows = Math.ceil(largest / columns);
    const wide = Math.min(LARGEST, pitch / (columns + 0.4));
    const high = Math.min(LARGEST, MOST_HIGH / rows);
    const [size, before] = [Math.min(wide, high), Math.min(best.wide, best.high)];
    if (size > before || (size === before && rows < best.rows)) best = { columns, rows, wide, high };
  }
  return best;
}

/** Calls `draw` for each link of a strip with the place of its cell. */
export function each(strip: Strip, draw: (link: number, x: number, y: number) => void): void {
  let link = 0;
  strip.tier.sizes.forEach((size, group) => {
    for (let nth = 0; nth < size; nth++) {
      draw(link++, strip.x + group * strip.pitch + (nth % strip.columns) * strip.wide, strip.y + Math.floor(nth / strip.columns) * strip.high);
    }
  });
}

/** The link under a point. */
export function hit({ strips }: Cells, x: number, y: number): Hit | null {
  for (const strip of strips) {
    const row = Math.floor((y - strip.y) / strip.high);
    const group = Math.floor((x - strip.x) / strip.pitch);
    if (row < 0 || row >= strip.rows || group < 0 || group >= strip.tier.sizes.length) continue;
    const column = Math.floor((x - strip.x - group * strip.pitch) / strip.wide);
    const nth = row * strip.columns + column;
    if (column >= strip.columns || nth >= strip.tier.sizes[group]!) return null;
    return { strip, link: strip.tier.sizes.slice(0, group).reduce((a, b) => a + b, 0) + nth };
  }
  return null;
}

/** Every how many blocks one is named: names of this width must not touch. */
export function everyNth(pitch: number, wide: number): number {
  for (let power = 1; ; power *= 10) for (const n of [power, 2 * power, 5 * power]) if (n * pitch >= wide) return n;
}

/** Every host that has a link. */
export function hostsOf(tiers: readonly Tier[]): string[] {
  return tiers.filter((tier) => tier.ends[0].name.startsWith("host ->")).flatMap((tier) => tier.low);
}

export function readFabric(value: unknown): Tier[] {
  const fabric = object(value);
  const names = list(fabric["nodes"]).map(String);
  const named = (of: unknown): string[] => list(of).map((number) => names[Number(number)] ?? "");
  return list(fabric["tiers"]).map((one) => {
    const tier = object(one);
    const [up, down] = list(tier["ends"]).map(readEnd);
    const nothing = readEnd({});
    return { groups: named(tier["groups"]), sizes: numbers(tier["sizes"]), low: named(tier["low"]), high: named(tier["high"]), ends: [up ?? nothing, down ?? nothing] };
  });
}

function readEnd(value: unknown): End {
  const end = object(value);
  return { name: String(end["name"] ?? ""), utilisation: numbers(end["utilisation"]), paused: numbers(end["paused"]), drops: numbers(end["drops"]), ports: numbers(end["ports"]) };
}

function numbers(value: unknown): number[] {
  return list(value).map(Number);
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function object(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}
