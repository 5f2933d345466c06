//! Dependence of a run's outcome on ties, and remedies for that.

use super::Simulation;
use crate::spec::{FlowSpec, Way};
use transport::TransportSpec;
use units::{ClockTolerance, Time};

/// Ties are reported if there is at least one for this many losses.
const WORTH_TELLING: u64 = 100;

/// A remedy that desynchronises the frames of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remedy {
    /// For a source with a rate, which sends at scheduled times.
    Jitter,
    /// For a source that sends when the link is idle: only the clock of its host distinguishes it.
    Clock,
    /// For a sender over TCP: a random delay before sending.
    SendJitter,
    /// For a sender without randomness that responds to arrivals.
    Start,
}

impl Simulation {
    /// Returns a warning that the outcome depends on ties; `None` if it does not.
    pub fn ties(&self) -> Option<String> {
        let counts = || self.cold_ports().map(|(port, cold)| (port, cold.counts));
        let ties: u64 = counts().map(|(_, counts)| counts.ties).sum();
        let lost: u64 = counts().map(|(_, counts)| counts.drops).sum();
        let (most, _) = counts().max_by_key(|&(port, counts)| (counts.ties, std::cmp::Reverse(port)))?;
        (ties > 0 && ties >= lost / WORTH_TELLING).then(|| {
            let apart = self.parts().map(|part| part.probes.alike).max().unwrap_or_default();
            let came = match apart {
                Time::ZERO => "in the same picosecond".to_string(),
                apart => format!("within {apart} of each other (clock_tolerance)"),
            };
            format!(
                "the result depends on ties: {ties} times ({lost} frames were lost, most ties at {}) frames arrived {came}, \
                 and the fixed processing order decided between them. Real clocks differ, and real hosts have jitter: {}",
                self.port_name(most),
                self.advice_on_ties(most)
            )
        })
    }

    /// Describes remedies for ties at a port: those that the flows through it do not use yet.
    fn advice_on_ties(&self, port: u32) -> String {
        let passing = self.flows_through(port);
        let tolerant = self.spec.nodes.iter().any(|node| node.clock_tolerance > ClockTolerance::EXACT);
        let longest = passing.iter().map(|flow| flow.frame_bounds().1).max().unwrap_or_default();
        let bits = (u64::from(longest) + u64::from(self.port(port).timing.overhead())) * 8;
        let frame = self.cold(port).rate.time_for_bits_ceil(bits);
        let of = |remedy: Remedy| {
            let mut own = passing.iter().filter(|flow| remedy_for(flow) == Some(remedy));
            let first = own.next()?;
            let more = own.count();
            let others = if more > 0 { format!(" and {more} more") } else { String::new() };
            Some(format!("\"{}\"{others}", first.name))
        };
        let clocks = match tolerant {
            false => "set clock_tolerance = \"100 ppm\" for the hosts",
            true => "run for longer, or with several seeds, because clocks drift slowly",
        };
        let advice = [
            of(Remedy::Jitter).map(|flows| format!("set jitter = \"{frame}\" for {flows}")),
            of(Remedy::SendJitter)
                .map(|flows| format!("set send_jitter = \"{frame}\" in the tcp of {flows}")),
            of(Remedy::Clock).map(|flows| format!("{clocks} ({flows})")),
            of(Remedy::Start).map(|flows| format!("compare runs with other start times of {flows}")),
        ];
        let advice: Vec<String> = advice.into_iter().flatten().collect();
        if advice.is_empty() { "compare several seeds".to_string() } else { advice.join("; ") }
    }

    /// The flows that have, or may have, a path through a port in either direction.
    fn flows_through(&self, port: u32) -> Vec<&FlowSpec> {
        let back = self.peer(port);
        let mut passes = vec![false; self.spec.flows.len()];
        for (path, &flow) in self.path_flow.iter().enumerate() {
            let spec = &self.spec.flows[flow as usize];
            let answered = spec.transport.is_some();
            passes[flow as usize] |= spec.way == Way::ByDestination
                || self.path_of(path).iter().any(|&hop| hop == port || answered && hop == back);
        }
        self.spec.flows.iter().zip(passes).filter_map(|(flow, passes)| passes.then_some(flow)).collect()
    }
}

/// Returns the remedy that a flow does not use yet, if any.
fn remedy_for(flow: &FlowSpec) -> Option<Remedy> {
    let of_tcp = |jitter: Time| (jitter == Time::ZERO).then_some(Remedy::SendJitter);
    let Some(connection) = &flow.transport else {
        if flow.source.arrivals.rate().is_none() {
            return Some(Remedy::Clock);
        }
        return (flow.source.jitter == Time::ZERO).then_some(Remedy::Jitter);
    };
    // Windows, requests and queue pairs have no randomness.
    let jitter = connection.transport().and_then(|transport| TransportSpec::jitter(&transport));
    jitter.map_or(Some(Remedy::Start), of_tcp)
}
