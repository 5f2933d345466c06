import { describe, expect, it } from "vitest";
import * as fixtures from "../test/fixtures.mjs";
import { facts, outcome, particulars, sentence } from "./facts";
import { parseReport, type Report } from "./schema";

function report(document: unknown): Report {
  const parsed = parseReport(JSON.stringify(document));
  if (!parsed.ok) throw new Error(parsed.message);
  return parsed.report;
}

const fact = (of: Report, label: string): string => {
  const found = facts(of).find((one) => one.label === label)!;
  return `${found.value}: ${found.meaning}`;
};

describe("the sentence", () => {
  it("says what was simulated", () => {
    expect(sentence(report(fixtures.small()))).toBe("A fabric of 4 hosts and 1 switch, joined by 4 links at 10 Gb/s, carried 3 flows under targeted priority flow control (TPFC) for 10 ms of simulated time.");
    expect(sentence(report(fixtures.big()))).toMatch(/^A fabric of 1,024 hosts and 320 switches, joined by 3,072 links at 100 Gb\/s, carried 1,024 flows in 2 classes/);
    expect(sentence(report(fixtures.empty()))).toBe("The fabric had no traffic for 0 s of simulated time.");
  });
});

describe("headline numbers", () => {
  it("come with their meaning", () => {
    const small = report(fixtures.small());
    expect(fact(small, "Drops")).toBe("0: none of 6,821 frames was lost");
    expect(fact(small, "Paused most")).toMatch(/^h1\.0->sw: paused for 2\.49 ms, 24\.9 % of the run/);
    expect(fact(small, "Worst p99 latency")).toMatch(/flow burst\[h0\]/);
    expect(fact(report(fixtures.big()), "Drops")).toMatch(/^55: frames lost/);
  });

  it("say so when there is nothing", () => {
    for (const one of facts(report(fixtures.empty()))) expect(one.value).toMatch(/^(–|0 s|none)$/);
  });
});

describe("the small print", () => {
  it("says the verdict on the run", () => {
    expect(outcome(report(fixtures.small()))).toEqual({ tone: "good", text: "Complete", findings: [] });
    expect(outcome(report(fixtures.big())).text).toBe("Stopped early");
    const stuck = outcome(report(fixtures.stuck()));
    expect([stuck.tone, stuck.text]).toEqual(["bad", "Deadlocked"]);
    expect(stuck.findings[0]).toMatch(/^Deadlocked: 4 queues wait for each other/);
  });

  it("has nothing green on the page of a run that went wrong", () => {
    expect(facts(report(fixtures.small())).some((one) => one.tone === "good")).toBe(true);
    const bad = { ...fixtures.small(), verdict: fixtures.stuck().verdict };
    expect(facts(report(bad)).filter((one) => one.tone === "good")).toEqual([]);
  });

  it("leaves out what is not known", () => {
    expect(particulars(report({ schema: "penstock-report/1", run: { seed: 3 } }))).toEqual([["Seed", "3"]]);
    expect(particulars(report(fixtures.small()))).toContainEqual(["Frame-hops per second", "1.6 M/s"]);
  });
});
