import { describe, expect, it } from "vitest";
import { bars, intervalAt, readPauses } from "./pauses";
import { Table } from "./table";

const table = new Table([
  ["port", ["a", "b", "a", "a"]],
  ["priority", [3, 3, 3, 3]],
  ["start_ns", [100, 0, 10, 15]],
  ["end_ns", [null, 50, 20, 30]],
  ["reason", ["xoff", "target", "xoff", "xoff"]],
]);

describe("readPauses", () => {
  const rows = readPauses(table, 200);

  it("groups by port and priority, longest first, open pauses until the end", () => {
    expect(rows.map((row) => [row.label, row.totalNs])).toEqual([["a · 3", 120], ["b · 3", 50]]);
    expect(rows[0]!.intervals.map((interval) => interval.start)).toEqual([10, 15, 100]);
  });

  it("finds the pause at a time, or the nearest thin one", () => {
    expect(intervalAt(rows[1]!, 25, 0)?.reason).toBe("target");
    expect(intervalAt(rows[1]!, 60, 5)).toBeNull();
    expect(intervalAt(rows[1]!, 54, 5)?.end).toBe(50);
    expect(intervalAt(rows[0]!, 99, 3)?.start).toBe(100);
    expect(intervalAt(rows[0]!, 0, 3)).toBeNull();
  });

  it("has no rows without pauses", () => {
    expect(readPauses(Table.empty, 1)).toEqual([]);
  });
});

describe("bars", () => {
  it("join neighbours that no screen can tell apart", () => {
    const many = 100_000;
    const dense = new Table([
      ["port", Array.from({ length: many }, () => "p")],
      ["start_ns", Array.from({ length: many }, (_, index) => index * 10)],
      ["end_ns", Array.from({ length: many }, (_, index) => index * 10 + 5)],
    ]);
    const row = readPauses(dense, many * 10)[0]!;
    expect(bars(row, 0, many * 10, (time) => time / 1000)).toHaveLength(1);
    expect(bars(row, 0, 1000, (time) => time).length).toBe(101);
  });

  it("are cut to what is shown", () => {
    const row = readPauses(table, 200)[1]!;
    expect(bars(row, 10, 20, (time) => time)).toEqual([{ left: 10, right: 20, reason: "target" }]);
    expect(bars(row, 60, 70, (time) => time)).toEqual([]);
  });
});
