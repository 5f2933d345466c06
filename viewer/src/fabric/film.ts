/** The fabric over time: what each port did in each stretch of the run, a character each. */

/** What a port did in one stretch. */
export interface Still {
  /** The step of its utilisation; -1 where it is not known. */
  use: number;
  /** Share of the stretch that it was paused, and of the longest queue of the run that waited at it: 0 to 1. */
  paused: number;
  queued: number;
  /** Frames that it marked, as a share of the most that a port marked in any stretch. */
  marked: number;
}

const LEVELS = 9;

export class Film {
  readonly stretchNs: number;
  readonly stretches: number;
  readonly queueBytesMax: number;
  readonly marksMax: number;
  private readonly places: ReadonlyMap<string, number>;
  private readonly used: readonly string[];
  private readonly paused: readonly string[];
  private readonly queued: readonly string[];
  private readonly marked: readonly string[];

  constructor(film: Record<string, unknown>) {
    const texts = (name: string): string[] => (Array.isArray(film[name]) ? film[name].map(String) : []);
    this.stretchNs = Number(film["stretch_ns"]) || 0;
    this.queueBytesMax = Number(film["queue_bytes_max"]) || 0;
    this.marksMax = Number(film["marks_max"]) || 0;
    this.places = new Map(texts("ports").map((name, place) => [name, place]));
    [this.used, this.paused, this.queued, this.marked] = [texts("used"), texts("paused"), texts("queued"), texts("marked")];
    this.stretches = this.stretchNs > 0 ? this.used.length : 0;
  }

  /** The place of a port; -1 if it is not in the film. */
  place(port: string): number {
    return this.places.get(port) ?? -1;
  }

  /** What the port of a place did in a stretch. */
  still(place: number, stretch: number): Still {
    const level = (of: readonly string[]): number => Number(of[stretch]?.[place] ?? 0) / LEVELS;
    const use = this.used[stretch]?.[place] ?? "-";
    return { use: use === "-" ? -1 : Number(use), paused: level(this.paused), queued: level(this.queued), marked: level(this.marked) };
  }

  /** Whether anything waited or was paused at any time: what the legend speaks of. */
  get anyPaused(): boolean {
    return this.paused.some((line) => /[1-9]/.test(line));
  }
  get anyQueued(): boolean {
    return this.queued.some((line) => /[1-9]/.test(line));
  }
}

/** The film of a document; null if it has none, or less than two stretches. */
export function readFilm(fabric: unknown): Film | null {
  const film = typeof fabric === "object" && fabric !== null ? (fabric as Record<string, unknown>)["film"] : null;
  if (typeof film !== "object" || film === null) return null;
  const read = new Film(film as Record<string, unknown>);
  return read.stretches > 1 ? read : null;
}
