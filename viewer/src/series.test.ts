import { describe, expect, it } from "vitest";
import { belongs, readWatermarks, SeriesSet, watermarksFor } from "./series";
import { Table, type Cell } from "./table";

function series(rows: [string, string, number, number | null][]): Table {
  const column = (index: number): Cell[] => rows.map((row) => row[index]!);
  return new Table([["metric", column(0)], ["entity", column(1)], ["time_ns", column(2)], ["value", rows.map((row) => row[3])]]);
}

const table = series([
  ["rate", "a", 0, 1],
  ["rate", "a", 10, 2],
  ["rate", "b", 10, 5],
  ["rate", "b", 20, null],
  ["other", "a", 15, 9],
]);

describe("SeriesSet", () => {
  const set = new SeriesSet(table, "rate");

  it("puts all entities on one grid and closes the last bin", () => {
    expect([...set.x]).toEqual([0, 10, 20, 30]);
    expect(set.binNs).toBe(10);
    expect([...set.of("a")]).toEqual([1, 2, 0, 0]);
    expect([...set.of("b")]).toEqual([0, 5, 0, 0]);
    expect([...set.sum()]).toEqual([1, 7, 0, 0]);
    expect([...set.mean()]).toEqual([0.5, 3.5, 0, 0]);
  });

  it("orders entities by what they carried", () => {
    expect(set.entities.map((entity) => entity.name)).toEqual(["b", "a"]);
    expect(set.entities[0]).toEqual({ name: "b", mean: 5 / 3, max: 5 });
  });

  it("holds values where the series was thinned out", () => {
    const thinned = new SeriesSet(series([["m", "a", 0, 4], ["m", "b", 10, 1], ["m", "a", 30, 2], ["m", "b", 30, 3]]), "m", true);
    expect([...thinned.of("a")]).toEqual([4, 4, 2, 2]);
    expect([...thinned.of("b")]).toEqual([0, 1, 3, 3]);
  });

  it("is empty without its metric, and whole with one bin", () => {
    const none = new SeriesSet(table, "nothing");
    expect(none.points).toBe(0);
    expect(none.x.length).toBe(0);
    expect(none.sum().length).toBe(0);
    expect([...new SeriesSet(series([["m", "a", 5, 1]]), "m").x]).toEqual([5, 6]);
  });
});

describe("watermarks", () => {
  const marks = readWatermarks(
    new Table([
      ["entity", ["q", "q", "r", "q"]],
      ["watermark", ["xoff", "limit", "xoff", "xon"]],
      ["value", [66, 400, 66, 1522]],
      ["unit", ["frames", "frames", "frames", "bytes"]],
    ]),
  );

  it("of a port hold for its queues and for no other port", () => {
    expect(belongs("sw.3->h3", "sw.3->h3")).toBe(true);
    expect(belongs("sw.3->h3", "sw.3->h3 p3")).toBe(true);
    expect(belongs("sw.3->h3", "sw.3->h31")).toBe(false);
    expect(belongs("sw.3->h3", "sw.3->h3.1")).toBe(false);
  });

  it("are drawn once, in their unit, and named apart when far above", () => {
    const { drawn, above } = watermarksFor(marks, ["q", "r"], "frames", 80);
    expect(drawn.map((mark) => mark.name)).toEqual(["xoff"]);
    expect(above.map((mark) => mark.name)).toEqual(["limit"]);
    expect(watermarksFor(marks, ["q"], "bytes", 1000).drawn.map((mark) => mark.value)).toEqual([1522]);
    expect(watermarksFor(marks, ["z"], "frames", 80).drawn).toEqual([]);
  });
});
