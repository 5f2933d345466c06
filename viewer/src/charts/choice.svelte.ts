/** The colours of a chart: the first, and how many. No two charts of the page share one. */
export interface Colours {
  first: number;
  count: number;
}

/** Which entities a chart shows. Each keeps its colour until it is taken out. */
export class Choice {
  slots: (string | null)[] = $state([]);
  readonly colours: Colours;

  constructor(names: readonly string[], colours: Colours) {
    this.colours = colours;
    this.slots = Array.from({ length: colours.count }, (_, slot) => names[slot] ?? null);
  }

  get shown(): { name: string; slot: number }[] {
    return this.slots.flatMap((name, slot) => (name === null ? [] : [{ name, slot: this.colours.first + slot }]));
  }

  get full(): boolean {
    return !this.slots.includes(null);
  }

  has(name: string): boolean {
    return this.slots.includes(name);
  }

  toggle(name: string): void {
    const own = this.slots.indexOf(name);
    const slot = own >= 0 ? own : this.slots.indexOf(null);
    if (slot >= 0) this.slots[slot] = own >= 0 ? null : name;
  }
}
