//! Whether the outcome of a run hangs on ties.

use super::Simulation;

/// One decision in so many that falls in a tie is no chance.
const WORTH_TELLING: u64 = 100;

impl Simulation {
    /// That the outcome hangs on ties, in a sentence; `None` if it does not.
    pub fn ties(&self) -> Option<String> {
        let counts = || self.cold_ports().map(|(port, cold)| (port, cold.counts));
        let ties: u64 = counts().map(|(_, counts)| counts.ties).sum();
        let lost: u64 = counts().map(|(_, counts)| counts.drops).sum();
        let (most, _) = counts().max_by_key(|&(port, counts)| (counts.ties, std::cmp::Reverse(port)))?;
        (ties > 0 && ties >= lost / WORTH_TELLING).then(|| {
            format!(
                "the outcome hangs on ties: {ties} times ({lost} frames were lost, most ties at {}) it was decided \
                 between frames that came in the same picosecond, always by the same order. Real clocks are not equal: \
                 set clock_tolerance = \"100 ppm\" for hosts, or the jitter of flows",
                self.port_name(most)
            )
        })
    }
}
