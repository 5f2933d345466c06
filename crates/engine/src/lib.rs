//! Clock, event windows, named random streams and the run loop. No network word in here.
//!
//! The engine drives a [`World`] of nodes that can only affect each other after a *look-ahead*: an event
//! that one node makes for another lies at least that far in the future. So all events within a window
//! no wider than that can be collected, and each node can run its own, in its own order, without asking the
//! others. No order between nodes exists, none is needed, and that is why the trajectory does not depend
//! on who runs first or on how many threads.
//!
//! The order within a node is the key (time, kind, index): it depends on the scenario alone, never on the
//! order in which events were inserted.

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

/// Something that happens at a node at a time. Small and plain: it is copied in and out. Free memory holds the
/// default, which never happens.
pub trait Event: Copy + Default {
    /// When it happens.
    fn time(&self) -> Time;
    /// Orders events of one node at one time; unique among them. Below 2^26.
    fn order(&self) -> u32;
}

/// The nodes, and what they do when an event reaches them.
pub trait World {
    /// The kinds of event.
    type Event: Event;
    /// What some events leave behind in the part of the world that made them, and takes its own way to other parts.
    type Cargo: Send;
    /// How many nodes there are.
    fn nodes(&self) -> usize;
    /// How many places make events of their own, like ports and sources: about as many pend at once. The same in all
    /// parts of a run: it decides how wide windows are.
    fn places(&self) -> usize;
    /// The node at which the event happens.
    fn node_of(&self, event: &Self::Event) -> u32;
    /// Handles an event. New events go to `windows`: at any time from now on for the same node, after
    /// the look-ahead for another.
    fn handle(&mut self, event: Self::Event, windows: &mut Windows<Self::Event>);
    /// Whether it is one of those that happen most: they are handled within the loop, all others in a function of its
    /// own. It decides how fast that is, not what it does.
    fn is_common(&self, _event: &Self::Event) -> bool {
        true
    }
    /// Whether it is so large that what an event needs is worth fetching before it runs. The same from beginning to end.
    fn is_far(&self) -> bool {
        false
    }
    /// An event runs soon: fetches the memory that it needs. That takes several steps, because what one of them fetches says
    /// what the next one has to: each is given what the one before it returned.
    fn fetch<const STEP: usize>(&self, _event: &Self::Event, _found: u32) -> u32 {
        0
    }
    /// Returns true if the run has to end: an invariant is broken.
    fn stopped(&self) -> bool;
    /// Returns true if [`Runner::run_in_order`] is to come back after the present instant.
    fn pauses(&self) -> bool {
        false
    }
    /// Events leave for another part: takes what they left behind out of this one, in their order.
    fn pack(&mut self, _mail: &mut [Self::Event], _cargo: &mut Vec<Self::Cargo>) {}
    /// They have come here: takes in what [`World::pack`] took out there.
    fn unpack(&mut self, _mail: &mut [Self::Event], _cargo: &mut Vec<Self::Cargo>) {}
}
