//! Checks that watermarks, limits and buffers leave room for the bytes in flight on the links after an XOFF.
//!
//! [`crate::pause_needs`] returns that amount for each port; the run uses it too.

use super::{Audit, Subject, of_buffer, of_flow_control, worst};
use crate::PauseNeeds;
use crate::spec::{NodeSpec, SwitchSpec};
use flow_control::{Accounting, PauseSpec};
use frame::NodeId;
use keys::Remark;
use queueing::SharedMemorySpec;
use units::Amount;

/// Bytes in flight on the links of a switch.
struct Room<'a> {
    id: NodeId,
    name: &'a str,
    switch: &'a SwitchSpec,
    pause: &'a PauseSpec,
    /// Maximum headroom of one port and priority, in bytes.
    most_bytes: u64,
    /// That headroom in frames of the longest and of the shortest length that flows send.
    most_frames: u64,
    most_short_frames: u64,
    /// Sum of the headroom over all ports and lossless priorities, in bytes.
    sum_bytes: u64,
    /// Sum of that headroom and of all memory below XOFF.
    sum_capacity: u64,
    /// Ports times lossless priorities.
    accounts: u64,
    /// Highest XOFF of any port.
    xoff: Amount,
}

/// Reports settings that several nodes share once, for the node that needs most.
pub(super) fn check(audit: &mut Audit<'_>) {
    let spec = audit.spec;
    let bounds = crate::frame_bounds(spec);
    // The ports of a node are consecutive.
    let nodes = audit.needs.chunk_by(|a, b| a.node == b.node);
    let rooms = nodes.filter_map(|ports| {
        let node = &spec.nodes[ports[0].node.at()];
        Some((audit.settings(node, ""), Room::new(node, ports, bounds)?))
    });
    let most = |room: &Room<'_>| (room.sum_bytes, room.most_bytes);
    for (_, room) in worst(rooms, |one, known| most(one) > most(known)) {
        room.check(audit);
    }
}

