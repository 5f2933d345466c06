/** The stretch of the film that is shown, for the charts: the fabric and they are at one time. */
class Played {
  /** In nanoseconds; null for the whole run. */
  span: { from: number; to: number } | null = $state.raw(null);
}

export const played = new Played();
