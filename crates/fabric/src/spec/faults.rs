//! Faults and changes while a simulation runs.

use frame::NodeId;
use queueing::CnTlv;
use scheduling::SchedulerSpec;
use std::sync::Arc;
use units::{BitRate, Time};

/// A fault, or a scripted change.
#[derive(Clone, Debug, PartialEq)]
pub enum FaultSpec {
    /// A link goes down.
    LinkDown {
        /// Index of the link.
        link: u32,
        /// Time of the failure.
        at: Time,
        /// Reaction of stations.
        reaction: Reaction,
    },
    /// A failed link comes back. Random outages of the link continue.
    LinkUp {
        /// Index of the link.
        link: u32,
        /// Time at which the link comes back.
        at: Time,
    },
    /// A link changes its rate.
    LinkRate {
        /// Index of the link.
        link: u32,
        /// The receiving end of the direction that changes; `None`: both directions.
        towards: Option<NodeId>,
        /// Time of the change.
        at: Time,
        /// New rate.
        rate: BitRate,
    },
    /// Bit errors on a link, with some probability.
    BitErrors {
        /// Index of the link.
        link: u32,
        /// Start of the interval; frames whose transmission starts within it are affected.
        from: Time,
        /// End of the interval.
        until: Time,
        /// Bit error probability, 0 to 1.
        rate: f64,
    },
    /// Pause frames on a link are lost with some probability.
    PauseLoss {
        /// Index of the link.
        link: u32,
        /// Start of the interval; pause frames whose transmission starts within it are affected.
        from: Time,
        /// End of the interval.
        until: Time,
        /// Loss probability of a pause frame, 0 to 1.
        probability: f64,
    },
    /// Frames of flows on a link are lost independently with some probability; pause frames are not.
    FrameLoss {
        /// Index of the link.
        link: u32,
        /// The receiving end of the affected direction; `None`: both directions, independently.
        towards: Option<NodeId>,
        /// Start of the interval; frames whose transmission starts within it are affected.
        from: Time,
        /// End of the interval.
        until: Time,
        /// Loss probability of a frame, 0 to 1.
        probability: f64,
    },
    /// A control frame that no station of the fabric sends arrives at one end of a link.
    ControlFrame {
        /// Index of the link.
        link: u32,
        /// The end at which it arrives.
        towards: NodeId,
        /// Arrival time of its last bit.
        at: Time,
        /// Its contents.
        content: ControlContent,
    },
    /// The port at one end of a link changes to another scheduler of the same kind.
    Scheduler {
        /// Index of the link.
        link: u32,
        /// The end that receives its frames.
        towards: NodeId,
        /// Time of the change.
        at: Time,
        /// New scheduler.
        scheduler: Arc<SchedulerSpec>,
    },
    /// A switch restarts: it loses all frames that it holds, and neither sends nor receives for a while.
    Restart {
        /// The switch.
        node: NodeId,
        /// Time of the restart.
        at: Time,
        /// Duration of the restart.
        lasts: Time,
        /// Delay until routes avoid the switch; `None`: they do not.
        reroute: Option<Time>,
    },
    /// Links go down at random, one at a time.
    Random {
        /// Indices of links, one of which is drawn each time.
        links: Vec<u32>,
        /// Mean time from the end of one outage to the next (exponential).
        mean_time_between: Time,
        /// Duration of each outage.
        lasts: Time,
        /// Reaction of stations.
        reaction: Reaction,
    },
}

/// Contents of a control frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlContent {
    /// PAUSE, with its pause time in quanta.
    Pause(u16),
    /// PFC: the priorities with a valid pause time, and the pause times.
    Pfc {
        /// Enabled priorities, bit n for priority n.
        enabled: u8,
        /// Pause times in quanta, by priority.
        quanta: [u16; frame::PRIORITIES],
    },
    /// A congestion message.
    Congestion {
        /// Index of the flow at the host, from 0, in the order of the scenario.
        flow: u16,
        /// Quantised feedback, 0 to 63.
        feedback: u8,
    },
    /// The congestion notification TLV of an LLDPDU.
    Domain(CnTlv),
    /// A frame without effect: it is illegal, or no station acts on it.
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

/// Reaction of stations to a failed link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reaction {
    /// True if frames queued for a failed link are kept; otherwise they are lost at once.
    pub keep: bool,
    /// Delay after which flows use paths without the link, or with it when it is back; `None`: never.
    pub reroute: Option<Time>,
}
