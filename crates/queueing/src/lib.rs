//! Who may enter a queue, and what a queue tells those who fill it.
//!
//! Limits decide whether there is room: [`BufferSpec`] and [`SharedMemory`]. A queue manager ([`QueueManager`]), one for
//! each queue, decides on marks, early drops and messages. Both are sans-IO: what waits, the time and random bits go in, a
//! verdict comes out.

mod dynamic_threshold;
mod manager;
mod red;
mod sampling;
mod step;
mod tail_drop;

#[cfg(test)]
mod testbed;

pub use dynamic_threshold::{Alpha, Holding, Part, SharedMemory, SharedMemorySpec};
pub use manager::{Configuration, Counts, Fill, FrameFacts, LinkFacts, QueueManager, Verdict};
pub use red::{Action, IdleExponent, Mode, Red, RedParams, Spacing};
pub use sampling::{Sampling, SamplingParams};
pub use step::{Moment, Step, StepParams};
pub use tail_drop::{Backlog, BufferSpec, Refusal};

use units::Time;

/// Makes the closed enum of queue managers, its specification, its dispatch and its pages from one list.
macro_rules! queue_managers {
    ($($(#[$doc:meta])* $name:ident($params:ident) = $text:literal with keys $keys:literal),* $(,)?) => {
        /// Which manager a queue has, with its parameters.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum ManagerSpec {
            $($(#[$doc])* $name($params),)*
        }

        /// A queue manager at work.
        #[derive(Clone, Debug)]
        pub enum Manager {
            $($(#[$doc])* $name($name),)*
        }

        /// Each mechanism's name, the file that is its page, and the definition of its keys in the JSON Schema.
        pub const PAGES: &[(&str, &str, &str)] = &[
            ("tail_drop", include_str!("tail_drop.rs"), "Buffer"),
            ("dynamic_threshold", include_str!("dynamic_threshold.rs"), "DynamicThreshold"),
            $(($text, include_str!(concat!($text, ".rs")), $keys),)*
        ];

        impl ManagerSpec {
            /// All queue managers by the name that a scenario uses.
            pub const NAMES: &[&str] = &[$($text,)*];

            /// Its name.
            pub fn name(&self) -> &'static str {
                match self { $(ManagerSpec::$name(_) => $text,)* }
            }
        }

        impl Configuration for ManagerSpec {
            type Machine = Manager;

            fn check(&self) -> Result<(), (&'static str, String)> {
                match self { $(ManagerSpec::$name(params) => params.check(),)* }
            }
            fn start(&self, link: &LinkFacts) -> Manager {
                match self { $(ManagerSpec::$name(params) => Manager::$name(params.start(link)),)* }
            }
        }

        impl QueueManager for Manager {
            #[inline]
            fn on_enqueue(
                &mut self,
                now: Time,
                fill: &Fill,
                frame: FrameFacts,
                random: &mut impl FnMut() -> u64,
            ) -> Verdict {
                match self { $(Manager::$name(it) => it.on_enqueue(now, fill, frame, random),)* }
            }
            #[inline]
            fn on_dequeue(
                &mut self,
                now: Time,
                fill: &Fill,
                frame: FrameFacts,
                random: &mut impl FnMut() -> u64,
            ) -> Verdict {
                match self { $(Manager::$name(it) => it.on_dequeue(now, fill, frame, random),)* }
            }
        }
    };
}

queue_managers! {
    /// Random early detection.
    Red(RedParams) = "red" with keys "RedKeys",
    /// Step marking.
    Step(StepParams) = "step" with keys "StepKeys",
    /// The sampling notifier.
    Sampling(SamplingParams) = "sampling" with keys "SamplingKeys",
}
