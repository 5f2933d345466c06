import { describe, expect, it } from "vitest";
import { held, HOLDERS, mostHeld } from "./held";
import { type Cell, Table } from "./table";

function table(rows: readonly (readonly (number | null)[])[]): Table {
  const columns = HOLDERS.map(([column], at): [string, Cell[]] => [column, rows.map((row) => row[at]!)]);
  return new Table([["flow", rows.map((_, row) => `f${row}`)], ...columns]);
}

describe("what held connections back", () => {
  it("is known of those over TCP alone", () => {
    const found = held(table([[0.5, 0, 0.25, 0.25, 0], [null, null, null, null, null], [0, 1, 0, 0, 0]]));
    expect(found).toEqual([
      { flow: "f0", shares: [0.5, 0, 0.25, 0.25, 0] },
      { flow: "f2", shares: [0, 1, 0, 0, 0] },
    ]);
    expect(held(Table.empty)).toEqual([]);
  });

  it("puts first who waited least for its application", () => {
    const found = mostHeld(held(table([[0.9, 0.1, 0, 0, 0], [0, 0, 0, 1, 0], [0.4, 0, 0, 0, 0.6]])));
    expect(found.map((one) => one.flow)).toEqual(["f1", "f2", "f0"]);
  });
});
