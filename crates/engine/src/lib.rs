//! Clock, event windows, named random streams and the run loop of a discrete-event simulation. It is independent of
//! networks.
//!
//! The engine drives a [`World`] of nodes that can only affect each other after a *look-ahead*: an event that one node
//! schedules for another lies at least that far in the future. All events within a window no wider than the look-ahead
//! are therefore known when it begins, and each node handles its own events in order, independently of the others. No
//! order between nodes is defined, so the trajectory does not depend on the order in which nodes run or on the number
//! of threads.
//!
//! The order within a node is the key (time, kind, index): it depends only on the scenario, and never on the order in
//! which events were inserted.
//!
//! The nodes implement [`World`], and a [`Runner`] dispatches their events. Two nodes that send a ball back and forth,
//! with 5 ns between them:
//!
//! ```
//! use engine::{Event, RunStatus, Runner, Windows, World};
//! use units::Time;
//!
//! /// The ball reaches a node.
//! #[derive(Clone, Copy, Default)]
//! struct Ball { time: Time, node: u32 }
//!
//! impl Event for Ball {
//!     fn time(&self) -> Time { self.time }
//!     fn order(&self) -> u32 { 0 }
//! }
//!
//! const LATENCY: Time = Time::from_ns(5);
//!
//! #[derive(Default)]
//! struct Players { hits: [u32; 2] }
//!
//! impl World for Players {
//!     type Event = Ball;
//!     type Cargo = ();
//!     fn nodes(&self) -> usize { 2 }
//!     fn places(&self) -> usize { 2 }
//!     fn node_of(&self, ball: &Ball) -> u32 { ball.node }
//!     fn handle(&mut self, ball: Ball, windows: &mut Windows<Ball>) {
//!         self.hits[ball.node as usize] += 1;
//!         let back = Ball { time: ball.time + LATENCY, node: 1 - ball.node };
//!         windows.send(back, || back.node);
//!     }
//!     fn stopped(&self) -> bool { false }
//! }
//!
//! let mut players = Players::default();
//! let mut runner = Runner::new(&players, LATENCY, 1);
//! runner.windows().push(Ball { time: Time::ZERO, node: 0 });
//! let status = runner.run(&mut players, Time::from_ns(100), u64::MAX);
//! assert!(matches!(status, RunStatus::Done));
//! assert_eq!(players.hits, [10, 10]);
//! ```

#![warn(clippy::too_many_lines)]

mod barrier;
mod coming;
mod random;
mod run;
mod timer;
mod trial;
mod windows;
mod workers;

pub use random::{Stream, stream};
pub use run::{RunStatus, Runner};
pub use timer::Timer;
pub use trial::Way;
pub use windows::Windows;
pub use workers::{Panicked, Shard, Workers};

use units::Time;

/// An event at a node at a point in time. Events are small plain values that are copied in and out of the queue. Unused
/// slots hold the default value, which is never dispatched.
pub trait Event: Copy + Default {
    /// Time of the event.
    fn time(&self) -> Time;
    /// Rank of the event among those of the same node at the same time. Unique among them, and below 2^26.
    fn order(&self) -> u32;
}

/// The nodes of a simulation, and their response to events.
pub trait World {
    /// Event type.
    type Event: Event;
    /// Data to which an event refers, stored in the part of the world that scheduled it. It is moved separately when
    /// the event goes to another part.
    type Cargo: Send;
    /// Number of nodes.
    fn nodes(&self) -> usize;
    /// Number of places that schedule events of their own, such as ports and sources. It is an estimate of the number
    /// of pending events. It must be equal in all parts of a run, because it determines the width of windows.
    fn places(&self) -> usize;
    /// Returns the node that handles the event.
    fn node_of(&self, event: &Self::Event) -> u32;
    /// Handles an event. New events are pushed to `windows`: for the same node at any time from now on, for another
    /// node after the look-ahead.
    fn handle(&mut self, event: Self::Event, windows: &mut Windows<Self::Event>);
    /// Returns true for the most frequent kinds of event. They are handled within the loop, and all others in a separate function: this
    /// affects speed, not results.
    fn is_common(&self, _event: &Self::Event) -> bool {
        true
    }
    /// Returns true if the world is so large that prefetching pays off. Constant during a run.
    fn is_far(&self) -> bool {
        false
    }
    /// Prefetches memory that an event needs, shortly before it runs. A step may read memory that an earlier step
    /// prefetched: each is passed the value that the previous step returned.
    fn fetch<const STEP: usize>(&self, _event: &Self::Event, _found: u32) -> u32 {
        0
    }
    /// Returns true if the run has to end because an invariant is violated.
    fn stopped(&self) -> bool;
    /// Returns true if [`Runner::run_in_order`] must return once all events of the current time have run.
    fn pauses(&self) -> bool {
        false
    }
    /// Removes the cargo of outgoing events from this part, in the order of the events.
    fn pack(&mut self, _mail: &mut [Self::Event], _cargo: &mut Vec<Self::Cargo>) {}
    /// Adds the cargo of incoming events, which [`World::pack`] removed from the part that sent them.
    fn unpack(&mut self, _mail: &mut [Self::Event], _cargo: &mut Vec<Self::Cargo>) {}
}
