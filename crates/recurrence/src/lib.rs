//! A digest of a state that is equal at two times if what follows is the same, shifted in time.
//!
//! A [`Walk`] visits the fields of a state in a fixed order. Each field has a class, and [`Recurs`], which is derived, makes the
//! compiler name every field: one without a class is walked.
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
//! A class that is too strict only hides a recurrence. A field left out by mistake makes two states equal that are not, so that each
//! recurrence is confirmed by another period.
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

/// A state whose future is decided by what a walk over it visits.
pub trait Recurs {
    /// Visits every field that decides what follows.
    fn walk(&self, walk: &mut Walk);
    /// Visits every counter that it measures. By default there is none.
    fn grow(&mut self, _growth: &mut Growth) {}
}

/// A number that counts from another number.
pub trait Numbered {
    /// Type of the number that it counts from.
    type Base;
    /// Visits the distance from `base`. The largest number stands for none.
    fn walk_from(&self, base: Self::Base, walk: &mut Walk);
}

/// A container or an option.
pub trait MaybeEmpty {
    /// Returns true if it holds nothing.
    fn holds_nothing(&self) -> bool;
}
