//! Requirements of ports that send pauses: headroom above XOFF, watermarks, renewals.
//!
//! The formulas are in [`flow_control::headroom`] and [`flow_control::renewal`]; this file supplies the parameters of
//! links and stations. The response time is that of the paused station at the other end. The delay of the link includes
//! the interfaces.

use crate::build::Plan;
use crate::run::state::receive;
use crate::spec::{FlowSpec, NodeSpec, Spec};
use flow_control::headroom::{Headroom, TotalDelay, response_time, resume_level};
use flow_control::pause::pause_time;
use flow_control::pfc::Levels;
use flow_control::renewal::Renewal;
use flow_control::{PauseSpec, Target, Watermarks};
use frame::{CONTROL_FRAME_BYTES, NodeId};
use queueing::RateConfiguration;
use units::{Amount, Bytes, Time};

/// Requirements of a port that sends pauses.
#[derive(Clone, Copy, Debug)]
pub struct PauseNeeds {
    /// The node of the port.
    pub node: NodeId,
    /// The node at the other end, which is paused.
    pub peer: NodeId,
    /// The number of its link.
    pub link: usize,
    /// The priorities that the port pauses: bit n for priority n.
    pub pauses: u8,
    /// The priorities whose pauses the peer obeys: bit n for priority n.
    pub obeyed: u8,
    /// Bytes around each frame on its link.
    pub overhead: u16,
    /// Maximum bytes in flight to the port when it decides to send XOFF.
    pub delay: TotalDelay,
    /// Headroom above XOFF for each priority; with PAUSE, for all priorities together.
    pub room: Bytes,
    /// The watermarks that the port uses.
    pub levels: Levels,
    /// The response time of the peer.
    pub response: Time,
    /// The shortest effective pause, in quanta.
    pub least_quanta: u64,
    /// The shortest pause that the port sends, in quanta.
    pub quanta: u16,
    /// Duration of `quanta` at the rate of the link.
    pub lasts: Time,
    /// Target watermark: the occupancy above which pauses have targets. `None` if there is none, or if it would lie
    /// below zero.
    pub target: Option<Amount>,
}

/// Returns the requirements of each port that sends pauses. These are all ports of switches with flow control, and all
/// ports of hosts with flow control and a limited receive buffer.
pub fn pause_needs(spec: &Spec) -> Vec<PauseNeeds> {
    let wiring = spec.wiring();
    let plan = Plan::new(spec, &wiring);
    // Computed per node, because the target depends on all of its ports.
    let target = |node| Some(plan.target(node, spec.nodes[node.at()].pauses()?)?.watermark);
    let targets: Vec<Option<Amount>> =
        (0..spec.nodes.len() as u32).map(|node| target(NodeId(node))).collect();
    let of_port = |port: u32| {
        let control = plan.node(port).pauses()?;
        let buffer = match plan.node(port).host() {
            Some(_) => Some(receive_buffer(plan.node(port))?),
            None => None,
        };
        let least_quanta = plan.renewal(port).least_quanta(control.refresh);
        let quanta = control.quanta.shortest(plan.paused(port), least_quanta);
        Some(PauseNeeds {
            node: wiring.node_of[port as usize],
            peer: wiring.node_of[wiring.peer[port as usize].at()],
            link: wiring.link_of[port as usize] as usize,
            pauses: plan.paused(port),
            obeyed: plan.paused(wiring.peer[port as usize].0),
            overhead: plan.link(port).overhead,
            delay: plan.total_delay(port),
            room: Bytes::new(plan.room(port)),
            levels: plan.levels(control, buffer, port),
            response: plan.response(wiring.peer[port as usize].0),
            least_quanta,
            quanta,
            lasts: pause_time(quanta, plan.rates(wiring.peer[port as usize].0).1),
            target: targets[wiring.node_of[port as usize].at()],
        })
    };
    (0..wiring.peer.len() as u32).filter_map(of_port).collect()
}

