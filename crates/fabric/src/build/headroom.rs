//! Requirements of ports that send pauses: headroom above XOFF, watermarks, renewals.
//!
//! The formulas are in [`flow_control::headroom`] and [`flow_control::renewal`]; this file supplies the facts of link and
//! stations. The response time is that of the station at the other end, which is the one that is paused; the interfaces are
//! included in the delay of the link.

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
    /// The priorities that the port pauses, and those whose pauses its peer obeys: bit n for priority n.
    pub pauses: u8,
    /// See `pauses`.
    pub obeyed: u8,
    /// Bytes around each frame on its link.
    pub overhead: u16,
    /// Bytes that may be on their way to the port when it decides to send XOFF.
    pub delay: TotalDelay,
    /// The room above XOFF for each priority (for all together with PAUSE).
    pub room: Bytes,
    /// The watermarks that the port uses.
    pub levels: Levels,
    /// The response time of the peer.
    pub response: Time,
    /// The shortest pause that works, in quanta.
    pub least_quanta: u64,
    /// The shortest pause that the port sends, in quanta.
    pub quanta: u16,
    /// Duration of this pause.
    pub lasts: Time,
    /// Where the search for targets begins, if there are any and it is not below everything.
    pub target: Option<Amount>,
}

/// Returns the requirements of each port that sends pauses: all ports of switches with flow control, and of hosts with flow
/// control and a limited receive buffer.
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

/// The shortest and the longest frame of all flows and of messages of switches, in bytes.
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
    // A frame has one of the two.
    let most = most.saturating_add(tag.max(cn_tag).into());
    // Any of the managers may notify a source, and tags may be returned.
    let control_frames = spec.managers().next().is_some()
        || controls.iter().any(|control| control.return_priority().is_some());
    if control_frames { (least.min(CONTROL_FRAME_BYTES), most) } else { (least, most) }
}

/// The limit of what a NIC holds for each priority; `None`: not limited, and no host.
pub(crate) fn receive_buffer(node: &NodeSpec) -> Option<u64> {
    node.host()?.receive.as_ref()?.buffer
}

impl Plan<'_> {
    /// From the end of a pause frame to its effect at `port`.
    pub fn response(&self, port: u32) -> Time {
        let control = self.node(port).pauses();
        let configured = control.and_then(|control| control.response_time);
        let link = self.link(port);
        configured.or(link.response_time).unwrap_or_else(|| response_time(self.rate(port)))
    }
    /// Returns the maximum in flight to `port` when its node decides to send XOFF.
    pub fn total_delay(&self, port: u32) -> TotalDelay {
        let link = self.link(port);
        let peer = self.wiring.peer[port as usize].0;
        // The peer sends at the rate of its direction while the pause frame waits and is sent at the rate of the other.
        let (slowest, rate) = (self.rates(port).0, self.rates(peer).1);
        let headroom = Headroom {
            rate,
            slowest,
            pause_rate: if self.is_symmetric(port) { rate } else { slowest },
            cable: link.delay,
            // A pause frame may be in the way too, where frames are shorter than it.
            max_frame: self.frames.1.max(CONTROL_FRAME_BYTES),
            overhead: link.overhead,
            pause_frame: CONTROL_FRAME_BYTES,
            interface_bits: 0,
            response_bits: rate.bits_in_ceil(self.response(peer)),
            pipeline: self.node(port).latency(),
        };
        headroom.delay()
    }
    /// The room above XOFF that a port needs for each priority.
    pub fn room(&self, port: u32) -> u64 {
        self.total_delay(port).room(self.frames.1).get()
    }
    /// Watermarks of a port: those of its receive buffer, as configured, or such that nothing is lost and no
    /// queue runs dry.
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
    /// Returns the facts that decide when a pause sent through a port has to be renewed.
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
    /// Returns how a node finds the targets of pauses above its target watermark; `None` if it does not, or if that would
    /// lie below everything.
    pub fn target(&self, node: NodeId, control: &PauseSpec) -> Option<Target> {
        let (spec, marks) = (control.target.as_ref()?, control.watermarks?);
        let in_flight = self.wiring.ports(node).map(|port| self.room(port.0)).max().unwrap_or(0);
        spec.with(marks.xoff, in_flight, self.frames.1)
    }
}
