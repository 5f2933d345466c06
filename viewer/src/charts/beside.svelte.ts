/**
 * Pages side by side share their axes and colors: each page reports the ranges and the entities of its charts here, and
 * `penstock view`, which shows all pages in frames, returns those of all pages together.
 */
interface Told {
  /** From where to where each axis goes. */
  reach: Record<string, readonly [number, number]>;
  /** By chart, what it shows at first. */
  lines: Record<string, readonly string[]>;
}

class Beside {
  readonly own: Told = { reach: {}, lines: {} };
  reach: Told["reach"] = $state.raw({});
  private lines: Told["lines"] = $state.raw({});

  constructor() {
    Object.assign(window, { penstock: this.own });
    addEventListener("penstock-beside", (event) => {
      const { reach, lines } = (event as CustomEvent<Told>).detail;
      this.reach = reach;
      if (JSON.stringify(lines) !== JSON.stringify(this.lines)) this.lines = lines;
    });
  }

  /** From where to where an axis goes that has to show from `min` to `max`. */
  share(axis: string, min: number, max: number): [number, number] {
    this.own.reach[axis] = [min, max];
    const [low, high] = this.reach[axis] ?? [min, max];
    return [Math.min(min, low), Math.max(max, high)];
  }

  /** What a chart shows that would show `names`, by colors: what two pages have is alike in both. */
  slots(chart: string, names: readonly string[], colors: number, has: (name: string) => boolean): (string | null)[] {
    this.own.lines[chart] = names;
    const slots = Array<string | null>(colors).fill(null);
    for (const [at, name] of (this.lines[chart] ?? names).entries()) {
      const free = slots.findIndex((_, slot) => slots[(at + slot) % colors] === null);
      if (free >= 0 && has(name)) slots[(at + free) % colors] = name;
    }
    return slots;
  }
}

export const beside = new Beside();
