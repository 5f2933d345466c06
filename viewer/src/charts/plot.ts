/** What all charts on the time axis share: axes, cursor, zoom by dragging. */
import uPlot from "uplot";
import { instant, timeScale } from "../format";
import type { Moment } from "./moments";
import { theme } from "../theme.svelte";
import type { TimeView } from "./view.svelte";

export type PlotOptions = Omit<uPlot.Options, "width" | "height">;

export interface Frame {
  view: TimeView;
  /** Width of the y axis: equal in all charts, so that their times line up. */
  gutter: number;
  xs: ArrayLike<number>;
  /** Pixels right of the plots, equal in all charts: room for the names of watermarks. */
  right: number;
  /** Vertical lines: when faults began and ended. */
  moments: readonly Moment[];
}

export function frameOptions({ view, gutter, xs, right, moments }: Frame): PlotOptions {
  return {
    padding: [moments.length > 0 ? 18 : 10, right, 0, 0],
    legend: { show: false },
    scales: { x: { time: false, range: () => [view.from, view.to] } },
    axes: [timeAxis(view), valueAxis(gutter)],
    series: [{}],
    cursor: {
      y: false,
      points: { size: 7 },
      drag: { x: true, y: false, setScale: false },
      sync: { key: "penstock-time", scales: ["x", null], filters: { pub: (type) => type === "mousemove" || type === "mouseleave" } },
      bind: {
        dblclick: () => () => {
          view.reset();
          return null;
        },
      },
      // A bin holds from its start: the cursor reads the bin it is in, not the nearest start.
      dataIdx: (_, __, closest, x) => ((xs[closest] ?? 0) > x && closest > 0 ? closest - 1 : closest),
    },
    hooks: {
      drawAxes: [(plot) => drawMoments(plot, moments)],
      setSelect: [
        (plot) => {
          if (plot.select.width < 3) return;
          view.show(plot.posToVal(plot.select.left, "x"), plot.posToVal(plot.select.left + plot.select.width, "x"));
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        },
      ],
      setCursor: [
        (plot) => {
          const left = plot.cursor.left ?? -1;
          view.cursor = left >= 0 ? plot.posToVal(left, "x") : null;
        },
      ],
    },
  };
}

function timeAxis(view: TimeView): uPlot.Axis {
  return {
    ...axisLook(),
    size: 30,
    space: 90,
    values: (_, splits) => {
      const { unit, perUnit } = timeScale(Math.max(Math.abs(view.to), view.to - view.from));
      return splits.map((split) => (split === 0 ? "0" : `${Number((split / perUnit).toPrecision(10))} ${unit}`));
    },
  };
}

function valueAxis(gutter: number): uPlot.Axis {
  return { ...axisLook(), size: gutter, space: 28 };
}

export function axisLook(): uPlot.Axis {
  const line = { stroke: () => theme.color("line"), width: 1 };
  return { stroke: () => theme.color("muted"), font: `12px ${theme.color("font")}`, grid: line, ticks: { ...line, size: 4 }, gap: 6 };
}

/** A dotted line for each moment, its number above it. */
function drawMoments(plot: uPlot, moments: readonly Moment[]): void {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = theme.color("muted");
  ctx.font = theme.font(11 * ratio);
  ctx.textAlign = "center";
  ctx.lineWidth = ratio;
  ctx.setLineDash([2 * ratio, 3 * ratio]);
  let before = -Infinity;
  moments.forEach(({ timeNs }, index) => {
    const x = plot.valToPos(timeNs, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) return;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    if (x - before > 14 * ratio) {
      ctx.fillText(String(index + 1), x, bbox.top - 4 * ratio);
      before = x;
    }
  });
  ctx.restore();
}

/** Runs `draw` with the canvas clipped to the plotting area. */
export function inside(plot: uPlot, draw: (context: CanvasRenderingContext2D) => void): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  draw(ctx);
  ctx.restore();
}

/** One thin line for each array of values, drawn as one path, with at most two points a pixel. */
export function faintLines(plot: uPlot, xs: ArrayLike<number>, lines: readonly Float64Array[], color: string): void {
  const { min, max } = plot.scales["x"]!;
  if (min == null || max == null) return;
  let first = 0;
  while (first + 1 < xs.length && xs[first + 1]! < min) first++;
  let last = xs.length - 1;
  while (last > 0 && xs[last - 1]! > max) last--;
  const pixels = Array.from({ length: Math.max(last - first + 1, 0) }, (_, index) => plot.valToPos(xs[first + index]!, "x", true));
  const zero = plot.valToPos(0, "y", true);
  const perUnit = plot.valToPos(1, "y", true) - zero;
  const stride = Math.max(1, Math.floor(pixels.length / (plot.bbox.width * 2)));
  inside(plot, (context) => {
    const path = new Path2D();
    for (const line of lines) {
      for (let index = 0; index < pixels.length; index += stride) {
        const y = zero + line[first + index]! * perUnit;
        if (index === 0) path.moveTo(pixels[index]!, y);
        else path.lineTo(pixels[index]!, y);
      }
    }
    context.strokeStyle = color;
    context.globalAlpha = Math.max(0.06, Math.min(0.6, 12 / lines.length));
    context.lineWidth = devicePixelRatio;
    context.stroke(path);
  });
}

/** "at 3.2 ms" for the line above the charts. */
export function cursorText(view: TimeView): string {
  return view.cursor === null ? "" : instant(view.cursor);
}
