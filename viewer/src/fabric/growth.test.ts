import { describe, expect, it } from "vitest";
import type { Tree } from "../trees";
import { readFilm } from "./film";
import { grown } from "./growth";

const film = readFilm({
  film: { stretch_ns: 1000, ports: ["r", "a", "b"], used: ["555", "555", "555", "555"], paused: ["000", "090", "099", "000"], queued: ["000", "000", "000", "000"], queue_bytes_max: 1 },
})!;
const edge = (port: string, depth: number, firstNs: number, lastNs: number) => ({ depth, queue: "r/0", sentBy: "x", port, priority: "0", pauses: 1, pausedNs: 1, firstNs, lastNs });
const tree: Tree = { number: 1, root: "r/0", why: "oversubscribed", edges: [edge("b", 2, 2100, 2900), edge("a", 1, 1100, 3500)], culprits: [], victims: [] };

describe("a tree over time", () => {
  const ports = (stretch: number): string[] => grown([tree], film, stretch).flatMap((one) => one.ports);
  it("grows from its root, and is gone when nobody is paused", () => {
    expect([0, 1, 2, 3].map(ports)).toEqual([[], ["a"], ["a", "b"], []]);
    expect(grown([tree], film, 2)[0]).toMatchObject({ root: "r", place: 0 });
  });
  it("does not claim pauses before its first or after its last", () => {
    expect(grown([{ ...tree, edges: [edge("a", 1, 2000, 2900)] }], film, 1)).toEqual([]);
    expect(grown([{ ...tree, edges: [edge("a", 1, 0, 1900)] }], film, 2)).toEqual([]);
  });
});
