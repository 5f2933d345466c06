//! Requirements of multicast flows, whose frames switches copy: multicast channels, and paths that are known before the
//! run.

use crate::spec::choice::PathChoice;
use crate::spec::{FlowSpec, NodeSpec, Spec, Way};
use keys::Remark;

/// Returns the reason why a multicast flow is refused; `None` for other flows.
pub(crate) fn refusal(spec: &Spec, flow: &FlowSpec) -> Option<Remark> {
    if !flow.source.destinations.are_all_meant() {
        return None;
    }
    let (message, help) = of_channel(spec, flow)
        .or_else(|| of_sender(spec, flow).map(|(message, help)| (message, help.to_string())))
        .or_else(|| of_switches(spec, flow).map(|(message, help)| (message, help.to_string())))?;
    Some(Remark::about("multicast", message, help).within("to"))
}

/// Checks that the flow has a channel whose frames switches copy.
fn of_channel(spec: &Spec, flow: &FlowSpec) -> Option<(String, String)> {
    let from = &spec.nodes[flow.from.at()];
    let Some(credits) = from.credits() else {
        let message = format!("frames for several hosts, and the links of \"{}\" have no credits", from.name);
        return Some((message, "expected [flow_control.credit] and a channel \"M0\" to \"M3\"".into()));
    };
    let channel = credits.channel(flow.priority);
    if credits.names.is_multicast(channel) {
        return None;
    }
    let message = format!("frames for several hosts on channel {}", credits.names.name(channel));
    let multicast = credits.names.multicast();
    let help = match multicast.is_empty() {
        true => "expected `channels` of [flow_control.credit] with \"M0\" to \"M3\"".into(),
        false => format!("expected a multicast channel: {multicast}"),
    };
    Some((message, help))
}

/// Checks that a host with one link pushes the frames, which have no word of their own.
fn of_sender(spec: &Spec, flow: &FlowSpec) -> Option<(String, &'static str)> {
    let from = &spec.nodes[flow.from.at()];
    let links = spec.links.iter().filter(|link| link.a == flow.from || link.b == flow.from).count();
    let source = &flow.source;
    let limited = |node: &NodeSpec| node.host().is_some_and(|host| host.limiters.is_some());
    let reason = if flow.transport.is_some() {
        (
            "frames of a connection for several hosts",
            "expected a source that pushes frames: a connection has one peer",
        )
    } else if source.transfers().is_some() {
        ("transfers to several hosts at once", "expected a flow, or one destination for each transfer")
    } else if source.counted_streams().is_some() {
        (
            "streams that are counted, and copied",
            "expected `counted = false`, or one destination for each frame",
        )
    } else if from.host().is_none() || links != 1 {
        (
            "frames for several hosts from a sender that is no host with one link",
            "expected a host with one link: only switches copy frames",
        )
    } else if limited(from) {
        ("frames for several hosts that pass rate limiters", "expected no rate_limiters at their sender")
    } else if flow.way != Way::Shortest {
        (
            "frames for several hosts along a route, or to more hosts than paths can be listed for",
            "expected shortest paths, and no `route`",
        )
    } else {
        return None;
    };
    Some((format!("{}: \"{}\" of \"{}\"", reason.0, flow.name, from.name), reason.1))
}

/// Checks the switches: they need static paths, and must not drop frames by design.
fn of_switches(spec: &Spec, flow: &FlowSpec) -> Option<(String, &'static str)> {
    spec.nodes.iter().find_map(|node| {
        let switch = node.switch()?;
        let class = node.classes().class(flow.priority);
        if !matches!(switch.path_choice, PathChoice::Hash(_)) {
            let message = format!("frames for several hosts, and path_choice at \"{}\"", node.name);
            return Some((
                message,
                "expected path_choice = \"hash\": copies are made where listed paths part",
            ));
        }
        let managed = switch.managers.of_class(class.at()).next().is_some();
        let message =
            || format!("frames for several hosts, and a queue manager of their class at \"{}\"", node.name);
        managed.then(|| (message(), "expected queue_managers of other classes"))
    })
}
