//! Egress schedulers, one file each.
//!
//! A scheduler chooses among the traffic classes of a port that may send: those that have a frame waiting
//! and are not stopped by flow control. It is asked once for each transmission, and only if there is a
//! choice to make.

mod fifo;
mod strict_priority;

pub use fifo::Fifo;
pub use strict_priority::StrictPriority;

use frame::TrafficClass;

/// Makes the closed enum of schedulers, its specification and its dispatch from one list.
macro_rules! schedulers {
    ($($(#[$doc:meta])* $name:ident = $text:literal),* $(,)?) => {
        /// Which scheduler a port runs, with its parameters.
        #[derive(Clone, Debug, PartialEq)]
        pub enum SchedulerSpec { $($(#[$doc])* $name),* }

        /// A scheduler at work.
        #[derive(Clone, Debug)]
        pub enum Scheduler { $($(#[$doc])* $name($name)),* }

        /// Each scheduler's name and the file that is its page.
        pub const PAGES: &[(&str, &str)] = &[$(($text, include_str!(concat!($text, ".rs")))),*];

        impl SchedulerSpec {
            /// All schedulers by the name that a scenario uses.
            pub const NAMES: &[&str] = &[$($text),*];

            /// The scheduler of this name.
            pub fn named(name: &str) -> Option<SchedulerSpec> {
                match name { $($text => Some(SchedulerSpec::$name),)* _ => None }
            }
            /// Its name.
            pub fn name(&self) -> &'static str {
                match self { $(SchedulerSpec::$name => $text),* }
            }
            /// A scheduler with nothing served yet.
            pub fn build(&self) -> Scheduler {
                match self { $(SchedulerSpec::$name => Scheduler::$name($name::default())),* }
            }
        }

        impl Scheduler {
            /// The class to serve next; `eligible` is not empty, bit n for class n.
            #[inline]
            pub fn pick(&mut self, eligible: u8) -> TrafficClass {
                match self { $(Scheduler::$name(scheduler) => scheduler.pick(eligible)),* }
            }
        }
    };
}

schedulers! {
    /// One queue in order of arrival.
    Fifo = "fifo",
    /// The highest non-empty class first.
    StrictPriority = "strict_priority",
}
