//! Matches the inputs and outputs of a crossbar; `crossbar` describes the rules.
//!
//! Requests are kept as sets of ports. Usually few ports have requests, and one bit scan finds the next in turn.

use crate::crossbar::{Arbitration, CrossbarKeys};

/// A set of ports: bit n for port n.
pub type Ports = u128;

/// Maximum number of ports of a crossbar.
pub const MOST_PORTS: usize = Ports::BITS as usize;

/// Iterates over the ports of a set, in ascending order.
#[inline]
pub fn ports_of(set: Ports) -> PortsOf {
    PortsOf { words: [set as u64, (set >> u64::BITS) as u64] }
}

/// An iterator over the ports of a set.
#[derive(Clone, Debug)]
pub struct PortsOf {
    words: [u64; 2],
}

impl Iterator for PortsOf {
    type Item = usize;
    #[inline]
    fn next(&mut self) -> Option<usize> {
        let nth = usize::from(self.words[0] == 0);
        let word = &mut self.words[nth];
        let port = word.trailing_zeros();
        (*word != 0).then(|| {
            *word &= *word - 1;
            nth * u64::BITS as usize + port as usize
        })
    }
    /// Makes `for_each` fast: most crossbars have few ports, so the second word is empty.
    #[inline(always)]
    fn fold<B, F: FnMut(B, usize) -> B>(self, init: B, mut f: F) -> B {
        let (mut folded, [mut word, mut next], mut first) = (init, self.words, 0);
        loop {
            if word == 0 {
                if next == 0 {
                    return folded;
                }
                (word, next, first) = (next, 0, u64::BITS);
            }
            folded = f(folded, (first + word.trailing_zeros()) as usize);
            word &= word - 1;
        }
    }
}

/// Returns the first member of a non-empty set at or after a port, wrapping around.
#[inline]
fn next(of: Ports, from: usize) -> usize {
    let later = of & Ports::MAX << from;
    if later == 0 { of } else { later }.trailing_zeros() as usize
}

/// Returns the first of these classes at or after `turn`, wrapping around.
#[inline]
fn next_class(of: u32, turn: u8) -> u32 {
    let later = of & u32::MAX << turn;
    if later == 0 { of } else { later }.trailing_zeros()
}

/// The requests of inputs for outputs.
#[derive(Clone, Debug)]
pub struct Requests {
    ports: usize,
    /// Outputs with at least one request, and the requesting inputs of each output.
    outputs: Ports,
    inputs: Vec<Ports>,
    /// By output and requesting input: the classes that may cross, as bits.
    classes: Vec<u32>,
}

impl Requests {
    /// Creates an empty set of requests, for a crossbar with `ports` inputs and outputs.
    pub fn new(ports: usize) -> Requests {
        Requests { ports, outputs: 0, inputs: vec![0; ports], classes: vec![0; ports * ports] }
    }
    /// Removes all requests.
    #[inline]
    pub fn clear(&mut self) {
        self.outputs = 0;
    }
    /// Sets the classes (at least one) whose frames may cross if the input requests the output.
    #[inline]
    pub fn allow(&mut self, input: usize, output: usize, classes: u32) {
        self.classes[output * self.ports + input] = classes;
    }
    /// Adds requests of these inputs for an output; [`Requests::allow`] has set their classes.
    #[inline]
    pub fn add(&mut self, inputs: Ports, output: usize) {
        if inputs != 0 {
            self.inputs[output] = inputs;
            self.outputs |= 1 << output;
        }
    }
    /// Returns true if there are no requests.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.outputs == 0
    }
    /// Returns the memory of the tables in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.inputs.capacity() * size_of::<Ports>() + self.classes.capacity() * size_of::<u32>()
    }
}

/// A match: this input sends a frame of this class to this output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// The input.
    pub input: usize,
    /// The output.
    pub output: usize,
    /// The class.
    pub class: usize,
}

/// The arbiter of a crossbar.
#[derive(Clone, Debug)]
pub struct Arbiter {
    kind: Arbitration,
    iterations: u64,
    ports: usize,
    /// By output, the input at which its search begins; by input, the output at which its search begins.
    grants: Vec<usize>,
    accepts: Vec<usize>,
    /// By output and input: the class that has priority.
    turns: Vec<u8>,
    /// The output that chooses first.
    first: usize,
    /// Inputs and outputs that have been matched so far.
    taken: Ports,
    filled: Ports,
    /// By input: the outputs that have granted its request.
    granted: Vec<Ports>,
}

