import { describe, expect, it } from "vitest";
import { linkTitle } from "./title";

const link = { a: "h0", b: "s0", rateBps: 100e9, reverseRateBps: 100e9, delayNs: 700 };

describe("the title of a link", () => {
  it("has one rate if both directions have it", () => {
    expect(linkTitle(link)).toBe("h0 – s0, 100 Gb/s, 700 ns long");
  });

  it("has the rate of each direction if they differ", () => {
    expect(linkTitle({ ...link, reverseRateBps: 25e9 })).toBe("h0 – s0, 100 Gb/s there and 25 Gb/s back, 700 ns long");
  });

  it("leaves out what is not known", () => {
    expect(linkTitle({ ...link, rateBps: null, reverseRateBps: null, delayNs: null })).toBe("h0 – s0");
  });
});
