import { SERIES_COLOURS } from "../theme.svelte";

/** Which entities a chart shows. Each keeps its colour until it is taken out. */
export class Choice {
  slots: (string | null)[] = $state([]);

  constructor(names: readonly string[]) {
    this.slots = Array.from({ length: SERIES_COLOURS }, (_, slot) => names[slot] ?? null);
  }

  get shown(): { name: string; slot: number }[] {
    return this.slots.flatMap((name, slot) => (name === null ? [] : [{ name, slot }]));
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

  set(names: readonly string[]): void {
    this.slots = Array.from({ length: SERIES_COLOURS }, (_, slot) => names[slot] ?? null);
  }
}
