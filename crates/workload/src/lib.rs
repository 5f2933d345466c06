//! Sources of traffic: due times, lengths and destinations of frames.
//!
//! A [`SourceSpec`] describes a source. A running [`Source`] is a state machine without a clock or a queue. The fabric
//! reads its next wake-up time, wakes it at that time, and receives a frame.
//!
//! Each source has its own random number generator, and logarithms and powers are computed by `libm`. The frames of a
//! source therefore depend only on its specification and seed, not on the machine or on other sources.
//!
//! Frames of 1,000 B at 1 Gb/s are due every 8 us:
//!
//! ```
//! use frame::NodeId;
//! use rand::SeedableRng;
//! use rand_xoshiro::Xoshiro256PlusPlus;
//! use units::{BitRate, ClockOffset, Time};
//! use workload::{Arrivals, ConstantParams, Destinations, FrameSizes, RateBasis, Source, SourceSpec, Wake};
//!
//! let spec = SourceSpec {
//!     arrivals: Arrivals::Constant(ConstantParams { rate: BitRate::from_gbps(1), random_phase: false }),
//!     rate_basis: RateBasis::Frame,
//!     sizes: FrameSizes::Fixed(1_000),
//!     destinations: Destinations::Fixed(NodeId(0)),
//!     start: Time::ZERO,
//!     stop: None,
//!     script: vec![],
//!     limit: None,
//!     jitter: Time::ZERO,
//! };
//! let random = Xoshiro256PlusPlus::seed_from_u64(1);
//! let mut source = Source::new(&spec, BitRate::from_gbps(10), 20, ClockOffset::NOMINAL, random);
//! let mut due = Vec::new();
//! while let Some(now) = source.next_wake().filter(|&now| now < Time::from_us(30)) {
//!     if let Wake::Emit(frame) = source.wake(now) {
//!         due.push((now, frame.bytes));
//!     }
//! }
//! assert_eq!(due, [0, 8, 16, 24].map(|us| (Time::from_us(us), 1_000)));
//! ```

#![warn(clippy::too_many_lines)]

mod arrivals;
mod bernoulli;
mod bursts;
mod constant;
mod destination_keys;
mod destinations;
mod draw;
mod frame_keys;
mod offered;
mod on_off;
mod pace;
mod period;
mod poisson;
mod process;
mod published;
mod size_list;
mod size_shapes;
mod sizes;
mod source;
mod spec;
mod streams;
mod threads;
mod transfer_arrivals;
mod transfer_file;
mod transfer_keys;
mod transfer_sizes;
mod transfers;
mod two_columns;
mod video;

#[cfg(test)]
mod source_examples;
#[cfg(test)]
mod source_properties;
#[cfg(test)]
mod testbed;

pub use arrivals::{Arrival, Configuration, Link, Random, no_rate};
pub use bernoulli::BernoulliParams;
pub use bursts::BurstsParams;
pub use constant::ConstantParams;
pub use destination_keys::{HotSpot, Nodes, Permutation, PermutationWord, Receivers, ReceiversTable, Shift};
pub use draw::{below, exponential, unit};
pub use frame_keys::{Found, FrameText, LARGEST_FRAME, frame_length, no_probability};
pub use on_off::OnOffParams;
pub use period::Period;
pub use poisson::PoissonParams;
pub use published::PublishedSizes;
pub use size_list::read_sizes;
pub use size_shapes::SizeShape;
pub use source::{Made, Source, Wake};
pub use spec::{Change, Destinations, FrameSizes, Others, RateBasis, SourceSpec};
pub use streams::StreamsParams;
pub use threads::ThreadsParams;
pub use transfer_arrivals::{Incast, Pairing, PoissonTransfers};
pub use transfer_file::{Listed, ListedPort, Unfit, Wrong, read_transfers};
pub use transfer_keys::{ArrivalsText, SizesText};
pub use transfer_sizes::{MOST_BYTES, SizePoints, TransferSizes, read_size_points};
pub use transfers::{Due, Framing, ServiceOrder, Transfer, TransferList};
pub use two_columns::Report;
pub use video::{VideoParams, read_pictures};

use arrivals::arrivals;
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::sync::Arc;
use transfers::Sender;
use units::{BitRate, Time};

arrivals! {
    /// One frame every `bytes * 8 / rate`.
    constant: Constant(ConstantParams),
    /// A frame with a fixed probability in each frame time of the link.
    bernoulli: Bernoulli(BernoulliParams),
    /// Exponential gaps between frames.
    poisson: Poisson(PoissonParams),
    /// Frames at the peak rate during random on periods, none during random off periods.
    on_off: OnOff(OnOffParams),
    /// Threads that send in a loop, with a delay after a burst.
    threads: Threads(ThreadsParams),
    /// Many streams at a constant rate, with random phases.
    streams: Streams(StreamsParams),
    /// Bursts of frames at once to one destination, with exponential gaps.
    bursts: Bursts(BurstsParams),
    /// Video: pictures at a fixed interval, cut into frames.
    video: Video(VideoParams),
}
