//! All ways to repair losses, and their dispatch.

use crate::fast_recovery::FastRecovery;
use crate::newreno::NewReno;
use crate::repair::{Chosen, Flight, OnDuplicate, OnProgress, Repair};
use crate::sack::Sack;
use crate::scoreboard::Blocks;
use crate::tahoe::Tahoe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Makes the closed enum of repairs and its dispatch from one list.
macro_rules! repairs {
    ($($(#[$doc:meta])* $name:ident = $machine:ident),* $(,)?) => {
        /// How losses are found and repaired.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
        #[serde(rename_all = "lowercase")]
        pub enum RepairKind {
            $($(#[$doc])* $name,)*
        }

        /// A repair at work.
        #[derive(Clone, Debug)]
        pub enum Repairer {
            $($(#[$doc])* $name($machine),)*
        }

        impl RepairKind {
            /// All kinds.
            pub const ALL: &[RepairKind] = &[$(RepairKind::$name,)*];

            /// The machine at work.
            pub fn start(self) -> Repairer {
                match self { $(RepairKind::$name => Repairer::$name($machine::default()),)* }
            }
        }

        impl Repair for Repairer {
            fn on_duplicate(&mut self, flight: &Flight) -> OnDuplicate {
                match self { $(Repairer::$name(it) => it.on_duplicate(flight),)* }
            }
            fn on_progress(&mut self, flight: &Flight, acknowledged: u64) -> OnProgress {
                match self { $(Repairer::$name(it) => it.on_progress(flight, acknowledged),)* }
            }
            fn on_timeout(&mut self, flight: &Flight) {
                match self { $(Repairer::$name(it) => it.on_timeout(flight),)* }
            }
            fn duplicates(&self) -> u32 {
                match self { $(Repairer::$name(it) => it.duplicates(),)* }
            }
            fn is_repairing(&self) -> bool {
                match self { $(Repairer::$name(it) => it.is_repairing(),)* }
            }
            #[inline(always)]
            fn is_quiet(&self) -> bool {
                match self { $(Repairer::$name(it) => it.is_quiet(),)* }
            }
            fn inflation(&self) -> i64 {
                match self { $(Repairer::$name(it) => it.inflation(),)* }
            }
            fn on_blocks(&mut self, flight: &Flight, blocks: &Blocks) {
                match self { $(Repairer::$name(it) => it.on_blocks(flight, blocks),)* }
            }
            fn on_acknowledged(&mut self, flight: &Flight, acknowledged: u64, window: u64) {
                match self { $(Repairer::$name(it) => it.on_acknowledged(flight, acknowledged, window),)* }
            }
            fn choose(&self, flight: &Flight, sendable: u64, window: u64) -> Chosen {
                match self { $(Repairer::$name(it) => it.choose(flight, sendable, window),)* }
            }
            fn on_sent(&mut self, flight: &Flight, from: u64, to: u64) {
                match self { $(Repairer::$name(it) => it.on_sent(flight, from, to),)* }
            }
            fn memory_bytes(&self) -> usize {
                match self { $(Repairer::$name(it) => it.memory_bytes(),)* }
            }
            fn skip(&self, from: u64) -> u64 {
                match self { $(Repairer::$name(it) => it.skip(from),)* }
            }
            fn arrived_before(&self, end: u64) -> u64 {
                match self { $(Repairer::$name(it) => it.arrived_before(end),)* }
            }
        }
    };
}

repairs! {
    /// Starts over with a window of one segment.
    Tahoe = Tahoe,
    /// Fast retransmit and fast recovery (RFC 5681).
    Reno = FastRecovery,
    /// Fills one hole a round trip (RFC 6582).
    NewReno = NewReno,
    /// Fills all holes that it knows of (RFC 6675).
    Sack = Sack,
}
