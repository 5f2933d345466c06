/** Ticks of a logarithmic axis: powers of two, or of ten with 2 and 5 times them; on a short stretch equal steps. */
export function logTicks(min: number, max: number, most: number, base: 2 | 10): number[] {
  const powers = (times: readonly number[], stride: number): number[] => {
    const first = Math.floor(Math.log(min) / Math.log(base) / stride) * stride;
    const count = Math.ceil((Math.log(max / min) / Math.log(base)) / stride) + 2;
    return inside(Array.from({ length: count }, (_, at) => times.map((time) => time * base ** (first + at * stride))).flat());
  };
  const inside = (ticks: number[]): number[] => ticks.map((tick) => Number(tick.toPrecision(12))).filter((tick) => tick >= min && tick <= max);
  const ways = [...(base === 10 ? [powers([1, 2, 5], 1)] : []), ...[1, 2, 3, 4, 6, 10].map((stride) => powers([1], stride))];
  if (base === 2 || max / min >= 8) return ways.find((ticks) => ticks.length <= most) ?? [];
  const power = 10 ** Math.floor(Math.log10((max - min) / most));
  const step = [1, 2, 5, 10].map((times) => times * power).find((one) => (max - min) / one <= most)!;
  return inside(Array.from({ length: most + 2 }, (_, at) => (Math.ceil(min / step) + at) * step));
}
