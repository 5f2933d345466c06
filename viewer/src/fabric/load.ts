/** What each direction of each link carried: the ports table joined to the links of the topology. */
import type { Topology } from "../schema";
import type { TableOf } from "../table";

export interface PortLoad {
  port: string;
  node: string;
  peer: string;
  utilisation: number | null;
  queueBytesMax: number | null;
  drops: number;
  pausedS: number;
  pausesSent: number;
}

export interface LinkLoad {
  /** What `a` sends to `b`, and the other way; null when the ports table does not have it. */
  ab: PortLoad | null;
  ba: PortLoad | null;
}

export interface Loads {
  links: LinkLoad[];
  byNode: Map<string, PortLoad[]>;
}

export function loads(topology: Topology, ports: TableOf<"ports">): Loads {
  const byPair = new Map<string, PortLoad[]>();
  const byNode = new Map<string, PortLoad[]>();
  for (let row = 0; row < ports.rows; row++) {
    const port: PortLoad = {
      port: ports.text("port", row),
      node: ports.text("node", row),
      peer: ports.text("peer", row),
      utilisation: ports.number("utilisation", row),
      queueBytesMax: ports.number("queue_bytes_max", row),
      drops: ports.number("drops", row) ?? 0,
      pausedS: ports.number("paused_s", row) ?? 0,
      pausesSent: ports.number("pauses_sent", row) ?? 0,
    };
    push(byPair, `${port.node}\0${port.peer}`, port);
    push(byNode, port.node, port);
  }
  // Parallel links take the ports between their two nodes in turn, in the order of both tables.
  const taken = new Map<string, number>();
  const next = (from: string, to: string): PortLoad | null => {
    const key = `${from}\0${to}`;
    const index = taken.get(key) ?? 0;
    taken.set(key, index + 1);
    return byPair.get(key)?.[index] ?? null;
  };
  return { links: topology.links.map(({ a, b }) => ({ ab: next(a, b), ba: next(b, a) })), byNode };
}

/** The busier direction. */
export function busiest(link: LinkLoad): number | null {
  const values = [link.ab?.utilisation, link.ba?.utilisation].filter((value) => value !== null && value !== undefined);
  return values.length > 0 ? Math.max(...values) : null;
}

/** Steps of the color scale: the step of a utilisation, 0 for idle to 5 for full; -1 for unknown. */
export const STEPS = [0.001, 0.25, 0.5, 0.75, 0.95] as const;

export function step(utilisation: number | null): number {
  if (utilisation === null) return -1;
  const above = STEPS.findIndex((limit) => utilisation < limit);
  return above === -1 ? STEPS.length : above;
}

function push(map: Map<string, PortLoad[]>, key: string, port: PortLoad): void {
  const own = map.get(key);
  if (own) own.push(port);
  else map.set(key, [port]);
}
