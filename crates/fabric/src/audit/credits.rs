//! Checks of credits: both ends of a link count in the same unit, a frame fits, and no other mechanism drops frames.

use super::{Audit, Subject, of_flow_control, worst};
use crate::spec::{FaultSpec, LinkSpec, NodeSpec, SwitchSpec};
use flow_control::CreditSpec;
use frame::{ClassMap, NodeId, PRIORITIES, TrafficClass};
use keys::Remark;
use scheduling::SchedulerSpec;
use units::Time;

/// Name of the table of its keys.
const NAME: &str = "credit";

/// A station, the credits that it grants, and the link on which they allow the smallest share of the rate.
struct Grant<'a> {
    node: NodeId,
    credits: &'a CreditSpec,
    round_trip: Time,
    share: f64,
}

pub(super) fn check(audit: &mut Audit<'_>) {
    let spec = audit.spec;
    if spec.nodes.iter().all(|node| node.credits().is_none()) {
        return;
    }
    for link in &spec.links {
        if let Err((node, remark)) = both_ends(link, &spec.nodes) {
            return audit.error(Subject::Node(node), remark);
        }
    }
    rooms(audit);
    bypasses(audit);
    management(audit);
    all_channels(audit);
    limits(audit);
    faults(audit);
}

/// Checks that both ends of a link have credits in the same unit, and that an update takes time.
fn both_ends(link: &LinkSpec, nodes: &[NodeSpec]) -> Result<(), (NodeId, Remark)> {
    let (a, b) = (&nodes[link.a.at()], &nodes[link.b.at()]);
    let refuse =
        |at: NodeId, message: String, help: &str| Err((at, of_flow_control(NAME, "unit", message, help)));
    match (a.credits(), b.credits()) {
        (None, None) => return Ok(()),
        (Some(own), Some(other)) if own.fits(other) => {}
        (Some(_), Some(_)) => {
            let message =
                format!("\"{}\" and \"{}\" count credits of their link differently", a.name, b.name);
            return refuse(link.a, message, "expected the same unit, per_frame and channels at both ends");
        }
        (own, _) => {
            let (at, with, without) = if own.is_some() { (link.a, a, b) } else { (link.b, b, a) };
            let message =
                format!("\"{}\" has credits and its neighbour \"{}\" has none", with.name, without.name);
            return refuse(at, message, "expected [flow_control.credit] at both ends of a link");
        }
    }
    if link.delay + a.credits().map_or(Time::ZERO, |own| own.update_delay) > Time::ZERO {
        return Ok(());
    }
    let message = format!("an update takes no time from \"{}\" to \"{}\"", b.name, a.name);
    let help = "expected an update_delay, or a link with a delay, above 0";
    Err((link.a, of_flow_control(NAME, "update_delay", message, help)))
}

/// Checks that a frame fits into the buffers, and warns if they hold less than a round trip.
fn rooms(audit: &mut Audit<'_>) {
    let spec = audit.spec;
    let longest = crate::frame_bounds(spec).1;
    let ends = spec.links.iter().flat_map(|link| [(link, link.b, link.a), (link, link.a, link.b)]);
    let grants = ends.filter_map(|(link, to, from)| {
        let node = &spec.nodes[to.at()];
        let (credits, other) = (node.credits()?, spec.nodes[from.at()].credits()?);
        let (round_trip, share) = share((link, to), node, credits, other, longest);
        let settings = (node.host().is_some(), audit.settings(node, ""));
        Some((settings, Grant { node: to, credits, round_trip, share }))
    });
    for (_, Grant { node, credits, round_trip, share }) in worst(grants, |one, known| one.share < known.share)
    {
        let name = &spec.nodes[node.at()].name;
        let need = credits.need(u32::from(longest));
        let (had, unit) = (credits.credits, credits.unit);
        let about = |message, help| of_flow_control(NAME, "buffer", message, help);
        if had < need {
            let message =
                format!("a buffer of {had} credits at \"{name}\": a frame of {longest} B needs {need}");
            let help = format!("expected at least \"{} B\": no such frame could move", need * unit);
            audit.error(Subject::Node(node), about(message, help));
        } else if share < 1.0 {
            let message = format!(
                "a channel to \"{name}\" carries at most {:.1} % of its link in frames of {longest} B: {had} credits for a round trip of {round_trip}",
                share * 100.0
            );
            let enough = (f64::from(had / need) / share).ceil() as u32 * need * unit;
            audit.warn(Subject::Node(node), about(message, format!("\"{enough} B\" would be enough")));
        }
    }
}

