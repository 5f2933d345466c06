/** Places a small fabric in layers: hosts at the bottom, the switches furthest from them at the top. */
import type { Node, Topology } from "../schema";
import { natural } from "../table";

export interface PlacedNode {
  name: string;
  role: string;
  x: number;
  y: number;
  width: number;
  height: number;
  label: string;
  kind: "switch" | "host";
}

export interface PlacedLink {
  /** Index into the topology's links. */
  index: number;
  x1: number;
  y1: number;
  x2: number;
  y2: number;
  /** How far a link within a layer bows, or parallel links part; zero is a straight line. */
  bend: number;
}

export interface Layout {
  width: number;
  height: number;
  nodes: PlacedNode[];
  links: PlacedLink[];
}

const MARGIN = 14;
const LABEL_CHARACTER = 6.6;
const MIN_HOST_PITCH = 34;
const GAP = 104;
const MOST_NODES = 40;
const MOST_LINKS = 160;

/** Whether the fabric can be drawn as nodes and links, with names, in this width. */
export function fits(topology: Topology, width: number): boolean {
  const layers = orderedLayers(topology);
  const hosts = layers[layers.length - 1]?.length ?? 0;
  return topology.allLinks <= MOST_LINKS && Math.max(0, ...layers.map((layer) => layer.length)) <= MOST_NODES && hosts * MIN_HOST_PITCH <= width;
}

export function layout(topology: Topology, width: number): Layout {
  const layers = orderedLayers(topology);
  const at = new Map<string, PlacedNode>();
  let y = 30 + bowRoom(topology, layers);
  layers.forEach((layer, depth) => {
    placeRow(layer, MARGIN, width - MARGIN, y, (node) => at.set(node.name, node));
    if (depth < layers.length - 1) y += GAP;
  });
  return { width, height: y + 44, nodes: [...at.values()], links: placeLinks(topology, at) };
}

/** Layers from top to bottom, each in an order that keeps links short. */
export function orderedLayers(topology: Topology): Node[][] {
  const neighbours = adjacency(topology);
  const level = levels(topology, neighbours);
  const numbers = [...new Set(topology.nodes.map((node) => level.get(node.name)!))].sort((a, b) => b - a);
  const layers = numbers.map((number) => topology.nodes.filter((node) => level.get(node.name) === number).sort((a, b) => natural(a.name, b.name)));
  // Up: each switch over the middle of what it connects; then the lowest layer gathers under its switches. Sorting the
  // middle layers downwards as well would tear the pods of a fat tree apart. Ties keep the order of the names.
  for (let depth = layers.length - 2; depth >= 0; depth--) layers[depth] = gathered(layers[depth]!, layers[depth + 1]!, neighbours);
  const lowest = layers.length - 1;
  if (lowest > 0) layers[lowest] = gathered(layers[lowest]!, layers[lowest - 1]!, neighbours);
  return layers;
}

/** A layer sorted by the mean position of each node's neighbours in the layer beside it. */
function gathered(layer: readonly Node[], beside: readonly Node[], neighbours: ReadonlyMap<string, string[]>): Node[] {
  const position = new Map(beside.map((node, index) => [node.name, index]));
  const middle = new Map<string, number>();
  layer.forEach((node, index) => {
    const places = (neighbours.get(node.name) ?? []).map((name) => position.get(name)).filter((place) => place !== undefined);
    const mean = places.length > 0 ? places.reduce((a, b) => a + b, 0) / places.length : (index / layer.length) * beside.length;
    middle.set(node.name, mean);
  });
  return [...layer].sort((a, b) => middle.get(a.name)! - middle.get(b.name)! || natural(a.name, b.name));
}

