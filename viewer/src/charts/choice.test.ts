import { describe, expect, it } from "vitest";
import { Choice, namesOf } from "./choice.svelte";

describe("a choice in an address", () => {
  const colours = { first: 0, count: 4 };

  it("keeps names with their colours", () => {
    const choice = new Choice(["a", "50 %, b", "c"], colours);
    choice.toggle("a");
    expect(choice.text).toBe(",50 %25%2C b,c");
    const copy = new Choice(namesOf(choice.text, () => true), colours);
    copy.slots = copy.slots.map((name) => name || null);
    expect(copy.shown).toEqual(choice.shown);
  });

  it("forgets names that are not there, and tells of changes", () => {
    const told: string[] = [];
    const choice = new Choice(namesOf("a,x,c", (name) => name !== "x"), colours, (one) => told.push(one.text));
    expect(choice.shown.map(({ name, slot }) => [name, slot])).toEqual([["a", 0], ["c", 2]]);
    choice.toggle("d");
    expect(told).toEqual(["a,d,c"]);
  });
});
