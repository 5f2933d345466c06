/** What held the senders over TCP back, in shares of their time, from the table of connections. */
import type { TableOf } from "./table";

export const HOLDERS = [
  ["held_by_application", "application", "It had no data to send, or waited for its last acknowledgements."],
  ["held_by_receive_window", "receive window", "The receive window or the send buffer was full."],
  ["held_by_congestion_control", "congestion control", "The congestion window, pacing, a handshake or loss recovery did not permit sending."],
  ["held_by_pause", "pause", "A segment was ready, and its class was stopped at the NIC."],
  ["held_by_host", "host", "A segment was ready, and the NIC was sending earlier frames."],
] as const;

export interface Held {
  flow: string;
  /** In the order of the holders; their sum is 1. */
  shares: readonly number[];
}

/** One entry a connection over TCP that has begun. */
export function held(connections: TableOf<"connections">): Held[] {
  return connections.rowNumbers().flatMap((row): Held[] => {
    const shares = HOLDERS.map(([column]) => connections.number(column, row)).filter((share) => share !== null);
    return shares.length === HOLDERS.length ? [{ flow: connections.text("flow", row), shares }] : [];
  });
}

/** Those that something else than their application held back most come first. */
export function mostHeld(all: readonly Held[]): Held[] {
  return [...all].sort((a, b) => a.shares[0]! - b.shares[0]!);
}
