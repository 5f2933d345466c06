/** Congestion trees at a time of the film: which ports stood still because of which root. */
import { portOf, type Tree } from "../trees";
import type { Film } from "./film";

export interface Grown {
  tree: Tree;
  /** Place among the trees of the run, which is that of its color. */
  place: number;
  root: string;
  /** The ports that it stopped in this stretch, those next to the root first. */
  ports: string[];
}

/** Trees beyond these have no color of their own, and are not drawn. */
export const MOST_TREES = 4;

/**
 * The trees that stood in a stretch. An edge of the table lasts from its first pause to its last; within that its port
 * belongs to the tree in those stretches in which it was paused.
 */
export function grown(trees: readonly Tree[], film: Film, stretch: number): Grown[] {
  const [from, to] = [stretch * film.stretchNs, (stretch + 1) * film.stretchNs];
  return trees.slice(0, MOST_TREES).flatMap((tree, place): Grown[] => {
    const now = tree.edges.filter((edge) => edge.firstNs < to && edge.lastNs >= from && film.still(film.place(edge.port), stretch).paused > 0);
    const ports = [...new Set([...now].sort((a, b) => a.depth - b.depth).map((edge) => edge.port))];
    return ports.length === 0 ? [] : [{ tree, place, root: portOf(tree.root), ports }];
  });
}
