//! Digests of a simulation's state. Digests at two times are equal if the state evolves equally from both times,
//! shifted in time.
//!
//! A [`Walk`] visits the fields of a state in a fixed order. Each field has a class. [`Recurs`] is derived, so that no
//! field can be forgotten: a field without a class is visited with the default.
//!
//! | class | in the digest |
//! |---|---|
//! | exact (the default) | its bits; a list with its length |
//! | instant (the default of a [`Time`]) | the time since then, or until then |
//! | `past` | the time until then, 0 if it is over: where no other property is used |
//! | `duration` | its bits |
//! | `label` | the distance from the phase of the walk: of messages that are numbered by phases |
//! | `from = EXPRESSION` | the distance from a number of its owner, such as the first packet in flight |
//! | `constant`, `scratch` | nothing: it does not change, or is empty between events |
//! | `measured`, `recorded` | nothing: it decides nothing. Measured counters grow by the same amount in each period ([`Growth`]); recorded lists, extremes and instants do not |
//! | `unknown`, `unless_empty` | it has no class yet: the state is unknown, and never equals another one |
//!
//! A class that is too strict only hides a recurrence. A field that is omitted by mistake makes different states
//! compare equal. Each recurrence is therefore confirmed by another period.
//!
//! ```
//! use recurrence::{Recurs, Walk};
//! use units::Time;
//!
//! #[derive(Recurs)]
//! struct Sender {
//!     /// First packet in flight: others count from it.
//!     #[recurs(scratch)]
//!     first: u64,
//!     #[recurs(from = self.first)]
//!     next: u64,
//!     deadline: Time,
//!     #[recurs(past)]
//!     busy_until: Time,
//! }
//!
//! let digest = |first: u64, us: u64| {
//!     let (deadline, busy_until) = (Time::from_us(us + 7), Time::from_us(us - 1));
//!     let mut walk = Walk::new(Time::from_us(us));
//!     Sender { first, next: first + 3, deadline, busy_until }.walk(&mut walk);
//!     walk.digest()
//! };
//! assert_eq!(digest(10, 100), digest(900, 350));
//! ```

#![warn(clippy::too_many_lines)]

mod growth;
mod known;
mod walk;

pub use growth::{Counts, Growth, grow_map};
pub use recurrence_derive::{Counts, Recurs};
pub use walk::{Digest, Walk};

/// A state whose future depends only on what a walk over it visits.
pub trait Recurs {
    /// Visits every field that affects the future of the state.
    fn walk(&self, walk: &mut Walk);
    /// Visits every counter. By default there is none.
    fn grow(&mut self, _growth: &mut Growth) {}
}

/// A number that is relative to another number.
pub trait Numbered {
    /// Type of the number that it is relative to.
    type Base;
    /// Visits the distance from `base`. The maximum stands for no number.
    fn walk_from(&self, base: Self::Base, walk: &mut Walk);
}

/// A container or an option.
pub trait MaybeEmpty {
    /// Returns true if the value is empty.
    fn holds_nothing(&self) -> bool;
}