impl Arbiter {
    /// Creates the arbiter of a crossbar with `ports` inputs and outputs, at most [`MOST_PORTS`]. All pointers start at
    /// 0.
    pub fn new(keys: &CrossbarKeys, ports: usize) -> Arbiter {
        Arbiter {
            kind: keys.arbitration,
            iterations: keys.iterations,
            ports,
            grants: vec![0; ports],
            accepts: vec![0; ports],
            turns: vec![0; ports * ports],
            first: 0,
            taken: 0,
            filled: 0,
            granted: vec![0; ports],
        }
    }

    /// Matches inputs and outputs. Returns true if further iterations would have matched more pairs.
    pub fn pick(&mut self, requests: &Requests, matches: &mut Vec<Crossing>) -> bool {
        (self.taken, self.filled) = (0, 0);
        match self.kind {
            Arbitration::RoundRobin => self.round_robin(requests, matches),
            Arbitration::Islip => {
                for nth in 0..self.iterations {
                    if !self.iterate(nth == 0, requests, matches) {
                        break;
                    }
                }
            }
        }
        if self.taken != 0 {
            self.first = self.after(self.first);
        }
        self.kind == Arbitration::Islip
            && ports_of(requests.outputs & !self.filled)
                .any(|output| requests.inputs[output] & !self.taken != 0)
    }

    /// Returns the match that [`Arbiter::pick`] would find if all requests are for one output; `None` if they are for
    /// several.
    #[inline]
    pub fn pick_for_one(&mut self, requests: &Requests) -> Option<Crossing> {
        let outputs = requests.outputs;
        if outputs & outputs.wrapping_sub(1) != 0 {
            return None;
        }
        let output = outputs.trailing_zeros() as usize;
        let input = next(requests.inputs[output], self.grants[output]);
        let pair = output * self.ports + input;
        let class = next_class(requests.classes[pair], self.turns[pair]);
        let crossing = Crossing { input, output, class: class as usize };
        self.grant_alone(crossing);
        Some(crossing)
    }

    /// Matches the only requesting input with its output, with the effect of [`Arbiter::pick`].
    #[inline]
    pub fn grant_alone(&mut self, crossing: Crossing) {
        let Crossing { input, output, class } = crossing;
        self.grants[output] = self.after(input);
        if self.kind == Arbitration::Islip {
            self.accepts[input] = self.after(output);
        }
        self.turns[output * self.ports + input] = ((class as u32 + 1) % u32::BITS) as u8;
        self.first = self.after(self.first);
    }

    fn round_robin(&mut self, requests: &Requests, matches: &mut Vec<Crossing>) {
        let mut left = requests.outputs;
        while left != 0 {
            let output = next(left, self.first);
            left &= !(1 << output);
            if let Some(input) = self.grant(output, requests) {
                self.grants[output] = self.after(input);
                self.connect(input, output, requests, matches);
            }
        }
    }

    /// Runs one iteration of iSLIP. Returns false if it added no match.
    fn iterate(&mut self, first: bool, requests: &Requests, matches: &mut Vec<Crossing>) -> bool {
        let mut offered: Ports = 0;
        for output in ports_of(requests.outputs & !self.filled) {
            if let Some(input) = self.grant(output, requests) {
                let others = if offered >> input & 1 == 0 { 0 } else { self.granted[input] };
                self.granted[input] = others | 1 << output;
                offered |= 1 << input;
            }
        }
        for input in ports_of(offered) {
            let output = next(self.granted[input], self.accepts[input]);
            if first {
                self.grants[output] = self.after(input);
                self.accepts[input] = self.after(output);
            }
            self.connect(input, output, requests, matches);
        }
        offered != 0
    }

    fn after(&self, port: usize) -> usize {
        if port + 1 == self.ports { 0 } else { port + 1 }
    }

    /// Returns the first unmatched input that requests the output, at or after the output's pointer.
    #[inline]
    fn grant(&self, output: usize, requests: &Requests) -> Option<usize> {
        let requests = requests.inputs[output] & !self.taken;
        (requests != 0).then(|| next(requests, self.grants[output]))
    }

    #[inline]
    fn connect(&mut self, input: usize, output: usize, requests: &Requests, matches: &mut Vec<Crossing>) {
        let pair = output * self.ports + input;
        let class = next_class(requests.classes[pair], self.turns[pair]);
        self.turns[pair] = ((class + 1) % u32::BITS) as u8;
        self.taken |= 1 << input;
        self.filled |= 1 << output;
        matches.push(Crossing { input, output, class: class as usize });
    }

