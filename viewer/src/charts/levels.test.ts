import { describe, expect, it } from "vitest";
import { covers, fine, held, served, setOf } from "./levels";

const part = { metric: "m", names: ["a", "b"], from: 0, to: 90, set: setOf("m", { series: {} }) };

describe("parts of series", () => {
  it("cover a view of some of their series within their time", () => {
    expect(covers(part, { metric: "m", names: ["b"], from: 10, to: 40 })).toBe(true);
    expect(covers(part, { metric: "m", names: ["c"], from: 10, to: 40 })).toBe(false);
    expect(covers(part, { metric: "n", names: ["a"], from: 10, to: 40 })).toBe(false);
    expect(covers(part, { metric: "m", names: ["a"], from: 10, to: 91 })).toBe(false);
    expect(covers(null, { metric: "m", names: [], from: 0, to: 1 })).toBe(false);
  });

  it("are fine until the view is a sixth of them", () => {
    expect(fine(part, { metric: "m", names: ["a"], from: 10, to: 25 })).toBe(true);
    expect(fine(part, { metric: "m", names: ["a"], from: 10, to: 24 })).toBe(false);
  });

  it("hold values until the next", () => {
    const set = setOf("m", { series: { a: { time_ns: [0, 10, 30], value: [1, null, 3] }, b: { time_ns: [10, 20], value: [5, 6] } } });
    expect([...set.x]).toEqual([0, 10, 20, 30, 40]);
    expect([...set.of("b")]).toEqual([0, 5, 6, 6, 6]);
    expect([...set.of("a")].slice(3)).toEqual([3, 3]);
    expect([...held(Float64Array.of(0, 10, 20), Float64Array.of(7, 8, 9), Float64Array.of(5, 10, 19, 40))]).toEqual([7, 8, 8, 9]);
  });

  it("are asked of penstock view alone", () => {
    expect(served({ protocol: "http:", hostname: "127.0.0.1" })).toBe(true);
    expect(served({ protocol: "file:", hostname: "" })).toBe(false);
    expect(served({ protocol: "https:", hostname: "pages.example" })).toBe(false);
  });
});
