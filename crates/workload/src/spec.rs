//! Specification of a traffic source: plain, checked data.

use crate::Arrivals;
use crate::transfers::TransferList;
use frame::NodeId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use units::{BitRate, Bytes, Time};

/// Bits of a frame that count towards a rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RateBasis {
    /// DA to FCS.
    #[default]
    Frame,
    /// DA to FCS and the line overhead of the sender's link.
    Wire,
}

/// Lengths of frames, DA to FCS.
#[derive(Clone, Debug, PartialEq)]
pub enum FrameSizes {
    /// All of the same length.
    Fixed(u16),
    /// Every size from `min` to `max` equally likely.
    Uniform {
        /// The shortest.
        min: u16,
        /// The longest.
        max: u16,
    },
    /// `small` with probability `small_share`, otherwise `large`.
    Bimodal {
        /// One size.
        small: u16,
        /// The other size.
        large: u16,
        /// Share of `small` among the frames, 0 to 1.
        small_share: f64,
    },
    /// The simple Internet mix: 64, 594 and 1518 B in the ratio 7:4:1.
    Imix,
    /// Sizes with relative weights, as read from a file.
    Empirical(Vec<(u16, f64)>),
}

/// Destinations of frames. Nodes are hosts.
#[derive(Clone, Debug, PartialEq)]
pub enum Destinations {
    /// Always the same host.
    Fixed(NodeId),
    /// Each frame to one of these, equally likely.
    Uniform(Vec<NodeId>),
    /// Each frame with probability `share` to `hot`, otherwise to one of `others`.
    HotSpot {
        /// The preferred host.
        hot: NodeId,
        /// Its share of the frames, 0 to 1.
        share: f64,
        /// The other hosts, equally likely.
        others: Others,
    },
    /// Each to one of these, equally likely; there is at least one.
    Others(Others),
    /// Each to all of these: switches copy it where their paths diverge.
    Multicast(Vec<NodeId>),
}

/// A list of hosts shared by many senders, each of which leaves itself out.
#[derive(Clone, Debug, PartialEq)]
pub struct Others {
    /// The list.
    pub hosts: Arc<[NodeId]>,
    /// The index of the sender, if it is among them.
    pub without: Option<u32>,
}

impl Others {
    /// Number of hosts.
    pub fn count(&self) -> usize {
        self.hosts.len() - usize::from(self.without.is_some())
    }

    /// The n-th, from 0.
    pub fn nth(&self, n: u32) -> NodeId {
        let skipped = self.without.is_some_and(|without| n >= without);
        self.hosts[(n + u32::from(skipped)) as usize]
    }

    /// All, in order.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> {
        (0..self.count() as u32).map(|n| self.nth(n))
    }

    /// The sender, if it is on the list.
    pub fn left_out(&self) -> Option<NodeId> {
        Some(self.hosts[self.without? as usize])
    }
}

/// A change of a source while the simulation runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// Starts again, at the previous rate or at a new one (the peak rate of on/off sources). A source that is sending
    /// changes its rate at once: the part of the interval that has passed counts at the old rate.
    Start(Option<BitRate>),
    /// Stops sending.
    Stop,
}

/// A source of traffic, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceSpec {
    /// When frames are due.
    pub arrivals: Arrivals,
    /// Which bits the rate counts.
    pub rate_basis: RateBasis,
    /// Lengths of its frames.
    pub sizes: FrameSizes,
    /// Destinations of its frames.
    pub destinations: Destinations,
    /// Start of the source.
    pub start: Time,
    /// End of the source: no frame is sent from this time on; `None`: the end of the simulation.
    pub stop: Option<Time>,
    /// Changes in between, in order of time. Those before `start` only set the rate.
    pub script: Vec<(Time, Change)>,
    /// Total bytes (DA to FCS) that it sends. The last frame is cut to the remainder, and padded to the smallest
    /// Ethernet frame (64 B). `None`: no limit.
    pub limit: Option<Bytes>,
    /// Maximum jitter: each frame is sent later than it is due by a random time, uniform from 0 to this. Due times of later frames
    /// are unchanged, and no frame overtakes another. Greedy sources have none.
    pub jitter: Time,
}

impl SourceSpec {
    /// Its transfers, if it sends transfers.
    pub fn transfers(&self) -> Option<&Arc<TransferList>> {
        match &self.arrivals {
            Arrivals::Transfers(list) => Some(list),
            _ => None,
        }
    }

    /// Number of its streams, if they are counted.
    pub fn counted_streams(&self) -> Option<u64> {
        self.arrivals.counted().map(|(_, count)| count)
    }

    /// The share of the bytes that each destination gets, in the order of [`Destinations::nodes`].
    pub fn shares(&self) -> Vec<f64> {
        let Some(list) = self.transfers().filter(|list| !list.is_empty()) else {
            return self.destinations.shares();
        };
        let mut bytes = vec![0.0; self.destinations.count()];
        list.iter().for_each(|transfer| bytes[transfer.destination as usize] += transfer.bytes as f64);
        let all: f64 = bytes.iter().sum();
        bytes.iter().map(|own| own / all).collect()
    }

    /// The shortest and the longest frame in bytes: the last one before a limit may be shorter than all others.
    pub fn frame_bounds(&self) -> (u16, u16) {
        if let Some(list) = self.transfers() {
            return list.frame_bounds();
        }
        let (mut least, most) = self.sizes.bounds();
        if self.arrivals.cuts_frames() {
            least = most.min(frame::MIN_FRAME_BYTES);
        }
        let Some(limit) = self.limit.map(Bytes::get) else { return (least, most) };
        let smallest = least.min(frame::MIN_FRAME_BYTES);
        let frame_of = |bytes: u64| (bytes.min(most.into()) as u16).max(smallest);
        let last = match limit.checked_rem(least.into()).filter(|_| least == most) {
            // The length of the last frame depends on random draws.
            None => smallest,
            Some(0) => least,
            Some(rest) => frame_of(rest),
        };
        (last.min(least), frame_of(limit))
    }

    /// Changes of the source: the start, the script, the stop, in order of time. The rate is that of
    /// the last change before the start, if one sets it.
    pub(crate) fn changes(&self) -> (Option<BitRate>, Vec<(Time, Change)>) {
        let stop = self.stop.unwrap_or(Time::NEVER);
        let mut rate = None;
        let mut changes = vec![(self.start, Change::Start(None))];
        for &(at, change) in &self.script {
            match change {
                Change::Start(new) if at < self.start => rate = new.or(rate),
                _ if at < self.start || at >= stop => {}
                _ => changes.push((at, change)),
            }
        }
        // A stable sort: simultaneous changes keep the order of the scenario.
        changes.sort_by_key(|&(at, _)| at);
        changes.retain(|&(at, _)| at < stop);
        if self.stop.is_some() {
            changes.push((stop, Change::Stop));
        }
        (rate, changes)
    }
}
