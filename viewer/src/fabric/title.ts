/** What a link is called where a reader rests on it: its ends, the rate of each direction, its delay. */
import { seconds, si } from "../format";
import type { Link } from "../schema";

export function linkTitle({ a, b, rateBps, reverseRateBps, delayNs }: Link): string {
  const delay = delayNs === null ? "" : `, ${seconds(delayNs * 1e-9)} long`;
  return `${a} – ${b}${ratesOf(rateBps, reverseRateBps)}${delay}`;
}

function ratesOf(rate: number | null, reverse: number | null): string {
  if (rate === null) return "";
  if (reverse === null || reverse === rate) return `, ${si(rate, "b/s")}`;
  return `, ${si(rate, "b/s")} there and ${si(reverse, "b/s")} back`;
}
