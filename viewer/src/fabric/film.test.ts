import { describe, expect, it } from "vitest";
import { readFilm } from "./film";

const film = { stretch_ns: 1000, ports: ["a", "b"], used: ["50", "-3"], paused: ["09", "00"], queued: ["90", "41"], queue_bytes_max: 7, marked: ["09", "00"], marks_max: 30 };

describe("the fabric over time", () => {
  it("knows each port in each stretch", () => {
    const read = readFilm({ film })!;
    expect(read.stretches).toBe(2);
    expect(read.still(read.place("a"), 0)).toEqual({ use: 5, paused: 0, queued: 1, marked: 0 });
    expect(read.still(read.place("b"), 0)).toEqual({ use: 0, paused: 1, queued: 0, marked: 1 });
    expect(read.still(read.place("a"), 1)).toEqual({ use: -1, paused: 0, queued: 4 / 9, marked: 0 });
    expect(read.anyPaused && read.anyQueued).toBe(true);
  });
  it("says of a port that it does not know that nothing is known", () => {
    const read = readFilm({ film })!;
    expect(read.place("c")).toBe(-1);
    expect(read.still(-1, 0)).toEqual({ use: -1, paused: 0, queued: 0, marked: 0 });
  });
  it("is none without stretches, or with damaged ones", () => {
    for (const fabric of [undefined, null, {}, { film: null }, { film: {} }, { film: { ...film, used: ["50"] } }, { film: { ...film, stretch_ns: "x" } }, { film: 3 }]) {
      expect(readFilm(fabric)).toBeNull();
    }
  });
});
