import { describe, expect, it } from "vitest";
import * as fixtures from "../../test/fixtures.mjs";
import type { Topology } from "../schema";
import { Table } from "../table";
import { fits, layout, orderedLayers } from "./layout";
import { busiest, loads, step } from "./load";

const names = (topology: Topology): string[][] => orderedLayers(topology).map((layer) => layer.map((node) => node.name));

describe("layers", () => {
  it("put hosts at the bottom, under their switch", () => {
    const layers = names(fixtures.leafSpine().topology as Topology);
    expect(layers[0]).toEqual(["spine0", "spine1"]);
    expect(layers[1]).toEqual(["leaf0", "leaf1", "leaf2", "leaf3"]);
    expect(layers[2]!.slice(0, 5)).toEqual(["h0", "h1", "h2", "h3", "h4"]);
  });

  it("turn levels that count from the top", () => {
    const topology = fixtures.leafSpine().topology as Topology;
    const turned = { ...topology, nodes: topology.nodes.map((node) => ({ ...node, level: 2 - node.level! })) };
    expect(names(turned)).toEqual(names(topology));
  });

  it("find levels that are not given", () => {
    const topology = fixtures.leafSpine().topology as Topology;
    expect(names({ ...topology, nodes: topology.nodes.map((node) => ({ ...node, level: null })) })).toEqual(names(topology));
  });

  it("keep the pods of a fat tree together", () => {
    const layers = names(fixtures.big().topology as Topology);
    expect(layers.map((layer) => layer.length)).toEqual([64, 128, 128, 1024]);
    expect(layers[1]!.slice(0, 9)).toEqual([...Array.from({ length: 8 }, (_, index) => `agg0.${index}`), "agg1.0"]);
  });
});

describe("layout", () => {
  it("places every node inside the picture, whatever the size", () => {
    for (const make of [fixtures.small, fixtures.ring, fixtures.leafSpine]) {
      for (const width of [320, 760, 1200]) {
        const topology = make().topology as Topology;
        const picture = layout(topology, width);
        expect(picture.nodes).toHaveLength(topology.nodes.length);
        for (const node of picture.nodes) {
          expect(node.x - node.width / 2).toBeGreaterThanOrEqual(0);
          expect(node.x + node.width / 2).toBeLessThanOrEqual(width + 1);
          expect(node.y + node.height / 2).toBeLessThanOrEqual(picture.height);
        }
      }
    }
  });

  it("is for fabrics whose nodes have room for their names", () => {
    const fit = (made: { topology: object }, width: number): boolean => {
      const topology = made.topology as Topology;
      return fits({ ...topology, allLinks: topology.links.length }, width);
    };
    expect(fit(fixtures.small(), 1200)).toBe(true);
    expect(fit(fixtures.leafSpine(), 1200)).toBe(true);
    expect(fit(fixtures.leafSpine(), 420)).toBe(false);
    expect(fit(fixtures.big(), 1200)).toBe(false);
  });

  it("parts parallel links and bows the closing link of a ring", () => {
    const picture = layout(fixtures.ring().topology as Topology, 1200);
    const bends = picture.links.filter((link) => link.y1 === link.y2).map((link) => link.bend);
    expect(bends.filter((bend) => bend === 0).length).toBe(3);
    expect(new Set(bends).size).toBe(3);
  });

  it("draws nothing from nothing", () => {
    expect(layout({ nodes: [], links: [], hosts: 0, switches: 0, allLinks: 0 }, 800).nodes).toEqual([]);
  });
});

describe("loads", () => {
  const links = [{ a: "x", b: "y", rateBps: 1, reverseRateBps: 1, delayNs: 1 }, { a: "y", b: "x", rateBps: 1, reverseRateBps: 1, delayNs: 1 }];
  const ports = new Table([
    ["port", ["x.0->y", "x.1->y", "y.0->x"]],
    ["node", ["x", "x", "y"]],
    ["peer", ["y", "y", "x"]],
    ["utilisation", [0.1, 0.9, 0.4]],
  ]);

  it("give parallel links their own ports in turn", () => {
    const both = loads({ nodes: [], links, hosts: 0, switches: 0, allLinks: links.length }, ports).links;
    expect([both[0]!.ab?.port, both[0]!.ba?.port]).toEqual(["x.0->y", "y.0->x"]);
    expect([both[1]!.ab?.port, both[1]!.ba?.port]).toEqual([undefined, "x.1->y"]);
    expect(busiest(both[0]!)).toBe(0.4);
  });

  it("have a step for every utilisation", () => {
    expect([null, 0, 0.1, 0.3, 0.6, 0.8, 1, 1.2].map(step)).toEqual([-1, 0, 1, 2, 3, 4, 5, 5]);
  });
});
