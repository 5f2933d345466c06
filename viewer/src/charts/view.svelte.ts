/** The time shown: one zoom and one cursor for all charts on the time axis. */
export class TimeView {
  readonly start: number;
  readonly end: number;
  from: number = $state(0);
  to: number = $state(0);
  cursor: number | null = $state(null);

  constructor(start: number, end: number) {
    this.start = start;
    this.end = end > start ? end : start + 1;
    this.from = this.start;
    this.to = this.end;
  }

  get zoomed(): boolean {
    return this.from > this.start || this.to < this.end;
  }

  /** Shows a part of the run; never less than a billionth of it and never outside it. */
  show(from: number, to: number): void {
    const least = (this.end - this.start) * 1e-9;
    if (!(to - from > least)) return;
    const span = Math.min(to - from, this.end - this.start);
    const start = Math.min(Math.max(from, this.start), this.end - span);
    this.from = start;
    this.to = start + span;
  }

  /** Zooms by a factor about the middle. */
  scale(factor: number): void {
    const middle = (this.from + this.to) / 2;
    const half = ((this.to - this.from) / 2) * factor;
    this.show(middle - half, middle + half);
  }

  /** Moves by a share of what is shown. */
  move(share: number): void {
    const by = (this.to - this.from) * share;
    this.show(this.from + by, this.to + by);
  }

  reset(): void {
    this.from = this.start;
    this.to = this.end;
  }
}
