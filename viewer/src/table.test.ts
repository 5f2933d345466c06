import { describe, expect, it } from "vitest";
import { Table } from "./table";

const table = new Table([
  ["flow", ["h10", "h2", "h1"]],
  ["rate", [1, null, 3]],
]);

describe("Table", () => {
  it("sorts text naturally and numbers by size, with nulls last both ways", () => {
    expect(table.sorted("flow", false)).toEqual([2, 1, 0]);
    expect(table.sorted("rate", false)).toEqual([0, 2, 1]);
    expect(table.sorted("rate", true)).toEqual([2, 0, 1]);
  });

  it("finds rows that hold every word", () => {
    expect(table.matching("H1")).toEqual([0, 2]);
    expect(table.matching("h1 3")).toEqual([2]);
    expect(table.matching("  ")).toEqual([0, 1, 2]);
  });

  it("writes CSV with quotes where they are needed", () => {
    const quoted = new Table([["name, long", ['say "hi"', "plain"]]]);
    expect(quoted.csv()).toBe('"name, long"\n"say ""hi"""\nplain\n');
    expect(table.csv([1])).toBe("flow,rate\nh2,\n");
  });

  it("tells no number from zero", () => {
    expect(table.sum("rate")).toBe(4);
    expect(new Table<string>([["rate", [4]]]).sum("missing")).toBeNull();
    expect(Table.empty.rowOfMax("rate")).toBeNull();
    expect(table.rowOfMax("rate")).toBe(2);
  });

  it("knows sums and counts of rows that the page leaves out", () => {
    const totals = { rows: 90, sums: new Map([["n", 1234]]), aboveZero: new Map([["n", 77]]) };
    const table = new Table([["n", [3, 0]], ["m", [1, 0]]], totals);
    expect([table.rows, table.all, table.sum("n"), table.sum("m"), table.aboveZero("n"), table.aboveZero("m")]).toEqual([2, 90, 1234, 1, 77, 1]);
    const whole = new Table([["n", [3, 0]]]);
    expect([whole.all, whole.sum("n"), whole.aboveZero("n")]).toEqual([2, 3, 1]);
  });
});
