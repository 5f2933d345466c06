//! Egress schedulers, one file each.
//!
//! A scheduler decides which queue of a port sends next. Its only inputs are the calls of
//! [`Discipline`]: which queues may send and how long their heads are. A queue may send if it holds
//! a frame and flow control (a pause, missing credits) does not stop it. It can lose that eligibility
//! at any time, even if its head already has a service tag. Schedulers are sans-IO: plain data and
//! `now` are the inputs, decisions are the outputs.
//!
//! ```
//! use scheduling::{Configuration, Discipline, PortFacts, SchedulerSpec};
//! use units::{BitRate, Time};
//!
//! let port = PortFacts { queues: 2, ..PortFacts::ethernet(BitRate::from_gbps(10)) };
//! let mut scheduler = SchedulerSpec::StrictPriority.start(&port);
//! scheduler.activate(0, 1500, Time::ZERO);
//! scheduler.activate(1, 64, Time::ZERO);
//! assert_eq!(scheduler.pick(Time::ZERO), Some(1));
//! ```

#![warn(clippy::too_many_lines)]

mod accounted_length;
mod bound;
mod bucket;
mod credit;
mod discipline;
mod drr;
mod drr_awc;
mod dtable;
mod ets;
mod ets_class;
mod fifo;
mod in_service;
mod learner;
mod min_bw;
mod port;
mod ready;
mod ring;
mod scfq;
mod scfq_ca;
mod selector;
mod shaper;
mod strict_priority;
mod table;
mod tags;
mod vc_table;
mod weights;
mod wf2q_plus;
mod wfq;
mod wrr;

#[cfg(test)]
mod bed;
#[cfg(test)]
mod delays;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod testbed;

pub use accounted_length::{AccountedLength, Basis, PortLength};
pub use bound::LatencyRate;
pub use bucket::{LeakyBucket, Shaper, TokenBucket};
pub use discipline::{Configuration, Discipline};
pub use drr_awc::{BINS, Formula, Histogram, Metric, Mix, Representative, TopBin, TotalWeight, WeightRule};
pub use dtable::{Entry, WeightedEntry};
pub use ets_class::{EtsClass, Selection};
pub use learner::{Counters, Learner};
pub use port::{PortFacts, Share};
pub use selector::Selector;
pub use shaper::{ClassShaper, LeakyBucketKeys, ShaperSpec, TokenBucketKeys};
pub use weights::Weights;

use keys::{Choice, Keyed, Remark, Remarks, by_form};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use units::{BitRate, Time};

/// The calls on the path of a frame, each compiled separately. Inlined into one function, each would save the registers
/// that the largest of them needs: some hundred instructions per decision.
mod apart {
    use super::{Discipline, Time};

    #[inline(never)]
    pub fn arrive(it: &mut impl Discipline, queue: u32, bytes: u32, now: Time) {
        it.arrive(queue, bytes, now);
    }
    #[inline(never)]
    pub fn activate(it: &mut impl Discipline, queue: u32, head: u32, now: Time) {
        it.activate(queue, head, now);
    }
    #[inline(never)]
    pub fn deactivate(it: &mut impl Discipline, queue: u32, now: Time) {
        it.deactivate(queue, now);
    }
    #[inline(never)]
    pub fn pick(it: &mut impl Discipline, now: Time) -> Option<u32> {
        it.pick(now)
    }
    #[inline(never)]
    pub fn sent(it: &mut impl Discipline, queue: u32, bytes: u32, now: Time) {
        it.sent(queue, bytes, now);
    }
    #[inline(never)]
    pub fn completed(it: &mut impl Discipline, queue: u32, next: Option<u32>, now: Time) {
        it.completed(queue, next, now);
    }
    #[inline(never)]
    pub fn pass(it: &mut impl Discipline, queue: u32, bytes: u32, now: Time) -> bool {
        it.pass(queue, bytes, now)
    }
}

