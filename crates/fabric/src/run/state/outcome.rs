//! Violated invariants that stop a run.

use crate::run::state::index::PortIx;
use crate::run::state::losses::Cause;
use crate::run::state::pause_sender::unit_of;
use crate::run::state::view::NodeView;
use frame::{Frame, Occupancy, TrafficClass};
use queueing::Refusal;
use std::fmt;
use units::{Amount, Time};

/// A violated invariant, with the numbers that explain it.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// A frame of a lossless class was dropped for lack of space. Port numbers are those of the whole fabric.
    LosslessDrop {
        at: Time,
        egress: u32,
        ingress: Option<u32>,
        class: TrafficClass,
        priority: u8,
        bytes: u16,
        cause: Cause,
        /// Occupancy that counted against the exceeded limit.
        occupancy: u64,
        limit: Amount,
        /// The XOFF watermark that should have prevented the drop.
        xoff: Option<Amount>,
        /// Number of pause frames that the node had sent until then, and number of those that were lost. Counts the
        /// frame's ingress port if the limit is the headroom of that port, otherwise all ports.
        pauses: (u64, u64),
    },
    /// A link has lost or created credits. The port is the sender's.
    Credits { at: Time, port: u32, channel: u8, what: CreditFault },
    /// The frames created and copied differ from those delivered, lost, waiting and in flight.
    Conservation { made: u64, copied: u64, delivered: u64, lost: u64, waiting: u64, in_flight: i64 },
}

/// Faults of the credits of a channel.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CreditFault {
    /// More credits were consumed or returned than were available.
    Overdraft { wanted: u32, had: u32 },
    /// Number of credits that were lost with a frame.
    Lost(u32),
    /// Number of credits found neither at the sender, nor on the link, nor in the buffer at the other end.
    Unaccounted { missing: i64 },
}

impl Failure {
    /// Returns the failure for a lost frame of a lossless class, at `egress` in `class`.
    pub fn lossless_drop(
        fabric: &NodeView,
        (egress, class): (PortIx, TrafficClass),
        frame: &Frame,
        ingress: Option<PortIx>,
        cause: Cause,
        at: Time,
    ) -> Failure {
        let within = |of: Refusal| fabric.waits_within(of, egress, class);
        let limited = |of| (within(of), fabric.nodes[fabric.node_of[egress]].memory().buffer.limit(of));
        let node = &fabric.nodes[fabric.node_of[egress]];
        let pause_sender = fabric.pause_sender_of(egress);
        let levels = pause_sender.map(|sender| match sender.by_ingress() {
            true => fabric.ingress[ingress.unwrap_or(egress)].levels,
            false => sender.levels[sender.local(egress)],
        });
        let sharing = node.memory().sharing.as_ref();
        let shared =
            sharing.map_or_else(Default::default, |own| own.limits(egress, class, frame, ingress, cause));
        let (occupancy, limit) = match cause {
            Cause::Queue | Cause::NicFull => limited(Refusal::Queue),
            Cause::Port => limited(Refusal::Port),
            Cause::Class => limited(Refusal::Class),
            Cause::Total => limited(Refusal::Total),
            Cause::SharedMemory | Cause::Pool { .. } => {
                (Occupancy { bytes: shared.used, frames: 0 }, Some(Amount::Bytes(shared.limit)))
            }
            Cause::ReceiveBuffer => fabric.received_so_far(ingress.unwrap_or(egress), frame.priority()),
            Cause::Headroom => {
                let group =
                    pause_sender.and_then(|pause_sender| pause_sender.group(frame.priority().0)).unwrap_or(0);
                let counter =
                    ingress.and_then(|port| fabric.ingress.get(port)).map(|port| &port.counters[group]);
                (
                    counter.map(|counter| counter.occupancy).unwrap_or_default(),
                    levels.map(|levels| levels.capacity),
                )
            }
            // Stages, faults and watchdogs have no limit.
            _ => (within(Refusal::Queue), None),
        };
        let limit = limit.unwrap_or(Amount::Bytes(0));
        let one = ingress.filter(|_| matches!(cause, Cause::Headroom | Cause::ReceiveBuffer));
        let ports = fabric.ports_beside(egress).filter(|&port| one.is_none_or(|one| one == port));
        let pauses = ports.fold((0, 0), |(sent, lost), port| {
            let counts = &fabric.links.cold[port].counts;
            (sent + counts.pause_frames, lost + counts.pauses_lost)
        });
        Failure::LosslessDrop {
            at,
            egress: fabric.numbering.port(egress),
            ingress: ingress.map(|ingress| fabric.numbering.port(ingress)),
            class,
            priority: frame.priority().0,
            bytes: frame.bytes,
            cause,
            occupancy: occupancy.count(limit),
            limit,
            xoff: match sharing {
                Some(_) => Some(Amount::Bytes(shared.xoff)),
                None => levels.map(|levels| levels.xoff),
            },
            pauses,
        }
    }
}

