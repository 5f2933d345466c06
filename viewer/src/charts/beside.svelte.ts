/**
 * Pages side by side share their axes: each tells here how far its charts reach, and `penstock view`, whose page has
 * all of them in frames, says how far those of any of them do.
 */
export type Reach = readonly [number, number];

class Beside {
  /** By axis, of this page. */
  readonly own: Record<string, Reach> = {};
  /** Of all pages. */
  all: Record<string, Reach> = $state.raw({});

  constructor() {
    Object.assign(window, { penstockReach: this.own });
    addEventListener("penstock-reach", (event) => (this.all = (event as CustomEvent<Record<string, Reach>>).detail));
  }

  /** From where to where an axis goes that has to show from `min` to `max`. */
  share(axis: string, min: number, max: number): [number, number] {
    this.own[axis] = [min, max];
    const [low, high] = this.all[axis] ?? [min, max];
    return [Math.min(min, low), Math.max(max, high)];
  }
}

export const beside = new Beside();
