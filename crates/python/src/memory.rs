//! Checks a run against its memory limit at intervals, and warns before the limit is reached.

use fabric::Simulation;
use std::time::{Duration, Instant};
use units::{Bytes, Time};

/// Maximum fraction of the run time that checks take, as denominators. A check traverses all connections, and evicts
/// the run's data from the caches. The second, lower fraction applies while the run cannot exhaust the remaining memory
/// before the next check.
const SHARES: [u32; 2] = [50, 400];
/// Maximum growth of a run in bytes per second.
const FASTEST: u64 = 2 << 30;
/// Number of consecutive checks that must exceed the limit before this is reported: tables grow by doubling, and a
/// single check may see a step.
const LOOKS: u32 = 3;

/// Result of a check.
pub enum Found {
    /// Within the limit, and expected to stay there.
    Enough,
    /// Within the limit, but expected to exceed it before the end. Returned once.
    Warning(String),
    /// Beyond the limit.
    Exceeded(String),
}

/// Monitors the memory of one run.
pub struct MemoryWatch {
    limit: u64,
    /// Origin of the limit, for messages.
    origin: &'static str,
    looked: Instant,
    /// Minimum time until the next check.
    rests: Duration,
    /// Two earlier checks, as simulated time and bytes. Growth is measured from the first. When the simulated time has
    /// doubled since the second, it becomes the first, so that the growth at the beginning of the run is excluded.
    marks: [(Time, u64); 2],
    beyond: u32,
}

impl MemoryWatch {
    /// Monitors the limit of the scenario or, if it has none, that of the machine.
    pub fn new(scenario: Option<Bytes>, machine: Option<u64>) -> MemoryWatch {
        let (limit, origin) = match scenario {
            Some(limit) => (limit.get(), "memory_limit of the scenario"),
            None => (machine.unwrap_or(u64::MAX), "from what was free on this machine when it began"),
        };
        let now = Instant::now();
        MemoryWatch {
            limit,
            origin,
            looked: now,
            rests: Duration::ZERO,
            marks: [(Time::ZERO, 0); 2],
            beyond: 0,
        }
    }

    /// Checks the memory, unless the last check was too expensive to repeat already.
    pub fn look(&mut self, simulation: &mut Simulation, duration: Time) -> Found {
        let begun = Instant::now();
        if self.limit == u64::MAX || begun - self.looked < self.rests {
            return Found::Enough;
        }
        let (bytes, now) = (simulation.memory_bytes() as u64, simulation.now());
        let room = Duration::from_millis(self.limit.saturating_sub(bytes).saturating_mul(1_000) / FASTEST);
        let [least, most] = SHARES.map(|share| begun.elapsed() * share);
        (self.looked, self.rests) = (begun, room.clamp(least, most));
        if bytes > self.limit {
            return Found::Exceeded(format!(
                "the run has reached its memory limit: at {now} of {duration} it holds {}, and its limit is {} ({}). \
                 What grows without end are queues without a limit that get more than their link takes",
                size(bytes as f64),
                size(self.limit as f64),
                self.origin
            ));
        }
        let expected = self.expected(now, bytes, duration);
        self.beyond = if expected > self.limit as f64 { self.beyond + 1 } else { 0 };
        if self.beyond != LOOKS {
            return Found::Enough;
        }
        Found::Warning(format!(
            "at {now} of {duration} the run holds {} and grows: at the end it would be about {}, and its limit is {} \
             ({}). When it gets there the run ends, with what was measured until then",
            size(bytes as f64),
            size(expected),
            size(self.limit as f64),
            self.origin
        ))
    }

    /// Extrapolates the memory at the end of the run from the growth since the first mark.
    fn expected(&mut self, now: Time, bytes: u64, duration: Time) -> f64 {
        let [(since, held), second] = self.marks;
        if now >= second.0 * 2 {
            self.marks = [second, (now, bytes)];
        }
        let passed = now.saturating_sub(since).as_secs_f64();
        let grown = bytes.saturating_sub(held) as f64;
        if since == Time::ZERO || passed <= 0.0 {
            return bytes as f64;
        }
        bytes as f64 + grown / passed * duration.saturating_sub(now).as_secs_f64()
    }
}

/// Formats a size, like "1.5 GiB".
fn size(bytes: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let step = (0..4).find(|&step| bytes < 1024f64.powi(step + 1)).unwrap_or(4);
    format!("{:.1} {}", bytes / 1024f64.powi(step), UNITS[step as usize])
}