/// Length of the shortest and of the longest frame, in bytes, over all flows and messages of switches.
pub fn frame_bounds(spec: &Spec) -> (u16, u16) {
    let bounds = spec.flows.iter().map(FlowSpec::frame_bounds);
    let bounds = bounds.reduce(|(a, b), (c, d)| (a.min(c), b.max(d)));
    let (least, most) = bounds.unwrap_or((frame::MIN_FRAME_BYTES, frame::MAX_TAGGED_FRAME_BYTES));
    let trimmed = spec.nodes.iter().filter_map(|node| Some(node.switch()?.trimming.as_ref()?.size)).min();
    let least = trimmed.map_or(least, |size| least.min(size));
    let controls: Vec<_> = spec
        .nodes
        .iter()
        .filter_map(|node| node.host()?.limiters.as_ref())
        .map(|limiters| limiters.control)
        .collect();
    let tag = controls.iter().map(|control| control.tag_bytes()).max().unwrap_or_default();
    let cn_tag = if spec.domains.iter().any(Option::is_some) { queueing::CN_TAG_BYTES } else { 0 };
    // A frame carries at most one of the two tags.
    let most = most.saturating_add(tag.max(cn_tag).into());
    // Any manager may notify a source, and receivers may return tags.
    let control_frames = spec.managers().next().is_some()
        || controls.iter().any(|control| control.return_priority().is_some());
    if control_frames { (least.min(CONTROL_FRAME_BYTES), most) } else { (least, most) }
}

/// Receive buffer of a NIC for each priority, in bytes; `None` for an unlimited buffer, and for switches.
pub(crate) fn receive_buffer(node: &NodeSpec) -> Option<u64> {
    node.host()?.receive.as_ref()?.buffer
}

impl Plan<'_> {
    /// Time from the end of a pause frame to its effect at `port`.
    pub fn response(&self, port: u32) -> Time {
        let control = self.node(port).pauses();
        let configured = control.and_then(|control| control.response_time);
        let link = self.link(port);
        configured.or(link.response_time).unwrap_or_else(|| response_time(self.rate(port)))
    }
    /// Returns the maximum number of bytes in flight to `port` when its node decides to send XOFF.
    pub fn total_delay(&self, port: u32) -> TotalDelay {
        let link = self.link(port);
        let peer = self.wiring.peer[port as usize].0;
        // While the pause frame waits and is sent at the rate of its direction, the peer sends at the rate of the
        // other.
        let (slowest, rate) = (self.rates(port).0, self.rates(peer).1);
        let headroom = Headroom {
            rate,
            slowest,
            pause_rate: if self.is_symmetric(port) { rate } else { slowest },
            cable: link.delay,
            // A pause frame may also be ahead, and is the longer one where data frames are short.
            max_frame: self.frames.1.max(CONTROL_FRAME_BYTES),
            overhead: link.overhead,
            pause_frame: CONTROL_FRAME_BYTES,
            interface_bits: 0,
            response_bits: rate.bits_in_ceil(self.response(peer)),
            pipeline: self.node(port).latency(),
        };
        headroom.delay()
    }
    /// Headroom above XOFF that a port needs for each priority.
    pub fn room(&self, port: u32) -> u64 {
        self.total_delay(port).room(self.frames.1).get()
    }
    /// Watermarks of a port: set by its receive buffer, configured, or computed so that no frame is lost and no queue
    /// underruns.
    pub fn levels(&self, control: &PauseSpec, receive_buffer: Option<u64>, port: u32) -> Levels {
        if let Some(buffer) = receive_buffer {
            return receive::levels(buffer, self.room(port));
        }
        let delay = self.total_delay(port);
        let computed = || {
            let xon = resume_level(delay.rate, delay.time()).get();
            let xoff = xon + 2 * u64::from(self.frames.1);
            Watermarks { xoff: Amount::Bytes(xoff), xon: Amount::Bytes(xon), headroom: None }
        };
        let marks = control.watermarks.unwrap_or_else(computed);
        Levels::new(&marks, delay.room(self.frames.1).get(), self.frames)
    }
    /// Returns the parameters that determine when a pause sent through a port has to be renewed.
    pub fn renewal(&self, port: u32) -> Renewal {
        let link = self.link(port);
        Renewal {
            rate: self.rate(port),
            rates: (self.rates(port).0, self.rates(self.wiring.peer[port as usize].0).1),
            delay: link.delay,
            max_frame: self.frames.1,
            overhead: link.overhead,
            response: self.response(self.wiring.peer[port as usize].0),
        }
    }
    /// Returns the parameters for the targets of pauses above the target watermark of a node. `None` if it has none, or
    /// if the watermark would lie below zero.
    pub fn target(&self, node: NodeId, control: &PauseSpec) -> Option<Target> {
        let (spec, marks) = (control.target.as_ref()?, control.watermarks?);
        let in_flight = self.wiring.ports(node).map(|port| self.room(port.0)).max().unwrap_or(0);
        spec.with(marks.xoff, in_flight, self.frames.1)
    }
}
