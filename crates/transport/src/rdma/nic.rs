//! Limits of an RDMA NIC: message rate and the cache of queue pair contexts.
//!
//! A NIC starts at most a given number of messages per second, regardless of their length. It caches the contexts of
//! the most recently used queue pairs. Before it sends a packet of another queue pair, it fetches the context from
//! host memory. Fetches take place one after another, and each takes `context_fetch`. Queue pairs with a cached context
//! overtake those that wait for a fetch. If N queue pairs send in round-robin order, the cache has no effect as long
//! as N contexts fit. If they do not fit, each packet needs a fetch, because the least recently used context is
//! replaced just before its next use.
//!
//! Source: A. Kalia, M. Kaminsky and D. Andersen, "Design Guidelines for High Performance RDMA Systems", USENIX ATC
//! 2016 (messages per second; contexts of queue pairs in the memory of the NIC).
//!
//! Not modelled: contexts of receivers and of memory regions, concurrent fetches, cache replacement policies other
//! than least recently used.

use keys::{Remark, Unused};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use units::Time;

/// Keys of the NICs of hosts that send over RDMA.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NicLimits {
    /// Maximum number of messages that the NIC starts per second: SENDs, WRITEs and READ responses. A count, 1 to 1000000000000. Default: none (unlimited; current NICs start about 200 million).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000000000000u64))]
    pub message_rate: Option<u64>,
    /// Number of queue pair contexts in the cache of the NIC (least recently used replacement). A count, 1 to 100000000. Default: none (all).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100000000))]
    pub contexts: Option<u64>,
    /// Time to fetch a context that is not in the cache; with `contexts`. A time with unit. Default: "500 ns" (a read over PCIe).
    pub context_fetch: Time,
}

impl Default for NicLimits {
    fn default() -> NicLimits {
        NicLimits { message_rate: None, contexts: None, context_fetch: Time::from_ns(500) }
    }
}

impl NicLimits {
    /// Validates the keys; returns one remark per invalid value.
    pub fn check(&self) -> Vec<Remark> {
        let counts = [
            ("message_rate", self.message_rate, 1_000_000_000_000, "messages a second"),
            ("contexts", self.contexts, 100_000_000, "contexts"),
        ];
        let wrong = counts.into_iter().filter_map(|(key, value, most, what)| {
            let value = value.filter(|value| !(1..=most).contains(value))?;
            let help = format!("expected 1 to {most}");
            Some(Remark::about(key, format!("{value} {what}"), help))
        });
        wrong.collect()
    }
    /// Returns the keys that have no effect.
    pub fn unused(&self) -> Vec<Remark> {
        Unused::of(self, &NicLimits::default())
            .unless(self.contexts.is_some(), "`contexts`", &["context_fetch"])
            .remarks()
    }
    /// Creates a NIC with these limits.
    pub fn start(&self) -> SharedNic {
        Arc::new(Mutex::new(NicState {
            gap: self
                .message_rate
                .map_or(Time::ZERO, |rate| Time::from_ps(1_000_000_000_000_u64.div_ceil(rate))),
            next_message: Time::ZERO,
            room: self.contexts.map_or(usize::MAX, |contexts| contexts as usize),
            fetch: self.context_fetch,
            fetched: Time::ZERO,
            used: 0,
            contexts: BTreeMap::new(),
            by_use: BTreeMap::new(),
        }))
    }
}

/// The NIC through which all endpoints of a host send.
pub type SharedNic = Arc<Mutex<NicState>>;

/// The state of a NIC.
#[derive(Clone, Debug)]
pub struct NicState {
    gap: Time,
    next_message: Time,
    room: usize,
    fetch: Time,
    /// Time at which the last fetch ends.
    fetched: Time,
    used: u64,
    /// Last use of each context, as a sequence number of uses.
    contexts: BTreeMap<u64, u64>,
    by_use: BTreeMap<u64, u64>,
}

impl NicState {
    /// Returns the time at which the NIC is ready for the next packet of a queue pair, and true if it has to fetch the
    /// context. `begins` is true if the packet begins a message.
    pub fn admit(&mut self, pair: u64, begins: bool, now: Time) -> (Time, bool) {
        let (mut at, mut missed) = (now, false);
        if self.room < usize::MAX {
            missed = !self.touch(pair);
            if missed {
                self.fetched = self.fetched.max(now).saturating_add(self.fetch);
                at = self.fetched;
            }
        }
        if begins && self.gap > Time::ZERO {
            at = at.max(self.next_message);
            self.next_message = at.saturating_add(self.gap);
        }
        (at, missed)
    }

    /// Uses a context. Returns true if it was cached.
    fn touch(&mut self, pair: u64) -> bool {
        self.used += 1;
        let before = self.contexts.insert(pair, self.used);
        if let Some(before) = before {
            self.by_use.remove(&before);
        }
        self.by_use.insert(self.used, pair);
        if self.contexts.len() > self.room
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            self.contexts.remove(&oldest);
        }
        before.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nic(limits: NicLimits) -> NicState {
        limits.start().lock().unwrap().clone()
    }

    #[test]
    fn messages_begin_at_their_rate() {
        let mut it = nic(NicLimits { message_rate: Some(1_000_000), ..NicLimits::default() });
        let begun: Vec<Time> = (0..4).map(|n| it.admit(n, true, Time::ZERO).0).collect();
        assert_eq!(begun, [0, 1, 2, 3].map(Time::from_us));
        // Packets in the middle of a message do not wait.
        assert_eq!(it.admit(0, false, Time::ZERO), (Time::ZERO, false));
        assert_eq!(it.admit(0, true, Time::from_us(9)).0, Time::from_us(9));
        // The message rate does not exceed the limit, even if a second is not a whole number of gaps.
        let mut it = nic(NicLimits { message_rate: Some(3_000_000), ..NicLimits::default() });
        let begun = (0..3_000_001).map(|n| it.admit(n, true, Time::ZERO).0);
        assert!(begun.last() >= Some(Time::from_us(1_000_000)));
    }

    #[test]
    fn queue_pairs_in_turn_miss_as_soon_as_there_is_one_too_many() {
        let ns = Time::from_ns;
        let limits = NicLimits { contexts: Some(4), context_fetch: ns(500), ..NicLimits::default() };
        for many in [4, 5] {
            let mut it = nic(limits);
            let missed: Vec<bool> = (0..40).map(|n| it.admit(n % many, false, Time::from_us(n)).1).collect();
            let misses = missed.iter().filter(|missed| **missed).count() as u64;
            assert_eq!(misses, if many == 4 { 4 } else { 40 });
        }
        // Fetches are sequential.
        let mut it = nic(limits);
        assert_eq!(it.admit(1, false, Time::ZERO).0, ns(500));
        assert_eq!(it.admit(2, false, ns(100)).0, ns(1_000));
        assert_eq!(it.admit(1, false, ns(600)), (ns(600), false));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let none = NicLimits { contexts: Some(0), ..NicLimits::default() };
        assert!(none.check()[0].to_string().contains("0 contexts"));
        assert_eq!(NicLimits::default().check(), []);
    }
}
