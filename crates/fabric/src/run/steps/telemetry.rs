//! In-band telemetry: values that the egress ports of switches write into packets that request them.
//!
//! A port writes when the transmission of a data packet begins, including the length of the queue behind it at that
//! time. Stamps are stored next to the header of their packet (`headers`), and are freed with it. Bytes are counted as
//! on the wire. Without queue pairs that use telemetry, this state does not exist, and no port is marked for it.

use crate::run::state::index::PortIx;
use crate::run::state::view::NodeView;
use frame::{Frame, FrameKind, Stamp, Telemetry, TrafficClass, members};
use transport::{HostEvent, Protocol};
use units::Time;

/// Writes telemetry into a data packet that requests it, when its transmission begins at a port.
pub fn write_telemetry(here: &mut NodeView, egress: PortIx, frame: &Frame, now: Time) {
    let Some(own) = here.telemetry.get_mut(egress).filter(|own| own.writes) else { return };
    let port = &here.links.ports[egress];
    let overhead = u64::from(port.timing.overhead());
    let before = own.sent;
    own.sent += u64::from(frame.bytes) + overhead;
    if frame.flags.kind() != FrameKind::Data {
        return;
    }
    let Some(telemetry) = here.headers.telemetry_of(frame) else { return };
    let queues = members(port.waiting).map(|class| port.queue(TrafficClass(class as u8)));
    let queue = queues.map(|queue| {
        let waiting = here.buffers.queues[queue].occupancy;
        waiting.bytes + waiting.frames * overhead
    });
    let stamp = Stamp { at: now, sent: before, queue: queue.sum(), rate: here.links.cold[egress].rate };
    match telemetry {
        Telemetry::None => {}
        Telemetry::Hops(most) => {
            let most = *most;
            here.headers.stamps_mut(frame).push(here.numbering.port(egress), stamp, most);
        }
        Telemetry::Worst { utilisation, over } => {
            let own = own.average(&stamp, *over) * 1e6 + 0.5;
            *utilisation = (*utilisation).max(own as u32);
        }
    }
}

/// Passes the stamps of a packet to the endpoint at the end of its path, before the packet itself.
pub fn deliver_stamps(here: &mut NodeView, frame: &Frame, to_far: bool, pair: u32, now: Time) {
    let Some(ends) = here.hosts.endpoints_of_path.get(frame.path.at()) else { return };
    if let Some(nth) = ends[usize::from(to_far)] {
        let stamps = here.headers.stamps_mut(frame);
        let event = HostEvent::Stamps { kind: frame.flags.kind(), pair, stamps };
        here.hosts.endpoints[nth].endpoint.on_event(now, &event);
    }
}