/// Defines the closed enum of schedulers, its specification and its dispatch from one list.
macro_rules! schedulers {
    (
        plain { $($(#[doc = $plain_doc:literal])+ $plain_file:ident: $plain:ident($plain_params:ident)),* $(,)? }
        configured { $($(#[doc = $doc:literal])+ $file:ident: $name:ident($params:ident)),* $(,)? }
    ) => {
        $(pub use $plain_file::{$plain, $plain_params};)*
        $(pub use $file::{$name, $params};)*

        /// The scheduler of a port, with its parameters.
        #[derive(Clone, Debug, PartialEq)]
        pub enum SchedulerSpec {
            $($(#[doc = $plain_doc])+ $plain,)*
            $($(#[doc = $doc])+ $name($params),)*
        }

        /// Compares parameters and state. A scheduler whose state holds absolute values, such as a virtual time, never
        /// equals a later state of its own.
        impl recurrence::Recurs for Scheduler {
            fn walk(&self, walk: &mut recurrence::Walk) {
                match self {
                    Scheduler::StrictPriority(own) => own.walk(walk),
                    other => walk.shown(other),
                }
            }
        }

        /// The state of a scheduler.
        #[derive(Clone, Debug)]
        pub enum Scheduler {
            $($(#[doc = $plain_doc])+ $plain($plain),)*
            $($(#[doc = $doc])+ $name($name),)*
        }

        /// By scheduler: its name, the source file of its reference page, and the definition of its keys in the JSON
        /// Schema.
        pub const PAGES: &[(&str, &str, &str)] = &[
            $((stringify!($plain_file), include_str!(concat!(stringify!($plain_file), ".rs")), ""),)*
            $((stringify!($file), include_str!(concat!(stringify!($file), ".rs")), stringify!($params)),)*
        ];

        impl SchedulerSpec {
            /// Names of all schedulers in a scenario.
            pub const NAMES: &[&str] = &[$(stringify!($plain_file),)* $(stringify!($file),)*];

            /// Returns the scheduler's name in a scenario.
            pub fn name(&self) -> &'static str {
                match self { $(SchedulerSpec::$plain => stringify!($plain_file),)* $(SchedulerSpec::$name(_) => stringify!($file),)* }
            }
        }

        impl Configuration for SchedulerSpec {
            type Machine = Scheduler;

            fn complete(&mut self) {
                match self {
                    $(SchedulerSpec::$plain => {})*
                    $(SchedulerSpec::$name(params) => params.complete(),)*
                }
            }
            /// Checks the parameters. Paths of remarks begin at the name of the scheduler, if the scheduler has keys.
            fn check(&self, port: &PortFacts) -> Remarks {
                match self {
                    $(SchedulerSpec::$plain => $plain_params.check(port),)*
                    $(SchedulerSpec::$name(params) => match params.check(port) {
                        Ok(warnings) => Ok(warnings.into_iter().map(|one| one.within(stringify!($file))).collect()),
                        Err(why) => Err(why.within(stringify!($file))),
                    })*
                }
            }
            fn unused(&self, used: u32) -> Vec<Remark> {
                let within = |all: Vec<Remark>, name| all.into_iter().map(|one| one.within(name)).collect();
                match self {
                    $(SchedulerSpec::$plain => $plain_params.unused(used),)*
                    $(SchedulerSpec::$name(params) => within(params.unused(used), stringify!($file)),)*
                }
            }
            fn start(&self, port: &PortFacts) -> Scheduler {
                match self {
                    $(SchedulerSpec::$plain => Scheduler::$plain($plain_params.start(port)),)*
                    $(SchedulerSpec::$name(params) => Scheduler::$name(params.start(port)),)*
                }
            }
            fn latency_rate_bound(&self, queue: u32, port: &PortFacts) -> Option<LatencyRate> {
                match self {
                    $(SchedulerSpec::$plain => $plain_params.latency_rate_bound(queue, port),)*
                    $(SchedulerSpec::$name(params) => params.latency_rate_bound(queue, port),)*
                }
            }
        }

        impl Choice for SchedulerSpec {
            const EXPECTED: &'static str = "the name of a scheduler, or a table of that name with its keys";
            const NAMES: &'static [&'static str] = SchedulerSpec::NAMES;
            const WITH_KEYS: &'static [&'static str] = &[$(stringify!($file),)*];
            const TABLE: &'static str = "switch.scheduler";

            fn plain(name: &str) -> Option<SchedulerSpec> {
                $(if name == stringify!($plain_file) {
                    return Some(SchedulerSpec::$plain);
                })*
                None
            }
            fn keyed<'de, D: Deserializer<'de>>(name: &str, table: D) -> Result<SchedulerSpec, D::Error> {
                $(if name == stringify!($file) {
                    return $params::deserialize(table).map(SchedulerSpec::$name);
                })*
                Err(serde::de::Error::unknown_variant(name, Self::WITH_KEYS))
            }
        }
        by_form!(SchedulerSpec);

        impl Serialize for SchedulerSpec {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(SchedulerSpec::$plain => serializer.serialize_str(stringify!($plain_file)),)*
                    $(SchedulerSpec::$name(params) => {
                        serializer.serialize_newtype_variant("Scheduler", 0, stringify!($file), params)
                    })*
                }
            }
        }

        impl JsonSchema for SchedulerSpec {
            fn schema_name() -> Cow<'static, str> {
                "Scheduler".into()
            }
            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                let plain = [$((stringify!($plain_file), concat!($($plain_doc),+).trim()),)*];
                let keyed = vec![$(Keyed::new::<$params>(stringify!($file), concat!($($doc),+).trim(), generator),)*];
                keys::schema("Scheduler of the egress queues: a name, with its defaults, or a table of that name with its keys.", &plain, keyed)
            }
        }

        impl Discipline for Scheduler {
            #[inline]
            fn arrive(&mut self, queue: u32, bytes: u32, now: Time) {
                match self {
                    $(Scheduler::$plain(it) => it.arrive(queue, bytes, now),)*
                    $(Scheduler::$name(it) => apart::arrive(it, queue, bytes, now),)*
                }
            }
            #[inline]
            fn activate(&mut self, queue: u32, head: u32, now: Time) {
                match self {
                    $(Scheduler::$plain(it) => it.activate(queue, head, now),)*
                    $(Scheduler::$name(it) => apart::activate(it, queue, head, now),)*
                }
            }
            #[inline]
            fn deactivate(&mut self, queue: u32, now: Time) {
                match self {
                    $(Scheduler::$plain(it) => it.deactivate(queue, now),)*
                    $(Scheduler::$name(it) => apart::deactivate(it, queue, now),)*
                }
            }
            #[inline]
            fn pick(&mut self, now: Time) -> Option<u32> {
                match self {
                    $(Scheduler::$plain(it) => it.pick(now),)*
                    $(Scheduler::$name(it) => apart::pick(it, now),)*
                }
            }
            #[inline]
            fn sent(&mut self, queue: u32, bytes: u32, now: Time) {
                match self {
                    $(Scheduler::$plain(it) => it.sent(queue, bytes, now),)*
                    $(Scheduler::$name(it) => apart::sent(it, queue, bytes, now),)*
                }
            }
            #[inline]
            fn completed(&mut self, queue: u32, next: Option<u32>, now: Time) {
                match self {
                    $(Scheduler::$plain(it) => it.completed(queue, next, now),)*
                    $(Scheduler::$name(it) => apart::completed(it, queue, next, now),)*
                }
            }
            fn replace_head(&mut self, queue: u32, head: u32, now: Time) {
                match self {
                    $(Scheduler::$plain(it) => it.replace_head(queue, head, now),)*
                    $(Scheduler::$name(it) => it.replace_head(queue, head, now),)*
                }
            }
            fn forget(&mut self, queue: u32, now: Time) {
                match self {
                    $(Scheduler::$plain(it) => it.forget(queue, now),)*
                    $(Scheduler::$name(it) => it.forget(queue, now),)*
                }
            }
            fn stall(&mut self, now: Time) {
                match self {
                    $(Scheduler::$plain(it) => it.stall(now),)*
                    $(Scheduler::$name(it) => it.stall(now),)*
                }
            }
            fn on_link_rate(&mut self, rate: BitRate, now: Time) {
                match self {
                    $(Scheduler::$plain(it) => it.on_link_rate(rate, now),)*
                    $(Scheduler::$name(it) => it.on_link_rate(rate, now),)*
                }
            }
            #[inline]
            fn pass(&mut self, queue: u32, bytes: u32, now: Time) -> bool {
                match self {
                    $(Scheduler::$plain(it) => it.pass(queue, bytes, now),)*
                    $(Scheduler::$name(it) => apart::pass(it, queue, bytes, now),)*
                }
            }
            fn wake(&mut self, now: Time) -> Option<Time> {
                match self {
                    $(Scheduler::$plain(it) => it.wake(now),)*
                    $(Scheduler::$name(it) => it.wake(now),)*
                }
            }
            #[inline]
            fn idle(&mut self, now: Time) {
                match self {
                    $(Scheduler::$plain(it) => it.idle(now),)*
                    $(Scheduler::$name(it) => it.idle(now),)*
                }
            }
        }
    };
}

schedulers! {
    plain {
        /// One queue in order of arrival.
        fifo: Fifo(FifoParams),
        /// The highest non-empty queue first.
        strict_priority: StrictPriority(StrictPriorityParams),
    }
    configured {
        /// Weighted round robin by packets.
        wrr: Wrr(WrrParams),
        /// Deficit round robin, weighted or not.
        drr: Drr(DrrParams),
        /// Deficit round robin whose weights follow the sizes of the frames.
        drr_awc: DrrAwc(DrrAwcParams),
        /// Weighted fair queueing: packet-by-packet generalised processor sharing.
        wfq: Wfq(WfqParams),
        /// Worst-case fair weighted fair queueing.
        wf2q_plus: Wf2qPlus(Wf2qPlusParams),
        /// Self-clocked fair queueing.
        scfq: Scfq(ScfqParams),
        /// Credit-aware self-clocked fair queueing.
        scfq_ca: ScfqCa(ScfqCaParams),
        /// The virtual channel arbitration table of Advanced Switching.
        vc_table: VcTable(VcTableParams),
        /// The deficit table.
        dtable: DTable(DTableParams),
        /// The minimum-bandwidth scheduler of Advanced Switching.
        min_bw: MinBw(MinBwParams),
        /// Enhanced transmission selection.
        ets: Ets(EtsParams),
        /// Any scheduler behind token or leaky buckets.
        shaper: Shaped(ShapedParams),
    }
}

/// Description of the key of a station that names a scheduler, for the reference.
pub const KEY: &str = "Scheduler of the egress queues: the name of a scheduler, or a table of that name with \
    its keys. Default: \"strict_priority\" (IEEE 802.1Q 8.6.8.1), or \"fifo\" if there is one queue.";

impl SchedulerSpec {
    /// Returns the default scheduler of a port with `queues` queues.
    pub fn default_for(queues: usize) -> SchedulerSpec {
        if queues == 1 { SchedulerSpec::Fifo } else { SchedulerSpec::StrictPriority }
    }
    /// Returns true if any class, whatever its priority, may get less than the rate of the link while others have
    /// frames.
    pub fn shares_by_weight(&self) -> bool {
        !matches!(self, SchedulerSpec::Fifo | SchedulerSpec::StrictPriority)
    }
}
