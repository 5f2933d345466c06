import { describe, expect, it } from "vitest";
import { Table, type Cell } from "./table";
import { parent, place, portOf, readDeadlocks, readTrees, type Tree } from "./trees";

function table(columns: Record<string, Cell[]>): Table {
  return new Table(Object.entries(columns));
}

/** leaf1 is full; it stops spine0, which stops leaf0, which stops two hosts; and a host of its own. */
function tree(): Tree {
  const [found] = readTrees(
    table({
      tree: [1, 1, 1, 1, 1],
      root: Array<Cell>(5).fill("leaf1.2->h3/0"),
      why: Array<Cell>(5).fill("oversubscribed"),
      depth: [1, 1, 2, 3, 3],
      queue: ["leaf1.2->h3/0", "leaf1.2->h3/0", "spine0.1->leaf1/0", "leaf0.0->spine0/0", "leaf0.0->spine0/0"],
      sent_by: ["leaf1.0->spine0", "leaf1.3->h2", "spine0.0->leaf0", "leaf0.1->h0", "leaf0.2->h1"],
      port: ["spine0.1->leaf1", "h2.0->leaf1", "leaf0.0->spine0", "h0.0->leaf0", "h1.0->leaf0"],
      priority: [0, 0, 0, 0, 0],
      pauses: [5, 4, 3, 2, 1],
      paused_ns: [500, 400, 300, 200, 100],
      first_ns: [1, 2, 3, 4, 5],
      last_ns: [9, 9, 9, 9, 9],
    }),
    table({
      tree: [1, 1, 1, 1],
      flow: ["a", "on its way", "small", "big"],
      part: ["culprit", "upstream", "victim", "victim"],
      share: [1, 0, 0, 0],
      paused_ns: [200, 50, 10, 200],
      paused_at: ["h0.0->leaf0", "h0.0->leaf0", "h1.0->leaf0", "h0.0->leaf0"],
    }),
  );
  return found!;
}

describe("trees", () => {
  it("knows culprits and victims, the longest paused first", () => {
    expect(tree().culprits.map((part) => part.flow)).toEqual(["a"]);
    expect(tree().victims.map((part) => part.flow)).toEqual(["big", "small"]);
  });
  it("finds the edge that an edge follows from", () => {
    const one = tree();
    expect(parent(one, one.edges[0]!)).toBeNull();
    expect(parent(one, one.edges[2]!)).toBe(one.edges[0]);
    expect(parent(one, one.edges[4]!)).toBe(one.edges[2]);
  });
  it("puts the ends below each other and what leads to them between", () => {
    const { placed, rootLine, columns, lines, hidden } = place(tree(), 24);
    expect(placed.map((one) => [one.column, one.line])).toEqual([[1, 0.5], [1, 2], [2, 0.5], [3, 0], [3, 1]]);
    expect([rootLine, columns, lines, hidden]).toEqual([1.25, 3, 3, 0]);
    expect(placed[3]!.fromLine).toBe(0.5);
  });
  it("keeps the longest with all that leads to them", () => {
    const { placed, hidden } = place(tree(), 3);
    expect(placed.map((one) => one.edge.port)).toEqual(["spine0.1->leaf1", "h2.0->leaf1", "leaf0.0->spine0"]);
    expect(hidden).toBe(2);
  });
  it("draws nothing of nothing", () => {
    expect(readTrees(Table.empty, Table.empty)).toEqual([]);
    expect(place({ ...tree(), edges: [] }, 9).placed).toEqual([]);
  });
});

describe("deadlocks", () => {
  it("lists the queues of each circle in order", () => {
    const rows = { deadlock: [1, 1], closed_ns: [5, 5], ended_ns: [null, null], port: ["a.0->b", "b.0->a"], class: [3, 3], frames: [7, 8] };
    expect(readDeadlocks(table(rows))).toEqual([
      { number: 1, closedNs: 5, endedNs: null, queues: [{ name: "a.0->b/3", frames: 7 }, { name: "b.0->a/3", frames: 8 }] },
    ]);
  });
  it("finds the port of a queue", () => {
    expect([portOf("a.0->b/3"), portOf("")]).toEqual(["a.0->b", ""]);
  });
});