/// Returns the time from the first bit of a frame until the update that returns its credits takes effect, and the share
/// of the link that one channel can fill.
fn share(
    (link, end): (&LinkSpec, NodeId),
    to: &NodeSpec,
    own: &CreditSpec,
    other: &CreditSpec,
    bytes: u16,
) -> (Time, f64) {
    let updates = link.rate_from(end);
    let rate = link.rates[1 - link.direction_from(end)];
    let need = own.need(u32::from(bytes)).max(1);
    let takes = rate.time_for_bits_ceil((u64::from(bytes) + u64::from(link.overhead)) * 8);
    // An update may have to wait for the minimum spacing after the previous one.
    let update =
        updates.time_for_bits_ceil((u64::from(own.update_bytes) + u64::from(own.cf_min_spacing)) * 8);
    let round_trip = takes + link.delay + to.latency() + update + link.delay + other.update_delay;
    let frames = f64::from(own.credits / need);
    (round_trip, (frames * takes.ps() as f64 / round_trip.ps() as f64).min(1.0))
}

/// Checks that frames that may be bypassed meet bypass queues on their path.
fn bypasses(audit: &mut Audit<'_>) {
    let spec = audit.spec;
    for flow in spec.flows.iter().filter(|flow| flow.bypassable) {
        let (from, name) = (&spec.nodes[flow.from.at()], &flow.name);
        let Some(credits) = from.credits() else { continue };
        if !credits.has_bypass(flow.priority) {
            let channel = credits.names.name(credits.channel(flow.priority));
            let message = format!(
                "channel {channel} of priority {} has no bypass queue for \"{name}\"",
                flow.priority.0
            );
            let help = "expected \"B0\" to \"B7\" for its priority; its frames will keep their order";
            return audit.warn(Subject::Node(flow.from), of_flow_control(NAME, "channels", message, help));
        }
    }
}

/// Checks that the management channel of a scheduler is that of the fabric: the bypassable one with the highest number.
fn management(audit: &mut Audit<'_>) {
    for (at, node) in audit.spec.nodes.iter().enumerate() {
        let (Some(credits), SchedulerSpec::MinBw(own)) = (node.credits(), node.scheduler()) else { continue };
        let Some(channel) = credits.names.management() else { continue };
        let classes = node.classes();
        let class = own.management(classes.classes() as u32);
        let of_channel = classes.classes_of(credits.channels.numbers_of(TrafficClass(channel as u8)));
        if of_channel != 1 << class {
            let (name, channel) = (&node.name, credits.names.name(channel));
            let message = format!(
                "management at \"{name}\" is class {class}, and the Fabric Management Channel, {channel}, has other frames"
            );
            let help = "expected the priorities of that class, and no others, in the bypassable channel of the highest number";
            let remark = of_flow_control(NAME, "channels", message, help);
            return audit.warn(Subject::Node(NodeId(at as u32)), remark);
        }
    }
}