/// Reason why a simulation stopped, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulationError {
    pub(crate) message: String,
}

impl fmt::Display for SimulationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SimulationError {}

impl Failure {
    /// Time and port, which determine the first of several failures.
    pub fn when(&self) -> (Time, u32) {
        match self {
            Failure::LosslessDrop { at, egress, .. } => (*at, *egress),
            Failure::Credits { at, port, .. } => (*at, *port),
            Failure::Conservation { .. } => (Time::NEVER, u32::MAX),
        }
    }

    /// Describes the failure. `port_name` names ports, `channel_name` the credit counters of ports, `pool_name` the
    /// pools of the switch of a port; `advice` names the change that would have prevented the loss of a frame.
    pub fn describe(
        &self,
        port_name: impl Fn(u32) -> String,
        channel_name: impl Fn(u32, u8) -> String,
        pool_name: impl Fn(u32, u8) -> String,
        advice: &str,
    ) -> SimulationError {
        let message = match self {
            Failure::LosslessDrop {
                at,
                egress,
                ingress,
                class,
                priority,
                bytes,
                cause,
                occupancy,
                limit,
                xoff,
                ..
            } => {
                let (unit, limit_value) = unit_of(*limit);
                let through =
                    ingress.map_or(String::new(), |port| format!(", in through {}", port_name(port)));
                let pool = match cause {
                    Cause::Pool { pool, .. } => format!(" of pool \"{}\"", pool_name(*egress, *pool)),
                    _ => String::new(),
                };
                let xoff = xoff.map_or("no XOFF watermark is set".to_string(), |xoff| {
                    let (unit, value) = unit_of(xoff);
                    format!("XOFF is at {value} {unit}")
                });
                format!(
                    "a frame of a lossless class was lost at {at}: {bytes} B of priority {priority} at port {}, \
                     class {}{through}. Its limit ({}{pool}) is {limit_value} {unit} and {occupancy} {unit} were in use; \
                     {xoff}. {advice}; or set on_lossless_drop = \"count\" to count such losses",
                    port_name(*egress),
                    class.0,
                    cause.name(),
                )
            }
            Failure::Credits { at, port, channel, what } => {
                let place =
                    format!("channel {} of the link {}", channel_name(*port, *channel), port_name(*port));
                match what {
                    CreditFault::Lost(credits) => format!(
                        "credits leak at {at}: {credits} of {place} went with a frame that was lost, and would never \
                         come back; take the fault from the scenario, or the credits from the link"
                    ),
                    CreditFault::Overdraft { wanted, had } => format!(
                        "an overdraft of credits at {at}: {wanted} of {place} were wanted and there were {had}; this \
                         is a bug in the simulator, please report it with the scenario"
                    ),
                    CreditFault::Unaccounted { missing } => format!(
                        "credits were not conserved: {missing} of {place} are nowhere; this is a fault of the \
                         simulator, please report it with the scenario"
                    ),
                }
            }
            Failure::Conservation { made, copied, delivered, lost, waiting, in_flight } => format!(
                "frames were not conserved: {made} made and {copied} copied, but {delivered} delivered, {lost} lost, {waiting} waiting \
                 and {in_flight} on links; this is a bug in the simulator, please report it with the scenario"
            ),
        };
        SimulationError { message }
    }
}
