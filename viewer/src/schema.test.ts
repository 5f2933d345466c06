import { describe, expect, it } from "vitest";
import { parseReport, schemaMismatch, type Report } from "./schema";

function read(document: unknown): Report {
  const parsed = parseReport(JSON.stringify(document));
  if (!parsed.ok) throw new Error(parsed.message);
  return parsed.report;
}

describe("parseReport", () => {
  it("reads the least document there is", () => {
    const report = read({ schema: "penstock-report/1", run: { name: "x" } });
    expect(report.run.name).toBe("x");
    expect(report.run.complete).toBe(true);
    expect(report.topology.nodes).toEqual([]);
    expect(report.table("flows").rows).toBe(0);
  });

  it("says what is wrong with what it cannot read", () => {
    const messages = ["", "__PENSTOCK_" + "RESULT__", "{", "[]", '{"schema":"penstock-report/1"}', "{}"].map((text) => {
      const parsed = parseReport(text);
      return parsed.ok ? "read" : parsed.message;
    });
    expect(messages[0]).toMatch(/empty report template/);
    expect(messages[1]).toMatch(/empty report template/);
    expect(messages[2]).toMatch(/not valid JSON/);
    expect(messages[3]).toMatch(/not a JSON object/);
    expect(messages[4]).toMatch(/no “run”/);
    expect(messages[5]).toMatch(/schema “none”/);
  });

  it("keeps seeds that are too large for a number", () => {
    expect(read({ schema: "penstock-report/1", run: { seed: "18446744073709551615" } }).run.seed).toBe("18446744073709551615");
    expect(read({ schema: "penstock-report/1", run: { seed: 7 } }).run.seed).toBe("7");
  });

  it("reads the rate of each direction of a link", () => {
    const nodes = ["a", "b"].map((name) => ({ name, role: "host", level: 0 }));
    const links = [{ a: "a", b: "b", rate_bps: 1e9 }, { a: "a", b: "b", rate_bps: 1e9, reverse_rate_bps: 2e9 }];
    const rates = read({ schema: "penstock-report/1", run: {}, topology: { nodes, links } }).topology.links;
    expect(rates.map((link) => [link.rateBps, link.reverseRateBps])).toEqual([[1e9, 1e9], [1e9, 2e9]]);
  });

  it("leaves out links to nodes that are not there", () => {
    const topology = { nodes: [{ name: "a", role: "host", level: 0 }], links: [{ a: "a", b: "ghost" }] };
    expect(read({ schema: "penstock-report/1", run: {}, topology }).topology.links).toEqual([]);
  });

  it("reads names that are written once, and totals of what is left out", () => {
    const columns = { flow: { names: ["a", "b"], of: [1, 0, 1] }, frames_sent: [1, 2, 3] };
    const totals = { flows: { rows: 9, sums: { frames_sent: 50 }, above_zero: { frames_sent: 8 } }, topology: { hosts: 6, switches: 2, links: 7 } };
    const report = read({ schema: "penstock-report/1", run: {}, tables: { flows: { columns } }, totals });
    expect([0, 1, 2].map((row) => report.table("flows").text("flow", row))).toEqual(["b", "a", "b"]);
    expect([report.table("flows").all, report.table("flows").sum("frames_sent")]).toEqual([9, 50]);
    expect([report.topology.hosts, report.topology.switches, report.topology.allLinks]).toEqual([6, 2, 7]);
  });
  it("reads how late frames and transfers were, or that nobody said", () => {
    const latency = { flows: 9, ns: [1, 2], above: { a: [0.5, 0] } };
    const told = read({ schema: "penstock-report/1", run: {}, delays: { latency, slowdown: [{ name: "t", begun: 2, complete: 1, slowdown: {}, bins: [] }] } }).delays;
    expect(told.latency).toEqual({ flows: 9, ns: [1, 2], above: [["a", [0.5, 0]]] });
    expect(told.slowdown).toMatchObject([{ name: "t", steps: null }]);
    for (const delays of [undefined, { latency: {}, slowdown: [] }]) {
      expect(read({ schema: "penstock-report/1", run: {}, delays }).delays).toEqual({ latency: null, slowdown: [] });
    }
  });
  it("reads tables by column", () => {
    const report = read({ schema: "penstock-report/1", run: {}, tables: { flows: { columns: { flow: ["a", "b"], offered_bps: [1, null] } } } });
    expect(report.table("flows").rows).toBe(2);
    expect(report.table("flows").number("offered_bps", 1)).toBeNull();
    expect(report.table("flows").text("flow", 1)).toBe("b");
  });
});

describe("schema versions", () => {
  it("reads its own major version, with additions", () => {
    expect(schemaMismatch("penstock-report/1")).toBeNull();
    expect(schemaMismatch("penstock-report/1.3")).toBeNull();
  });

  it("tells newer from older from foreign", () => {
    expect(schemaMismatch("penstock-report/2")).toMatch(/newer than this page/);
    expect(schemaMismatch("penstock-report/0")).toMatch(/older than this page/);
    expect(schemaMismatch("other/1")).toMatch(/not written by Penstock/);
  });
});
