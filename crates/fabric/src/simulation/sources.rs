//! Checks that sources do not exceed their rates, at the end of each run of a build with debug assertions.

use super::Simulation;

impl Simulation {
    /// Checks that no source has sent more than its rate, its bursts and its random variation allow.
    ///
    /// # Panics
    /// If one has, which is a defect.
    pub(crate) fn check_sources(&self) {
        let clocks = self.spec.clocks();
        let sources =
            self.parts().flat_map(|part| part.hosts.sources.all(part.whole())).filter(|state| !state.silent);
        for state in sources {
            let flow = &self.spec.flows[state.flow as usize];
            let Some(port) = self.wiring.ports(flow.from).next() else { continue };
            let (rate, overhead) = (self.initial_rate(port.0), self.link_spec(port.0).overhead);
            let clock = clocks.get(flow.from.at()).copied().unwrap_or_default();
            let most = flow.source.most_bits(rate, overhead, clock, self.now());
            let made = state.source.bytes_made(flow.source.limit) as f64 * 8.0;
            assert!(
                most.is_none_or(|most| made <= most),
                "\"{}\" has made {made} bits until {}, and {most:?} are the most that its rate allows",
                flow.name,
                self.now()
            );
        }
    }
}
