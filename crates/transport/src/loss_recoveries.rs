//! The closed list of loss recoveries, and their dispatch.

use crate::fast_recovery::FastRecovery;
use crate::loss_recovery::{Chosen, Flight, LossRecovery, OnDuplicate, OnProgress};
use crate::newreno::NewReno;
use crate::sack::Sack;
use crate::scoreboard::Blocks;
use crate::tahoe::Tahoe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Defines the closed enum of loss recoveries and its dispatch from one list.
macro_rules! loss_recoveries {
    ($($(#[$doc:meta])* $name:ident = $machine:ident),* $(,)?) => {
        /// Detection and repair of losses.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
        #[serde(rename_all = "lowercase")]
        pub enum LossRecoveryKind {
            $($(#[$doc])* $name,)*
        }

        /// The state of a loss recovery.
        #[derive(Clone, Debug)]
        pub enum ActiveLossRecovery {
            $($(#[$doc])* $name($machine),)*
        }

        impl LossRecoveryKind {
            /// All kinds of loss recovery.
            pub const ALL: &[LossRecoveryKind] = &[$(LossRecoveryKind::$name,)*];

            /// Creates the state of the loss recovery.
            pub fn start(self) -> ActiveLossRecovery {
                match self { $(LossRecoveryKind::$name => ActiveLossRecovery::$name($machine::default()),)* }
            }
        }

        impl LossRecovery for ActiveLossRecovery {
            fn on_duplicate(&mut self, flight: &Flight) -> OnDuplicate {
                match self { $(ActiveLossRecovery::$name(it) => it.on_duplicate(flight),)* }
            }
            fn on_progress(&mut self, flight: &Flight, acknowledged: u64) -> OnProgress {
                match self { $(ActiveLossRecovery::$name(it) => it.on_progress(flight, acknowledged),)* }
            }
            fn on_timeout(&mut self, flight: &Flight) {
                match self { $(ActiveLossRecovery::$name(it) => it.on_timeout(flight),)* }
            }
            fn duplicates(&self) -> u32 {
                match self { $(ActiveLossRecovery::$name(it) => it.duplicates(),)* }
            }
            fn is_recovering(&self) -> bool {
                match self { $(ActiveLossRecovery::$name(it) => it.is_recovering(),)* }
            }
            #[inline(always)]
            fn is_quiet(&self) -> bool {
                match self { $(ActiveLossRecovery::$name(it) => it.is_quiet(),)* }
            }
            fn inflation(&self) -> i64 {
                match self { $(ActiveLossRecovery::$name(it) => it.inflation(),)* }
            }
            fn on_blocks(&mut self, flight: &Flight, blocks: &Blocks) {
                match self { $(ActiveLossRecovery::$name(it) => it.on_blocks(flight, blocks),)* }
            }
            fn on_acknowledged(&mut self, flight: &Flight, acknowledged: u64, window: u64) {
                match self { $(ActiveLossRecovery::$name(it) => it.on_acknowledged(flight, acknowledged, window),)* }
            }
            fn choose(&self, flight: &Flight, sendable: u64, window: u64) -> Chosen {
                match self { $(ActiveLossRecovery::$name(it) => it.choose(flight, sendable, window),)* }
            }
            fn on_sent(&mut self, flight: &Flight, from: u64, to: u64) {
                match self { $(ActiveLossRecovery::$name(it) => it.on_sent(flight, from, to),)* }
            }
            fn memory_bytes(&self) -> usize {
                match self { $(ActiveLossRecovery::$name(it) => it.memory_bytes(),)* }
            }
            fn skip(&self, from: u64) -> u64 {
                match self { $(ActiveLossRecovery::$name(it) => it.skip(from),)* }
            }
            fn arrived_before(&self, end: u64) -> u64 {
                match self { $(ActiveLossRecovery::$name(it) => it.arrived_before(end),)* }
            }
        }
    };
}

loss_recoveries! {
    /// Restarts with a window of one segment.
    Tahoe = Tahoe,
    /// Fast retransmit and fast recovery (RFC 5681).
    Reno = FastRecovery,
    /// Recovers one lost segment per round trip (RFC 6582).
    NewReno = NewReno,
    /// Retransmits all holes of its scoreboard (RFC 6675).
    Sack = Sack,
}
