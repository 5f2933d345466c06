//! Queue managers: connects the state machines of `queueing` to the queues of a port.

use crate::run::state::links::Links;
use crate::run::state::passed::Passed;
use engine::Stream;
use frame::{CHANNELS, PointId, Priority};
use queueing::{Configuration, Departures, LinkFacts, Manager, ManagerSpec, Measures, QueueManager, Quiet};
use rand_xoshiro::rand_core::Rng;
use recurrence::{Counts, Recurs, Walk};
use units::BitRate;

/// The manager of one queue. Fields common to all managers come first, so that a manager with little state of its own
/// occupies few cache lines.
#[derive(Debug, Recurs)]
#[repr(C, align(64))]
pub(crate) struct Managed {
    #[recurs(with = Managed::walk_random)]
    pub(in crate::run) random: Stream,
    #[recurs(measured)]
    pub(in crate::run) counts: ManagedCounts,
    /// Identifier of the congestion point in its messages.
    #[recurs(constant)]
    pub(in crate::run) point: PointId,
    /// Priority of its messages; `None`: that of the frame.
    #[recurs(constant)]
    pub(in crate::run) message_priority: Option<Priority>,
    /// Octets of the sampled frame that its messages include.
    #[recurs(constant)]
    pub(in crate::run) header_octets: u8,
    /// Counts by class, for a manager of several queues of a port; used in place of `counts`.
    #[recurs(measured)]
    pub(in crate::run) by_class: Option<Box<[ManagedCounts; CHANNELS]>>,
    /// The queues whose frames it measures.
    #[recurs(constant)]
    pub(in crate::run) measures: Measures,
    pub(in crate::run) manager: Manager,
}

/// Counts of the actions of a manager since measurement started.
#[derive(Clone, Copy, Debug, Default, Counts)]
pub(crate) struct ManagedCounts {
    pub marks: u64,
    pub messages: u64,
}

impl Managed {
    /// Visits the position in its random stream.
    fn walk_random(&self, walk: &mut Walk) {
        // Four outputs are the 256 bits of its state.
        let mut random = self.random.clone();
        (0..4).for_each(|_| walk.word(random.next_u64()));
    }

    /// Creates the manager of an empty queue.
    pub fn new(spec: &ManagerSpec, link: &LinkFacts, random: Stream) -> Managed {
        let (manager, message_priority) = (spec.start(link), spec.message_priority().map(Priority));
        let point = link.point;
        let counts = ManagedCounts::default();
        let measures = spec.measures();
        let by_class = (measures == Measures::Port).then(|| Box::new([counts; CHANNELS]));
        let header_octets = spec.header_octets();
        Managed { measures, manager, random, point, message_priority, header_octets, by_class, counts }
    }

    /// Counts of its actions on frames of a class.
    pub fn counts(&self, class: usize) -> ManagedCounts {
        self.by_class.as_ref().map_or(self.counts, |by_class| by_class[class])
    }

    /// Restarts measurement.
    pub fn restart(&mut self) {
        self.counts = ManagedCounts::default();
        if let Some(by_class) = &mut self.by_class {
            by_class.fill(ManagedCounts::default());
        }
    }

    /// Bytes of heap memory.
    pub fn memory_bytes(&self) -> usize {
        self.by_class.as_ref().map_or(0, |by_class| size_of_val(&**by_class))
    }

    /// Returns which departures the manager has to observe.
    pub fn departures(&self) -> Departures {
        match self.manager.departures() {
            // The manager measures frames in other queues as well.
            Departures::LateIfEmpty if self.measures != Measures::Queue => Departures::Late,
            own => own,
        }
    }

    /// Sets a new rate of the link. If thresholds depend on the rate, the queue's period without updates ends.
    pub fn on_link_rate(&mut self, rate: BitRate, passed: &mut Passed) {
        let (manager, counted) = (&mut self.manager, passed.deferred());
        if !manager.has_scaled_thresholds() {
            return manager.on_link_rate(rate);
        }
        if counted.frames > 0 {
            manager.on_deferred(counted.frames, manager.quiet().bytes - counted.left);
        }
        manager.on_link_rate(rate);
        passed.be_quiet(manager.quiet());
    }
}

impl Links {
    /// Starts the managers of all queues.
    pub fn start_managers(&mut self) {
        for (number, port) in self.ports.pairs() {
            let mut departures = self.managers.of_port(port).map(Managed::departures);
            self.cold[number].notes_emptying_only =
                departures.all(|when| matches!(when, Departures::LateIfEmpty | Departures::Ignored));
            for (class, queue) in port.queues().enumerate() {
                let managed = self.managers.of(queue);
                let quiet = managed.map_or(Quiet::ALWAYS, |it| it.manager.quiet());
                self.passed.of_mut(number, class).be_quiet(quiet);
            }
        }
        self.stamps_returned = self.managers.iter().any(|it| it.manager.stamps_returned());
    }
}
