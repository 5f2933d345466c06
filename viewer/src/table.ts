/** A result table as columns, as it comes in the document. Missing columns and cells read as null. */

import type { Tables } from "./columns";

export type Cell = number | string | boolean | null;

/** Columns that Python adds to a table for this page. */
interface Added {
  flows: { demand_bps: number };
}

export type TableName = keyof Tables;

type AddedTo<Name extends TableName> = Name extends keyof Added ? keyof Added[Name] : never;

/** Columns of a declared table; the compiler refuses the name of any other. */
export type ColumnOf<Name extends TableName> = (keyof Tables[Name] | AddedTo<Name>) & string;

/** A declared table. */
export type TableOf<Name extends TableName> = Table<ColumnOf<Name>>;

/** What is known of all rows of a table of which the page has some. */
export interface Totals {
  rows: number;
  sums: ReadonlyMap<string, number>;
  aboveZero: ReadonlyMap<string, number>;
}

export class Table<Column extends string = string> {
  static readonly empty = new Table([]);

  readonly columns: readonly string[];
  readonly rows: number;
  /** How many rows the result has; a page of a large one has fewer. */
  readonly all: number;
  private readonly totals: Totals | null;
  private readonly cells: ReadonlyMap<string, readonly Cell[]>;

  constructor(columns: [Column, Cell[]][], totals: Totals | null = null) {
    this.columns = columns.map(([name]) => name);
    this.rows = columns.reduce((most, [, cells]) => Math.max(most, cells.length), 0);
    this.totals = totals;
    this.all = totals?.rows ?? this.rows;
    this.cells = new Map(columns);
  }

  cell(column: Column, row: number): Cell {
    return this.cells.get(column)?.[row] ?? null;
  }

  /** A whole column, for loops over many rows; empty when it is not there. */
  column(name: Column): readonly Cell[] {
    return this.cells.get(name) ?? [];
  }

  number(column: Column, row: number): number | null {
    const value = this.cells.get(column)?.[row];
    return typeof value === "number" && Number.isFinite(value) ? value : null;
  }

  text(column: Column, row: number): string {
    return this.written(column, row);
  }

  /** The sum of a column; null when there is no number in it, which is not the same as zero. */
  sum(column: Column): number | null {
    const known = this.totals?.sums.get(column);
    if (known !== undefined) return known;
    let sum: number | null = null;
    for (let row = 0; row < this.rows; row++) {
      const value = this.number(column, row);
      if (value !== null) sum = (sum ?? 0) + value;
    }
    return sum;
  }

  /** Rows whose number in a column is above zero, also of those that the page leaves out. */
  aboveZero(column: Column): number {
    return this.totals?.aboveZero.get(column) ?? this.rowNumbers().filter((row) => (this.number(column, row) ?? 0) > 0).length;
  }

  /** The row with the largest number in a column; null when there is none. */
  rowOfMax(column: Column): number | null {
    let best: number | null = null;
    let most = -Infinity;
    for (let row = 0; row < this.rows; row++) {
      const value = this.number(column, row);
      if (value !== null && value > most) [best, most] = [row, value];
    }
    return best;
  }

  /** Row numbers in the order of a column: numbers by size, text by its natural order ("h2" before "h10"), nulls last. */
  sorted(column: Column, descending: boolean, rows: readonly number[] = this.rowNumbers()): number[] {
    const sign = descending ? -1 : 1;
    return [...rows].sort((a, b) => compare(this.cell(column, a), this.cell(column, b), sign) || a - b);
  }

  /** Row numbers in which some cell contains every word of the query, whatever its case. */
  matching(query: string, columns: readonly string[] = this.columns): number[] {
    const words = query.toLowerCase().split(/\s+/).filter((word) => word !== "");
    if (words.length === 0) return this.rowNumbers();
    return this.rowNumbers().filter((row) => {
      const line = columns.map((column) => this.written(column, row)).join("\t").toLowerCase();
      return words.every((word) => line.includes(word));
    });
  }

  /** Comma-separated text of the given rows and columns, with the exact values, quoted after RFC 4180. */
  csv(rows: readonly number[] = this.rowNumbers(), columns: readonly string[] = this.columns): string {
    const lines = rows.map((row) => columns.map((column) => quoted(this.written(column, row))).join(","));
    return [columns.map(quoted).join(","), ...lines].join("\n") + "\n";
  }

  private written(column: string, row: number): string {
    const value = this.cells.get(column)?.[row] ?? null;
    return value === null ? "" : String(value);
  }

  rowNumbers(): number[] {
    return Array.from({ length: this.rows }, (_, row) => row);
  }
}

const collator = new Intl.Collator("en", { numeric: true });

/** Text in its natural order: "h2" before "h10". */
export function natural(a: string, b: string): number {
  return collator.compare(a, b);
}

function compare(a: Cell, b: Cell, sign: number): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  if (typeof a === "number" && typeof b === "number") return sign * (a - b);
  return sign * natural(String(a), String(b));
}

function quoted(value: string): string {
  return /[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}
