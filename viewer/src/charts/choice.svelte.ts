/** The colors of a chart, as names in app.css. No two charts of the page share one. */
export type Colors = readonly string[];

/** Colors of series. */
export function series(first: number, count: number): Colors {
  return Array.from({ length: count }, (_, at) => `series-${first + at}`);
}

/** Which entities a chart shows. Each keeps its color until it is taken out. */
export class Choice {
  slots: (string | null)[] = $state([]);
  readonly colors: Colors;
  private readonly changed: (choice: Choice) => void;

  constructor(names: readonly (string | null)[], colors: Colors, changed: (choice: Choice) => void = () => undefined) {
    this.colors = colors;
    this.changed = changed;
    this.slots = Array.from(colors, (_, slot) => names[slot] ?? null);
  }

  get shown(): { name: string; color: string }[] {
    return this.slots.flatMap((name, slot) => (name === null ? [] : [{ name, color: flows.choice?.colorOf(name) ?? this.colors[slot]! }]));
  }

  get full(): boolean {
    return !this.slots.includes(null);
  }

  has(name: string): boolean {
    return this.slots.includes(name);
  }

  colorOf(name: string): string | undefined {
    return this.colors[this.slots.indexOf(name)];
  }

  toggle(name: string): void {
    const own = this.slots.indexOf(name);
    const slot = own >= 0 ? own : this.slots.indexOf(null);
    if (slot >= 0) this.slots[slot] = own >= 0 ? null : name;
    this.changed(this);
  }

  /** The names by their colors, as a part of an address. */
  get text(): string {
    return this.slots.map((name) => (name ?? "").replaceAll("%", "%25").replaceAll(",", "%2C")).join(",").replace(/,+$/, "");
  }
}

/** What the chart of throughput shows: flows have the colors that they have there in all charts. */
export const flows: { choice: Choice | null } = $state({ choice: null });

/** What `text` says, without what is not there. */
export function namesOf(text: string, known: (name: string) => boolean): (string | null)[] {
  return text.split(",").map((one) => {
    const name = one.replaceAll("%2C", ",").replaceAll("%25", "%");
    return known(name) ? name : null;
  });
}
