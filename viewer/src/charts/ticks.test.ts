import { describe, expect, it } from "vitest";
import { logTicks } from "./ticks";

describe("ticks of a logarithmic axis", () => {
  it("are powers, with 2 and 5 times those of ten where there is room", () => {
    expect(logTicks(3e3, 3e5, 8, 10)).toEqual([5e3, 1e4, 2e4, 5e4, 1e5, 2e5]);
    expect(logTicks(0.0008, 1, 6, 10)).toEqual([0.001, 0.01, 0.1, 1]);
    expect(logTicks(1000, 2 ** 23, 7, 2)).toEqual([1024, 4096, 16384, 65536, 2 ** 18, 2 ** 20, 2 ** 22]);
    expect(logTicks(1, 1e12, 5, 10)).toEqual([1, 1e3, 1e6, 1e9, 1e12]);
  });

  it("are equal steps on a short stretch", () => {
    expect(logTicks(15.4, 20.1, 5, 10)).toEqual([16, 17, 18, 19, 20]);
    expect(logTicks(1, 1.26, 6, 10)).toEqual([1, 1.05, 1.1, 1.15, 1.2, 1.25]);
  });

  it("are at most one more than there is room for", () => {
    for (const base of [2, 10] as const) {
      for (let max = 1.2; max < 1e15; max *= 1.7) {
        for (const most of [2, 4, 9]) expect(logTicks(1, max, most, base).length, `${max} ${most} ${base}`).toBeLessThanOrEqual(most + 1);
      }
    }
  });
});