    /// Returns the memory of the tables in bytes.
    pub fn memory_bytes(&self) -> usize {
        (self.grants.capacity() + self.accepts.capacity()) * size_of::<usize>()
            + self.turns.capacity()
            + self.granted.capacity() * size_of::<Ports>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn arbiter(arbitration: Arbitration, ports: usize) -> Arbiter {
        Arbiter::new(&CrossbarKeys { arbitration, ..CrossbarKeys::default() }, ports)
    }

    /// Builds requests from a table of classes by input and output.
    fn requests(ports: usize, classes: &[u32]) -> Requests {
        let mut requests = Requests::new(ports);
        let requested = classes.iter().enumerate().filter(|it| *it.1 != 0);
        requested.for_each(|(pair, &classes)| add(&mut requests, pair / ports, pair % ports, classes));
        requests
    }

    /// Adds an input that requests an output.
    fn add(requests: &mut Requests, input: usize, output: usize, classes: u32) {
        requests.allow(input, output, classes);
        let others = if requests.outputs >> output & 1 == 0 { 0 } else { requests.inputs[output] };
        requests.add(others | 1 << input, output);
    }

    fn pairs(arbiter: &mut Arbiter, classes: &[u32]) -> Vec<(usize, usize)> {
        let mut matches = Vec::new();
        arbiter.pick(&requests(arbiter.ports, classes), &mut matches);
        matches.iter().map(|one| (one.input, one.output)).collect()
    }

    #[test]
    fn an_output_grants_the_input_at_its_pointer_and_moves_past_it() {
        for kind in [Arbitration::RoundRobin, Arbitration::Islip] {
            let mut arbiter = arbiter(kind, 3);
            arbiter.grants[0] = 1;
            let all_request_the_first = [1, 0, 0, 1, 0, 0, 1, 0, 0];
            assert_eq!(pairs(&mut arbiter, &all_request_the_first), [(1, 0)]);
            assert_eq!(arbiter.grants[0], 2);
        }
    }

    /// Tests McKeown 1999, section 3.1 and figure 5: under full load the pointers of two outputs diverge after one
    /// slot, and both outputs are served in each slot from then on.
    #[test]
    fn islip_desynchronises() {
        let mut arbiter = Arbiter::new(
            &CrossbarKeys { arbitration: Arbitration::Islip, iterations: 1, ..CrossbarKeys::default() },
            2,
        );
        let full = [1; 4];
        assert_eq!(pairs(&mut arbiter, &full), [(0, 0)]);
        assert_eq!(pairs(&mut arbiter, &full), [(0, 1), (1, 0)]);
        assert_eq!(pairs(&mut arbiter, &full), [(0, 0), (1, 1)]);
        assert_eq!(pairs(&mut arbiter, &full), [(0, 1), (1, 0)]);
    }

    #[test]
    fn classes_of_a_pair_go_in_turn() {
        let mut arbiter = arbiter(Arbitration::RoundRobin, 1);
        let mut classes = vec![];
        for _ in 0..6 {
            let mut matches = vec![];
            arbiter.pick(&requests(1, &[0b1000_0101]), &mut matches);
            classes.push(matches[0].class);
        }
        assert_eq!(classes, [0, 2, 7, 0, 2, 7]);
    }

    /// Returns the saturation throughput per slot of FIFO inputs under uniform traffic, where the head of each input is
    /// for a random output. Karol et al. 1987, table I.
    #[test]
    fn fifo_inputs_saturate_where_karol_says() {
        for (ports, expected) in [(2usize, 0.75), (4, 0.6553), (8, 0.6184)] {
            for kind in [Arbitration::RoundRobin, Arbitration::Islip] {
                let mut arbiter = arbiter(kind, ports);
                let mut state = 1u64;
                let mut draw = || {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (state >> 33) as usize % ports
                };
                let mut first: Vec<usize> = (0..ports).map(|_| draw()).collect();
                let (slots, mut carried) = (40_000, 0);
                for _ in 0..slots {
                    let mut classes = vec![0; ports * ports];
                    first.iter().enumerate().for_each(|(input, &output)| classes[input * ports + output] = 1);
                    let served = pairs(&mut arbiter, &classes);
                    carried += served.len();
                    served.iter().for_each(|&(input, _)| first[input] = draw());
                }
                let load = carried as f64 / (slots * ports) as f64;
                assert!((load - expected).abs() < 0.005, "{kind:?} {ports}: {load}");
            }
        }
    }

    /// Returns all pointers: grants, accepts, turns and the first output.
    fn pointers(arbiter: &Arbiter) -> (&[usize], &[usize], &[u8], usize) {
        (&arbiter.grants, &arbiter.accepts, &arbiter.turns, arbiter.first)
    }

    proptest! {
        #[test]
        fn sets_are_gone_through_from_the_lowest_or_from_a_port_on(set in any::<Ports>(), from in 0..MOST_PORTS) {
            let there = |port: &usize| set >> *port & 1 != 0;
            let all: Vec<usize> = (0..MOST_PORTS).filter(there).collect();
            prop_assert_eq!(ports_of(set).collect::<Vec<_>>(), all.clone());
            let mut folded = vec![];
            ports_of(set).for_each(|port| folded.push(port));
            prop_assert_eq!(folded, all);
            let sought = (from..MOST_PORTS).chain(0..from).find(there);
            prop_assert_eq!(sought, (set != 0).then(|| next(set, from)));
        }
    }

    proptest! {
        #[test]
        fn a_match_is_one_to_one_maximal_and_asked_for(
            ports in 1usize..9,
            requested in prop::collection::vec(prop::collection::vec(0u32..4, 64), 1..20),
            islip in any::<bool>(),
        ) {
            let kind = if islip { Arbitration::Islip } else { Arbitration::RoundRobin };
            // With as many iterations as ports, the match is always maximal.
            let keys = CrossbarKeys { arbitration: kind, iterations: 16, ..CrossbarKeys::default() };
            let mut arbiter = Arbiter::new(&keys, ports);
            for requested in requested {
                let classes = &requested[..ports * ports];
                let mut matches = vec![];
                let left_over = arbiter.pick(&requests(ports, classes), &mut matches);
                prop_assert!(!left_over);
                let (mut taken, mut filled) = (vec![false; ports], vec![false; ports]);
                for one in &matches {
                    prop_assert!(classes[one.input * ports + one.output] >> one.class & 1 != 0);
                    prop_assert!(!taken[one.input] && !filled[one.output]);
                    (taken[one.input], filled[one.output]) = (true, true);
                }
                for input in 0..ports {
                    for output in 0..ports {
                        let idle = !taken[input] && !filled[output];
                        prop_assert!(!(idle && classes[input * ports + output] != 0));
                    }
                }
            }
        }

        /// Tests that the fast path matches a lone request like the general path.
        #[test]
        fn alone_is_as_among_others(
            ports in 1usize..9,
            requested in prop::collection::vec((0usize..8, 0usize..8, 0usize..4), 1..40),
            islip in any::<bool>(),
        ) {
            let kind = if islip { Arbitration::Islip } else { Arbitration::RoundRobin };
            let (mut one, mut other) = (arbiter(kind, ports), arbiter(kind, ports));
            for (input, output, class) in requested {
                let crossing = Crossing { input: input % ports, output: output % ports, class };
                let mut requests = Requests::new(ports);
                add(&mut requests, crossing.input, crossing.output, 1 << class);
                let mut matches = vec![];
                prop_assert!(!one.pick(&requests, &mut matches));
                prop_assert_eq!(matches, [crossing]);
                other.grant_alone(crossing);
                prop_assert_eq!(pointers(&one), pointers(&other));
            }
        }

        /// Tests that the fast path matches requests for one output like the general path, and does not apply to
        /// requests for several.
        #[test]
        fn one_output_is_as_among_others(
            ports in 1usize..9,
            requested in prop::collection::vec(
                prop::collection::vec((0usize..8, 0usize..2, 1u32..16), 1..6),
                1..40,
            ),
            islip in any::<bool>(),
        ) {
            let kind = if islip { Arbitration::Islip } else { Arbitration::RoundRobin };
            let (mut one, mut other) = (arbiter(kind, ports), arbiter(kind, ports));
            for round in requested {
                let mut requests = Requests::new(ports);
                for (input, output, classes) in round {
                    add(&mut requests, input % ports, output % ports, classes);
                }
                let several = !requests.outputs.is_power_of_two();
                let mut matches = vec![];
                let left_over = one.pick(&requests, &mut matches);
                let crossing = other.pick_for_one(&requests);
                prop_assert_eq!(crossing.is_none(), several);
                match crossing {
                    Some(crossing) => prop_assert_eq!((matches, left_over), (vec![crossing], false)),
                    None => {
                        other.pick(&requests, &mut vec![]);
                    }
                }
                prop_assert_eq!(pointers(&one), pointers(&other));
            }
        }

        /// Tests that an input that always has requests is served within a number of matches that is the square of the
        /// number of ports.
        #[test]
        fn nobody_starves(ports in 2usize..7, islip in any::<bool>()) {
            let kind = if islip { Arbitration::Islip } else { Arbitration::RoundRobin };
            let mut arbiter = arbiter(kind, ports);
            let mut served = vec![0; ports * ports];
            for _ in 0..ports * ports * 4 {
                for (input, output) in pairs(&mut arbiter, &vec![1; ports * ports]) {
                    served[input * ports + output] += 1;
                }
            }
            prop_assert!(served.iter().all(|&count| count > 0), "{served:?}");
        }
    }
}
