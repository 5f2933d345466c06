import { describe, expect, it } from "vitest";
import type { Run } from "../schema";
import { Table } from "../table";
import { readMoments } from "./moments";
import { spread } from "./spread";

const run = { simulatedS: 0.01, measuredS: 0.01 } as Run;

describe("moments", () => {
  const faults = new Table([
    ["time_ns", [0, 3000, 2000, 3000]],
    ["what", ["bit_errors_begin", "link_up", "link_down", "restart"]],
    ["where", ["a<->b", "a<->b", "a<->b", "sw"]],
  ]);

  it("are faults in order of time, those at once together, none from the start", () => {
    expect(readMoments(faults, run)).toEqual([
      { timeNs: 2000, text: "a<->b down" },
      { timeNs: 3000, text: "a<->b up and 1 more" },
    ]);
  });

  it("begin with the end of the warm-up", () => {
    const found = readMoments(Table.empty, { ...run, measuredS: 0.008 });
    expect(found.map((moment) => [Math.round(moment.timeNs), moment.text])).toEqual([[2_000_000, "warmup ends"]]);
  });
});

describe("names of watermarks", () => {
  it("keep their distance and stay in the picture", () => {
    expect(spread([10, 50], 13, 0, 100)).toEqual([10, 50]);
    expect(spread([10, 12, 14], 13, 0, 100)).toEqual([10, 23, 36]);
    expect(spread([96, 98, 99], 13, 0, 100)).toEqual([74, 87, 100]);
    expect(spread([], 13, 0, 100)).toEqual([]);
  });
});
