/** Heights moved apart by at least `gap`, as little as needed, within `low` and `high` where there is room. */
export function spread(heights: readonly number[], gap: number, low: number, high: number): number[] {
  const out = [...heights];
  for (let at = 0; at < out.length; at++) out[at] = Math.max(out[at]!, low, (out[at - 1] ?? -Infinity) + gap);
  for (let at = out.length - 1; at >= 0; at--) out[at] = Math.min(out[at]!, at === out.length - 1 ? high : out[at + 1]! - gap);
  return out;
}