impl<'a> Room<'a> {
    fn new(node: &'a NodeSpec, ports: &[PauseNeeds], (shortest, longest): (u16, u16)) -> Option<Room<'a>> {
        let switch = node.switch()?;
        let pause = switch.pauses()?;
        let counters = pause.kind.counters();
        let most = |of: &dyn Fn(&PauseNeeds) -> u64| ports.iter().map(of).max().unwrap_or(0);
        let sum = |of: &dyn Fn(&PauseNeeds) -> u64| {
            ports.iter().map(of).fold(0, u64::saturating_add).saturating_mul(counters)
        };
        // Memory limits are in bytes here; levels in frames count as zero.
        let capacity = |port: &PauseNeeds| match port.levels.capacity {
            Amount::Bytes(bytes) => bytes,
            Amount::Frames(_) => 0,
        };
        let count = |amount: Amount| match amount {
            Amount::Bytes(count) | Amount::Frames(count) => count,
        };
        let frames = |port: &PauseNeeds, bytes: u16| port.delay.frames_of(bytes, port.overhead);
        Some(Room {
            id: ports[0].node,
            name: &node.name,
            switch,
            pause,
            most_bytes: most(&|port| port.room.get()),
            most_frames: most(&|port| frames(port, longest)),
            most_short_frames: most(&|port| frames(port, shortest)),
            sum_bytes: sum(&|port| port.room.get()),
            sum_capacity: sum(&capacity),
            accounts: counters * ports.len() as u64,
            xoff: ports.iter().map(|port| port.levels.xoff).max_by_key(|&xoff| count(xoff))?,
        })
    }

    fn check(&self, audit: &mut Audit<'_>) {
        let ingress = self.pause.accounting == Accounting::Ingress;
        let shared = self.switch.shared_memory;
        if self.switch.pools.is_some() {
            return super::pools::of_pauses(self.id, self.pause, audit);
        }
        if let Some(memory) = shared.filter(|_| ingress) {
            return self.shared_memory(memory, audit);
        }
        let headroom = self.pause.watermarks.and_then(|marks| marks.headroom);
        if let Some(headroom) = headroom {
            self.headroom(headroom, audit);
        }
        let buffer = &self.switch.buffer;
        let limit = buffer.queue.or(buffer.port).filter(|_| !ingress);
        if let Some(limit) = limit.filter(|&limit| limit.comparable(self.xoff)) {
            self.limit(limit, audit);
        }
        if shared.is_some() {
            let message = format!(
                "\"{}\" counts pauses at the egress, where its dynamic threshold can fall below xoff",
                self.name
            );
            let help =
                "lossless frames can be lost before a pause is sent: expected accounting = \"ingress\"";
            audit.may_lose(Subject::Node(self.id), of_buffer("dynamic_threshold", message, help));
        } else if let Some(Amount::Bytes(total)) = buffer.total.filter(|_| ingress) {
            self.total(total, headroom, audit);
        }
    }

    fn of_control(&self, key: &str, message: String, help: impl Into<String>) -> Remark {
        of_flow_control(self.pause.name, key, message, help)
    }
    fn needed(&self, like: Amount) -> Amount {
        match like {
            Amount::Bytes(_) => Amount::Bytes(self.most_bytes),
            Amount::Frames(_) => Amount::Frames(self.most_frames),
        }
    }
    fn short(&self) -> Amount {
        Amount::Frames(self.most_short_frames)
    }

    fn headroom(&self, headroom: Amount, audit: &mut Audit<'_>) {
        let (name, needed) = (self.name, self.needed(headroom));
        if needed.exceeds(headroom) {
            let [headroom, needed] = Amount::alike([headroom, needed]);
            let message =
                format!("headroom {headroom} is less than the bytes in flight on a link of \"{name}\"");
            let help = format!("expected at least \"{needed}\", or omit `headroom` to compute it");
            audit.loses(Subject::Node(self.id), self.of_control("headroom", message, help));
        } else if self.short().exceeds(headroom) {
            let short = self.most_short_frames;
            let message = format!(
                "headroom {headroom}, but of the shortest frames a link of \"{name}\" has {short} in flight"
            );
            let help = "frames can be lost: expected watermarks in bytes or more headroom";
            audit.may_lose(Subject::Node(self.id), self.of_control("headroom", message, help));
        }
    }

    /// Checks the limit of a queue: the part above `xoff` is its headroom.
    fn limit(&self, limit: Amount, audit: &mut Audit<'_>) {
        let (xoff, name) = (self.xoff, self.name);
        let has_xoff = self.pause.watermarks.is_some();
        let what = if has_xoff { "xoff" } else { "the computed xoff" };
        let about = |message: String, help: String| match (has_xoff, self.switch.buffer.queue) {
            (true, _) => self.of_control("xoff", message, help),
            (false, Some(_)) => of_buffer("queue", message, help),
            (false, None) => of_buffer("port", message, help),
        };
        let subject = Subject::Node(self.id);
        let left = match (limit, xoff) {
            (Amount::Bytes(limit), Amount::Bytes(xoff)) if limit > xoff => Amount::Bytes(limit - xoff),
            (Amount::Frames(limit), Amount::Frames(xoff)) if limit > xoff => Amount::Frames(limit - xoff),
            _ => {
                let [xoff, limit] = Amount::alike([xoff, limit]);
                let message = format!("{what} {xoff} is not below the queue limit {limit}");
                return audit.error(subject, about(message, "expected xon < xoff < limit".to_string()));
            }
        };
        let needed = self.needed(limit);
        let [xoff, shown, room, least] = Amount::alike([xoff, limit, left, needed]);
        if needed.exceeds(left) {
            let message = format!(
                "{what} {xoff} leaves {room} below the limit {shown}, less than the bytes in flight on a link of \"{name}\"",
            );
            let help = format!("expected room for \"{least}\": a lower xoff or a higher limit");
            audit.loses(subject, about(message, help));
        } else if self.short().exceeds(left) {
            let short = self.most_short_frames;
            let message = format!(
                "{what} {xoff} leaves {room} below the limit {shown}; of the shortest frames a link of \"{name}\" has {short} in flight"
            );
            let help = "frames can be lost: expected limits in bytes, a lower xoff or a higher limit";
            audit.may_lose(subject, about(message, help.to_string()));
        }
    }

    /// Checks the memory of the switch, which includes all headroom.
    fn total(&self, total: u64, headroom: Option<Amount>, audit: &mut Audit<'_>) {
        let (name, accounts) = (self.name, self.accounts);
        let reserved = match headroom {
            Some(Amount::Bytes(headroom)) => headroom.saturating_mul(accounts),
            _ => self.sum_bytes,
        };
        if reserved > total {
            let [has, needs] = Amount::alike([total, reserved].map(Amount::Bytes));
            let message = format!("the buffer of \"{name}\" has {has}, but its headroom alone needs {needs}");
            let help = format!(
                "expected a larger total: it is reserved for {accounts} lossless queues, one per port and priority"
            );
            audit.loses(Subject::Node(self.id), of_buffer("total", message, help));
        } else if self.sum_capacity > total {
            let [has, used] = Amount::alike([total, self.sum_capacity].map(Amount::Bytes));
            let message = format!(
                "the buffer of \"{name}\" has {has}; with all ports at xoff and their headroom {used} would be used"
            );
            let help = "frames can be lost before a port is paused: expected a larger total or a lower xoff";
            audit.may_lose(Subject::Node(self.id), of_buffer("total", message, help));
        }
    }

    /// Checks that the headroom pool of a shared memory holds the bytes in flight of all links together. A dynamic
    /// threshold is used in place of watermarks.
    fn shared_memory(&self, memory: SharedMemorySpec, audit: &mut Audit<'_>) {
        let name = self.name;
        if self.pause.watermarks.is_some() {
            let message =
                format!("xoff and xon, but the dynamic threshold of \"{name}\" defines its XOFF and XON");
            let help = "they are ignored there: expected neither, or no dynamic_threshold";
            audit.warn(Subject::Node(self.id), self.of_control("xoff", message, help));
        }
        if memory.headroom < self.sum_bytes {
            let [has, needed] = Amount::alike([memory.headroom, self.sum_bytes].map(Amount::Bytes));
            let message = format!(
                "the headroom of \"{name}\" holds {has}, less than the {needed} that its links have in flight"
            );
            let help = format!("expected at least \"{needed}\", within a total that has room for it");
            let remark = of_buffer("dynamic_threshold", message, help).key("headroom");
            audit.loses(Subject::Node(self.id), remark);
        }
    }
}
