/** Congestion trees and deadlocks: who paused whom because of whom, ready to be drawn. */
import type { TableOf } from "./table";

export interface Edge {
  depth: number;
  /** The queue that was full (port, slash, class); empty when a host sent the pauses. */
  queue: string;
  sentBy: string;
  port: string;
  priority: string;
  pauses: number;
  pausedNs: number;
  firstNs: number;
  lastNs: number;
}

export interface Part {
  flow: string;
  culprit: boolean;
  share: number;
  pausedNs: number;
  pausedAt: string;
}

export interface Tree {
  number: number;
  root: string;
  why: string;
  edges: Edge[];
  culprits: Part[];
  /** Longest paused first. */
  victims: Part[];
}

export interface Deadlock {
  number: number;
  closedNs: number;
  endedNs: number | null;
  /** Each waits for the next, the last for the first. */
  queues: { name: string; frames: number }[];
}

export function readTrees(congestion: TableOf<"congestion">, flows: TableOf<"congestion_flows">): Tree[] {
  const trees = new Map<number, Tree>();
  for (const row of congestion.rowNumbers()) {
    const number = congestion.number("tree", row) ?? 0;
    let tree = trees.get(number);
    if (!tree) {
      tree = { number, root: congestion.text("root", row), why: congestion.text("why", row), edges: [], culprits: [], victims: [] };
      trees.set(number, tree);
    }
    tree.edges.push({
      depth: congestion.number("depth", row) ?? 1,
      queue: congestion.text("queue", row),
      sentBy: congestion.text("sent_by", row),
      port: congestion.text("port", row),
      priority: congestion.text("priority", row),
      pauses: congestion.number("pauses", row) ?? 0,
      pausedNs: congestion.number("paused_ns", row) ?? 0,
      firstNs: congestion.number("first_ns", row) ?? 0,
      lastNs: congestion.number("last_ns", row) ?? 0,
    });
  }
  for (const row of flows.rowNumbers()) {
    const tree = trees.get(flows.number("tree", row) ?? 0);
    const part = flows.text("part", row);
    const culprit = part === "culprit";
    // Those upstream pass the root, but had no frame there: neither its culprits nor its victims.
    if (part === "upstream") continue;
    (culprit ? tree?.culprits : tree?.victims)?.push({
      flow: flows.text("flow", row),
      culprit,
      share: flows.number("share", row) ?? 0,
      pausedNs: flows.number("paused_ns", row) ?? 0,
      pausedAt: flows.text("paused_at", row),
    });
  }
  const found = [...trees.values()].sort((a, b) => a.number - b.number);
  for (const tree of found) tree.victims.sort((a, b) => b.pausedNs - a.pausedNs);
  return found;
}

export function readDeadlocks(table: TableOf<"deadlocks">): Deadlock[] {
  const deadlocks = new Map<number, Deadlock>();
  for (const row of table.rowNumbers()) {
    const number = table.number("deadlock", row) ?? 0;
    let deadlock = deadlocks.get(number);
    if (!deadlock) {
      deadlock = { number, closedNs: table.number("closed_ns", row) ?? 0, endedNs: table.number("ended_ns", row), queues: [] };
      deadlocks.set(number, deadlock);
    }
    deadlock.queues.push({ name: `${table.text("port", row)}/${table.text("class", row)}`, frames: table.number("frames", row) ?? 0 });
  }
  return [...deadlocks.values()].sort((a, b) => a.number - b.number);
}

/** What happened at a root, after its name. */
export function whyWords(why: string): string {
  switch (why) {
    case "oversubscribed":
      return "was oversubscribed";
    case "slow_receiver":
      return "was blocked by a slow receiver";
    case "link_down":
      return "was down";
    case "crossbar":
      return "was limited by the crossbar";
    case "round_trip":
      return "lacked credits for a round trip";
    default:
      return "filled up";
  }
}

export function portOf(queue: string): string {
  const slash = queue.lastIndexOf("/");
  return slash < 0 ? queue : queue.slice(0, slash);
}

/** The edge that stopped the port of this edge's queue; null next to the root. */
export function parent(tree: Tree, edge: Edge): Edge | null {
  if (edge.depth <= 1) return null;
  const port = portOf(edge.queue);
  let found: Edge | null = null;
  for (const other of tree.edges) {
    if (other.depth === edge.depth - 1 && other.port === port && (!found || other.pausedNs > found.pausedNs)) found = other;
  }
  return found;
}

export interface Placed {
  edge: Edge;
  /** Column and line of the paused port, and of where its pauses came from. */
  column: number;
  line: number;
  fromColumn: number;
  fromLine: number;
}

export interface Drawing {
  placed: Placed[];
  rootLine: number;
  columns: number;
  lines: number;
  /** Edges left out because others stopped their ports longer. */
  hidden: number;
}

/** Columns by depth; the ends of the tree below each other, what leads to them half-way between. */
export function place(tree: Tree, most: number): Drawing {
  const kept = keep(tree, most);
  const below = new Map<Edge | null, Edge[]>();
  for (const edge of kept) {
    const above = parent(tree, edge);
    const own = below.get(above);
    if (own) own.push(edge);
    else below.set(above, [edge]);
  }
  const lineOf = new Map<Edge, number>();
  let lines = 0;
  const settle = (edge: Edge): number => {
    const under = (below.get(edge) ?? []).map(settle);
    const line = under.length > 0 ? (under[0]! + under[under.length - 1]!) / 2 : lines++;
    lineOf.set(edge, line);
    return line;
  };
  const tops = (below.get(null) ?? []).map(settle);
  const rootLine = tops.length > 0 ? (tops[0]! + tops[tops.length - 1]!) / 2 : 0;
  const placed = kept.map((edge): Placed => {
    const above = parent(tree, edge);
    return {
      edge,
      column: above ? edge.depth : 1,
      line: lineOf.get(edge) ?? 0,
      fromColumn: above ? edge.depth - 1 : 0,
      fromLine: above ? (lineOf.get(above) ?? 0) : rootLine,
    };
  });
  return { placed, rootLine, columns: placed.reduce((deepest, one) => Math.max(deepest, one.column), 1), lines: Math.max(1, lines), hidden: tree.edges.length - kept.length };
}

/** The edges with the longest pauses, each with all that leads to it, in the order of the table. */
function keep(tree: Tree, most: number): Edge[] {
  const kept = new Set<Edge>();
  for (const edge of [...tree.edges].sort((a, b) => b.pausedNs - a.pausedNs)) {
    const way: Edge[] = [];
    for (let at: Edge | null = edge; at && !kept.has(at); at = parent(tree, at)) way.push(at);
    if (kept.size + way.length <= most) way.forEach((one) => kept.add(one));
  }
  return tree.edges.filter((edge) => kept.has(edge));
}
