import { describe, expect, it } from "vitest";
import { bytes, count, counted, formatted, instant, listed, seconds, share, si, unitOf } from "./format";

describe("numbers", () => {
  it("take the prefix that leaves one to three digits", () => {
    expect(si(9.42e9, "b/s")).toBe("9.42 Gb/s");
    expect(si(1e10, "b/s")).toBe("10 Gb/s");
    expect(si(999_700_000, "b/s")).toBe("1 Gb/s");
    expect(si(0, "b/s")).toBe("0 b/s");
    expect(si(12, "b/s")).toBe("12 b/s");
  });

  it("never write a rounded thousand", () => {
    for (let value = 1; value < 1e13; value *= 1.0137) expect(si(value, "B")).not.toMatch(/^1,000 [kMGT]/);
  });

  it("scale time", () => {
    expect(seconds(0)).toBe("0 s");
    expect(seconds(1.5e-6)).toBe("1.5 µs");
    expect(seconds(0.0123)).toBe("12.3 ms");
    expect(seconds(214)).toBe("214 s");
    expect(instant(2_345_678)).toBe("2.345678 ms");
  });

  it("keep bytes and counts exact while they are small", () => {
    expect(bytes(999)).toBe("999 B");
    expect(bytes(121_760)).toBe("119 KiB");
    expect([bytes(65_536), bytes(1_048_570), bytes(3 * 2 ** 30)]).toEqual(["64 KiB", "1 MiB", "3 GiB"]);
    expect(count(131_072)).toBe("131,072");
    expect(count(1.84e9)).toBe("1.84 G");
  });

  it("do not round a small share to nothing", () => {
    expect(share(0.00001)).toBe("< 0.1 %");
    expect(share(0)).toBe("0.0 %");
    expect(share(1)).toBe("100 %");
  });

  it("show a dash for what is not there", () => {
    expect(formatted(null, "bps")).toBe("–");
    expect(formatted(Number.NaN, "ns")).toBe("–");
  });
});

describe("units of columns", () => {
  it("come last in the name", () => {
    expect(unitOf("throughput_bps")).toBe("bps");
    expect(unitOf("latency_p99_ns")).toBe("ns");
    expect(unitOf("paused_s")).toBe("s");
    expect(unitOf("queue_bytes_max")).toBe("bytes");
    expect(unitOf("bytes")).toBe("bytes");
    expect(unitOf("frames_sent")).toBe("count");
    expect(unitOf("headroom_violations")).toBe("count");
    expect(unitOf("utilisation")).toBe("share");
    expect(unitOf("jain")).toBe("plain");
    expect(unitOf("class")).toBe("plain");
  });

  it("come from the description otherwise", () => {
    expect(unitOf("speed", "bit/s")).toBe("bps");
    expect(unitOf("age", "ns")).toBe("ns");
  });
});

describe("words", () => {
  it("agree with their number", () => {
    expect(counted(1, "switch", "switches")).toBe("1 switch");
    expect(counted(1024, "host")).toBe("1,024 hosts");
    expect(listed(["a", "b", "c"])).toBe("a, b and c");
    expect(listed([])).toBe("");
  });
});
