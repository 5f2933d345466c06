//! Path choice at run time: each switch selects the next port of a frame (`choice`) among those of its forwarding table
//! (`forwarding`).

use crate::run::state::buffers::Buffers;
use crate::run::state::index::{NodeIx, PortIx};
use crate::run::state::links::Links;
use crate::run::state::port::PortFeatures;
use crate::run::state::spreading::Spreading;
use crate::run::state::view::NodeView;
use crate::spec::choice::{Backlog, Chooser, Chosen};
use crate::spec::detours::Detours;
use crate::spec::tuple::Tuple;
use frame::{NodeId, PortId, Route, TrafficClass, members};
use units::Time;

/// Returns the port through which a host with several links to a node sends a frame with this entropy value: planes in
/// turn, excluding failed links.
pub fn striped_egress(here: &NodeView, node: NodeIx, destination: NodeId, entropy: u16) -> Option<PortIx> {
    let id = NodeId(here.numbering.first_node + node.number());
    let ports = here.routes.spreading.as_deref()?.table.lookup(id, destination).ports;
    let first = usize::from(entropy).checked_rem(ports.len())?;
    let in_turn = ports[first..].iter().chain(&ports[..first]).map(|&port| here.numbering.port_here(port));
    let mut up = in_turn.clone().filter(|&port| !here.links.ports[port].features.has(PortFeatures::DOWN));
    up.next().or_else(|| in_turn.clone().next())
}

/// Returns the port that a switch chooses for a frame, and the route from there; the frame may start or end a detour
/// here. `None` for the port: the frame has arrived.
#[inline(never)]
pub fn onward(
    here: &mut NodeView,
    node: NodeIx,
    path: u32,
    (to, label): (NodeId, u16),
    detours: &Detours,
    now: Time,
) -> (Option<PortIx>, Route) {
    if let Some((port, group)) = detour(here, node, path, (to, label), detours, now) {
        return (Some(port), Route::to(to).with_entropy(group));
    }
    (choose_egress(here, node, path, (to, 0), now), Route::to(to))
}

/// Returns the port of a frame on a detour, and the label of its group; `None` if its path is minimal from here on.
fn detour(
    here: &mut NodeView,
    node: NodeIx,
    path: u32,
    (destination, label): (NodeId, u16),
    detours: &Detours,
    now: Time,
) -> Option<(PortIx, u16)> {
    let id = NodeId(here.numbering.first_node + node.number());
    let numbering = here.numbering;
    let spreading = here.routes.spreading.as_deref_mut()?;
    let Chooser::Detour(own) = &mut spreading.choosers[node] else { return None };
    let (keys, random) = &mut **own;
    if label > 0 {
        return detours.onward(id, label, random).map(|port| (numbering.port_here(port), label));
    }
    let ends = spreading.ends[path as usize]?;
    let from = if destination == ends.from { ends.to? } else { ends.from };
    if !detours.is_first(id, from) || !detours.crosses(id, destination) {
        return None;
    }
    let drawn = detours.draw(id, destination, random)?;
    if let Some(keys) = keys {
        let queued = |port: PortId| backlog(&here.links, &here.buffers, numbering.port_here(port), now).bytes;
        let minimal = spreading.table.lookup(id, destination).ports.iter().map(|&port| queued(port)).min()?;
        let links = |over: Option<u16>| detours.links(id, over, destination);
        let bound = queued(drawn.port) * links(Some(drawn.group)) + keys.threshold.get();
        if minimal * links(None) <= bound {
            return None;
        }
    }
    Some((numbering.port_here(drawn.port), drawn.group + 1))
}

/// Bytes queued at a port or not yet sent on its link: an idle port is preferred to a busy one.
#[inline(always)]
fn backlog(links: &Links, buffers: &Buffers, port: PortIx, now: Time) -> Backlog {
    let own = &links.ports[port];
    let waiting: u64 = members(own.waiting)
        .map(|class| buffers.queues[own.queue(TrafficClass(class as u8))].occupancy.bytes)
        .sum();
    let on_link = links.cold[port].rate.bits_in_ceil(own.busy_until.saturating_sub(now)).div_ceil(8);
    Backlog { bytes: waiting + on_link, paused: own.waiting & own.stopped != 0 }
}

/// Returns the port that a node chooses for a frame of a path; `None` if the frame has arrived.
#[inline(never)]
pub fn choose_egress(
    here: &mut NodeView,
    node: NodeIx,
    path: u32,
    (destination, entropy): (NodeId, u16),
    now: Time,
) -> Option<PortIx> {
    let id = NodeId(here.numbering.first_node + node.number());
    if id == destination {
        return None;
    }
    let Spreading { table, choosers, ends, .. } = here.routes.spreading.as_deref_mut()?;
    // Port numbers in the table are those of the whole fabric.
    let candidates = table.lookup(id, destination);
    let numbering = here.numbering;
    let local = |port: PortId| numbering.port_here(port);
    if let [only] = candidates.ports {
        return Some(local(*only));
    }
    let flow = ends[path as usize].map_or(Tuple::from(0), |ends| ends.tuple_to(destination));
    let (links, buffers) = (&here.links, &here.buffers);
    let ports = &links.ports;
    let backlog = |port: PortId| backlog(links, buffers, local(port), now);
    let picked =
        choosers[node].pick(candidates, Chosen { node: id, flow, entropy, destination, now }, backlog)?;
    let is_up = |port: PortId| !ports[local(port)].features.has(PortFeatures::DOWN);
    if is_up(picked) {
        return Some(local(picked));
    }
    let up = |port: &&PortId| is_up(**port);
    let after = candidates.ports.iter().skip_while(|&&port| port != picked).find(up);
    let port = *after.or_else(|| candidates.ports.iter().find(up)).unwrap_or(&picked);
    Some(local(port))
}