/** The level of every node, hosts lowest: as given, or by distance from the hosts where it is not. */
function levels(topology: Topology, neighbours: ReadonlyMap<string, string[]>): Map<string, number> {
  const given = topology.nodes.every((node) => node.level !== null);
  const level = new Map<string, number>();
  if (given) {
    const mean = (nodes: Node[]): number => nodes.reduce((sum, node) => sum + node.level!, 0) / Math.max(nodes.length, 1);
    const hosts = topology.nodes.filter((node) => node.role === "host");
    const others = topology.nodes.filter((node) => node.role !== "host");
    const sign = hosts.length > 0 && others.length > 0 && mean(hosts) > mean(others) ? -1 : 1;
    for (const node of topology.nodes) level.set(node.name, sign * node.level!);
    return level;
  }
  let edge = topology.nodes.filter((node) => node.role === "host").map((node) => node.name);
  for (let distance = 0; edge.length > 0; distance++) {
    for (const name of edge) level.set(name, distance);
    edge = [...new Set(edge.flatMap((name) => neighbours.get(name) ?? []))].filter((name) => !level.has(name));
  }
  for (const node of topology.nodes) if (!level.has(node.name)) level.set(node.name, 1);
  return level;
}

function adjacency(topology: Topology): Map<string, string[]> {
  const neighbours = new Map<string, string[]>(topology.nodes.map((node) => [node.name, []]));
  for (const { a, b } of topology.links) {
    neighbours.get(a)?.push(b);
    neighbours.get(b)?.push(a);
  }
  return neighbours;
}

function placeRow(layer: readonly Node[], left: number, right: number, y: number, place: (node: PlacedNode) => void): void {
  const pitch = (right - left) / Math.max(layer.length, 1);
  layer.forEach((node, index) => {
    const host = node.role === "host";
    const room = Math.max(2, pitch - 10);
    const wanted = host ? 22 : Math.max(40, node.name.length * LABEL_CHARACTER + 18);
    place({
      name: node.name,
      role: node.role,
      x: left + (index + 0.5) * pitch,
      y,
      width: Math.min(room, wanted),
      height: host ? 22 : 26,
      label: node.name,
      kind: host ? "host" : "switch",
    });
  });
}

function placeLinks(topology: Topology, at: ReadonlyMap<string, PlacedNode>): PlacedLink[] {
  const parallel = new Map<string, number>();
  const rows = new Map<number, number[]>();
  for (const node of at.values()) {
    const row = rows.get(node.y);
    if (row) row.push(node.x);
    else rows.set(node.y, [node.x]);
  }
  const links: PlacedLink[] = [];
  topology.links.forEach((link, index) => {
    const a = at.get(link.a);
    const b = at.get(link.b);
    if (!a || !b) return;
    const key = [link.a, link.b].sort().join("\0");
    const before = parallel.get(key) ?? 0;
    parallel.set(key, before + 1);
    links.push({ index, x1: a.x, y1: a.y, x2: b.x, y2: b.y, bend: bend(a, b, before, between(a, b, rows)) });
  });
  return links;
}

/** Whether a link within a layer would run through another node. */
function between(a: PlacedNode, b: PlacedNode, rows: ReadonlyMap<number, number[]>): boolean {
  const [low, high] = [Math.min(a.x, b.x), Math.max(a.x, b.x)];
  return a.y === b.y && rows.get(a.y)!.some((x) => x > low && x < high);
}

/** Parallel links part to both sides; a link that would run through other nodes goes over them. */
function bend(a: PlacedNode, b: PlacedNode, before: number, over: boolean): number {
  const apart = before === 0 ? 0 : Math.ceil(before / 2) * 14 * (before % 2 === 1 ? 1 : -1);
  return apart + (over ? -Math.min(60, 20 + Math.abs(a.x - b.x) / 16) : 0);
}

/** Room above the first layer for links that bow over it (the closing link of a ring). */
function bowRoom(topology: Topology, layers: readonly Node[][]): number {
  const top = new Set((layers[0] ?? []).map((node) => node.name));
  return topology.links.some((link) => top.has(link.a) && top.has(link.b)) ? 40 : 0;
}
