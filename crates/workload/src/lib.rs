//! Sources of traffic: when a frame is due, how long it is and where it goes.
//!
//! A source is described by a [`SourceSpec`] and runs as a [`Source`]: a state machine without clock or
//! queue of its own. The fabric asks when to wake it, and at that time wakes it and gets a frame.
//!
//! Every draw of a source comes from its own random stream, and logarithms and powers from `libm`, so that
//! the frames of a source depend on its description and seed alone: not on the machine, not on other
//! sources.

#![warn(clippy::too_many_lines)]

mod arrivals;
mod destinations;
mod draw;
mod offered;
mod pace;
mod published;
mod size_list;
mod size_shapes;
mod sizes;
mod source;
mod spec;
mod transfer_arrivals;
mod transfer_file;
mod transfer_sizes;
mod transfers;
mod two_columns;

pub use draw::{below, exponential, unit};
pub use published::PublishedSizes;
pub use size_list::read_sizes;
pub use size_shapes::SizeShape;
pub use source::{Made, Source, Wake};
pub use spec::{Arrivals, Change, Destinations, FrameSizes, Period, RateBasis, SourceSpec};
pub use transfer_arrivals::{Incast, Pairing, Poisson};
pub use transfer_file::{Listed, Unfit, Wrong, read_transfers};
pub use transfer_sizes::{MOST_BYTES, SizePoints, TransferSizes, read_size_points};
pub use transfers::{Due, Framing, ServiceOrder, Transfer, TransferList};
pub use two_columns::Report;