/// With more channels than priorities, checks that every node has a queue for each channel and no mechanism that is
/// limited to priorities.
fn all_channels(audit: &mut Audit<'_>) {
    let spec = audit.spec;
    let wide = |node: &NodeSpec| node.classes() == ClassMap::CHANNELS;
    let beyond = spec.flows.iter().find(|flow| flow.priority.at() >= PRIORITIES);
    if let (Some(flow), Some(at)) = (beyond, spec.nodes.iter().position(|node| !wide(node))) {
        let message =
            format!("\"{}\" has no queue for the channel of \"{}\"", spec.nodes[at].name, flow.name);
        let remark =
            of_flow_control(NAME, "channels", message, "expected channels = \"all\" at every station");
        return audit.error(Subject::Node(NodeId(at as u32)), remark);
    }
    let manages = |node: &NodeSpec| node.switch().is_some_and(|own| own.managers.all().next().is_some());
    let limits = |node: &NodeSpec| node.host().is_some_and(|own| own.limiters.is_some());
    for (key, has) in [("queue_managers", manages as fn(&NodeSpec) -> bool), ("rate_limiters", limits)] {
        if let Some(at) = spec.nodes.iter().position(|node| wide(node) && has(node)) {
            let message = format!("{key} at \"{}\", and channels = \"all\"", spec.nodes[at].name);
            let help = "expected a channel for each priority: they work by priority";
            return audit.error(Subject::Node(NodeId(at as u32)), Remark::about(key, message, help));
        }
    }
}

/// Rejects limits that lose frames: they contradict credits.
fn limits(audit: &mut Audit<'_>) {
    let is_limited = |node: &NodeSpec| {
        let limited = |switch: &SwitchSpec| !switch.buffer.is_unlimited() || switch.shares_memory();
        node.credits().is_some() && node.switch().is_some_and(limited)
    };
    let Some(at) = audit.spec.nodes.iter().position(is_limited) else { return };
    let message =
        format!("a limit of the buffer at \"{}\", whose links have credits", audit.spec.nodes[at].name);
    let help = "frames with credits always have room: leave it out, and set the buffer of the credits";
    audit.error(Subject::Node(NodeId(at as u32)), Remark::about("buffer", message, help));
}

/// Reports faults that lose credits. The credits of a lost frame are never returned, and the run stops. After a link
/// has been down, both ends would have to agree on their credits again.
fn faults(audit: &mut Audit<'_>) {
    let spec = audit.spec;
    // Link-level retry repeats lost frames, and messages of the sending end restore credits.
    let leaks = |link: u32| {
        let link = &spec.links[link as usize];
        let ends = [link.a, link.b].map(|node| spec.nodes[node.at()].credits());
        let restored = |own: &CreditSpec| own.cc_message_timer > Time::ZERO;
        link.llr.is_none() && ends.into_iter().flatten().any(|own| !restored(own))
    };
    let within_run = |from: Time, until: Time| from < until.min(spec.duration);
    let found = spec.faults.iter().enumerate().find_map(|(at, fault)| match *fault {
        FaultSpec::LinkDown { .. } | FaultSpec::Restart { .. } | FaultSpec::Random { .. } => Some((
            at,
            None,
            "a link with credits goes down, and the resynchronization of its ends is not simulated",
        )),
        FaultSpec::BitErrors { link, from, until, rate }
            if rate > 0.0 && within_run(from, until) && leaks(link) =>
        {
            Some((
                at,
                Some("bit_error_rate"),
                "bit errors on a link with credits: those of a lost frame are never returned",
            ))
        }
        FaultSpec::FrameLoss { link, from, until, probability, .. }
            if probability > 0.0 && within_run(from, until) && leaks(link) =>
        {
            Some((
                at,
                Some("frame_loss"),
                "losses on a link with credits: those of a lost frame are never returned",
            ))
        }
        _ => None,
    });
    let Some((at, key, message)) = found else { return };
    let help = "links with credits can have pause_loss (of updates) and rate, and losses with preset = \"cbfc\" or llr; others, links without credits";
    let remark = Remark::new(message, help);
    audit.error(Subject::Fault(at), key.into_iter().fold(remark, |remark, key| remark.within(key)));
}
