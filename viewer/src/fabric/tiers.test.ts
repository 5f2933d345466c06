import { describe, expect, it } from "vitest";
import * as fixtures from "../../test/fixtures.mjs";
import { blocks, each, everyNth, hit, hostsOf, place, readFabric } from "./tiers";

const big = readFabric(fixtures.big().fabric);

describe("tiers", () => {
  it("have all links of the fabric, and its hosts", () => {
    expect(big.map((tier) => tier.ends.map((end) => end.name))).toEqual([
      ["agg -> core", "core -> agg"],
      ["edge -> agg", "agg -> edge"],
      ["host -> edge", "edge -> host"],
    ]);
    expect(big.map((tier) => tier.low.length)).toEqual([1024, 1024, 1024]);
    expect(new Set(hostsOf(big)).size).toBe(1024);
  });

  it("are empty where nothing is told", () => {
    for (const nothing of [undefined, null, 3, {}, { nodes: [], tiers: [] }]) expect(readFabric(nothing)).toEqual([]);
  });

  it("have every cell inside the picture and under the pointer", () => {
    for (const width of [360, 860, 1200]) {
      const cells = place(big, width);
      for (const strip of cells.strips) {
        let links = 0;
        each(strip, (link, x, y) => {
          links++;
          expect(x).toBeGreaterThanOrEqual(0);
          expect(x + strip.wide).toBeLessThanOrEqual(width + 0.01);
          expect(y + strip.high).toBeLessThanOrEqual(cells.height);
          const own = hit(cells, x + strip.wide / 2, y + strip.high / 2);
          expect(own?.strip === strip && own.link).toBe(link);
        });
        expect(links).toBe(1024);
      }
    }
    expect(hit(place(big, 1200), 5, 5)).toBeNull();
  });

  it("have blocks that hold their links", () => {
    for (const [largest, pitch] of [[1, 9], [8, 8.6], [16, 2.1], [64, 1100], [1000, 300]] as const) {
      const { columns, rows, wide, high } = blocks(largest, pitch);
      expect(columns * rows).toBeGreaterThanOrEqual(largest);
      expect(columns * wide).toBeLessThanOrEqual(pitch);
      expect(rows * high).toBeLessThanOrEqual(72.01);
    }
  });

  it("name as many blocks as have room", () => {
    expect([everyNth(100, 50), everyNth(30, 50), everyNth(2, 50), everyNth(0.3, 50)]).toEqual([1, 2, 50, 200]);
  });
});
