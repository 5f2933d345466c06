import { describe, expect, it } from "vitest";
import { Choice, flows, namesOf, series } from "./choice.svelte";

describe("a choice in an address", () => {
  const colors = series(0, 4);

  it("keeps names with their colors", () => {
    const choice = new Choice(["a", "50 %, b", "c"], colors);
    choice.toggle("a");
    expect(choice.text).toBe(",50 %25%2C b,c");
    const copy = new Choice(namesOf(choice.text, () => true), colors);
    copy.slots = copy.slots.map((name) => name || null);
    expect(copy.shown).toEqual(choice.shown);
  });

  it("forgets names that are not there, and tells of changes", () => {
    const told: string[] = [];
    const choice = new Choice(namesOf("a,x,c", (name) => name !== "x"), colors, (one) => told.push(one.text));
    expect(choice.shown.map(({ name, color }) => [name, color])).toEqual([["a", "series-0"], ["c", "series-2"]]);
    choice.toggle("d");
    expect(told).toEqual(["a,d,c"]);
  });

  it("gives a flow the color that it has in the chart of throughput", () => {
    flows.choice = new Choice(["a", "b"], colors);
    const other = new Choice(["c", "b"], series(8, 4));
    expect(other.shown.map(({ color }) => color)).toEqual(["series-8", "series-1"]);
    flows.choice.toggle("b");
    expect(other.shown.map(({ color }) => color)).toEqual(["series-8", "series-9"]);
    flows.choice = null;
  });
});
