//! Faults and changes while a simulation runs.

use frame::NodeId;
use queueing::CnTlv;
use scheduling::SchedulerSpec;
use std::sync::Arc;
use units::{BitRate, Time};

/// Something that goes wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum FaultSpec {
    /// A link goes down.
    LinkDown {
        /// Index of the link.
        link: u32,
        /// When.
        at: Time,
        /// Reaction of stations.
        reaction: Reaction,
    },
    /// A link that is down comes back. Random outages of the link go on.
    LinkUp {
        /// Index of the link.
        link: u32,
        /// When.
        at: Time,
    },
    /// A link changes its rate.
    LinkRate {
        /// Index of the link.
        link: u32,
        /// The end that the frames of the direction go to; `None`: both directions.
        towards: Option<NodeId>,
        /// When.
        at: Time,
        /// From then on.
        rate: BitRate,
    },
    /// Bits of frames on a link are wrong with some probability.
    BitErrors {
        /// Index of the link.
        link: u32,
        /// Frames that begin in this interval.
        from: Time,
        /// Its end.
        until: Time,
        /// Probability of each bit, 0 to 1.
        rate: f64,
    },
    /// Pause frames on a link are lost with some probability.
    PauseLoss {
        /// Index of the link.
        link: u32,
        /// Pause frames that begin in this interval.
        from: Time,
        /// Its end.
        until: Time,
        /// Probability of each pause frame, 0 to 1.
        probability: f64,
    },
    /// Frames of flows on a link are lost, each on its own with some probability; pause frames are not.
    FrameLoss {
        /// Index of the link.
        link: u32,
        /// The end that they are on their way to; `None`: both directions, each by itself.
        towards: Option<NodeId>,
        /// Frames that begin in this interval.
        from: Time,
        /// Its end.
        until: Time,
        /// Probability of each frame, 0 to 1.
        probability: f64,
    },
    /// A control frame that no station of the fabric sends comes in at one end of a link.
    ControlFrame {
        /// Index of the link.
        link: u32,
        /// The end where it comes in.
        towards: NodeId,
        /// Arrival time of its last bit.
        at: Time,
        /// Its contents.
        content: ControlContent,
    },
    /// The port at one end of a link gets another scheduler of the same kind.
    Scheduler {
        /// Index of the link.
        link: u32,
        /// The end that its frames are on their way to.
        towards: NodeId,
        /// When.
        at: Time,
        /// From then on.
        scheduler: Arc<SchedulerSpec>,
    },
    /// A switch restarts: loses what it holds, and neither sends nor receives for a while.
    Restart {
        /// The switch.
        node: NodeId,
        /// When.
        at: Time,
        /// For how long.
        lasts: Time,
        /// Delay until routes avoid it; `None`: they do not.
        reroute: Option<Time>,
    },
    /// Links go down at random, one after the other.
    Random {
        /// Indices of links, one of which is drawn each time.
        links: Vec<u32>,
        /// Mean time from the end of one outage to the next (exponential).
        mean_time_between: Time,
        /// Length of each outage.
        lasts: Time,
        /// Reaction of stations.
        reaction: Reaction,
    },
}

/// Contents of a control frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlContent {
    /// PAUSE, and its time in quanta.
    Pause(u16),
    /// PFC: the priorities whose times are valid, bit n for priority n, and the times in quanta.
    Pfc {
        /// The priorities.
        enabled: u8,
        /// The times.
        quanta: [u16; frame::PRIORITIES],
    },
    /// A congestion message.
    Congestion {
        /// Number of the flow at the host, from 0, in the order of the scenario.
        flow: u16,
        /// Quantised feedback, 0 to 63.
        feedback: u8,
    },
    /// The congestion notification TLV of an LLDPDU.
    Domain(CnTlv),
    /// Nothing: it is not legal, or no station acts on it.
    Nothing,
}

impl ControlContent {
    /// Number of distinct pause times above 0 in the frame.
    pub fn times(&self) -> u64 {
        match self {
            ControlContent::Pause(quanta) => u64::from(*quanta > 0),
            ControlContent::Pfc { enabled, quanta } => {
                let mut times: Vec<u16> = frame::members(*enabled).map(|priority| quanta[priority]).collect();
                times.sort_unstable();
                times.dedup();
                times.iter().filter(|&&time| time > 0).count() as u64
            }
            ControlContent::Congestion { .. } | ControlContent::Domain(_) | ControlContent::Nothing => 0,
        }
    }
}

/// Reaction of stations to a link that is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reaction {
    /// True if frames wait for a failed link; otherwise they are lost at once.
    pub keep: bool,
    /// After this time flows use paths without the link, or with it when it is back; `None`: never.
    pub reroute: Option<Time>,
}
