//! Flow control of stations: inheritance and errors.

use super::Context;
use crate::model::Model;
use crate::place::Place;
use fabric::spec::{FlowSpec, NodeSpec, with_new_priorities};
use flow_control::{Control, FlowControl};

/// Returns the flow control of a station, and checks it if the station has its own settings.
pub fn lower(
    model: &Model,
    all: &Option<FlowControl>,
    own: Option<&Option<FlowControl>>,
    at: &Place,
    context: &mut Context<'_>,
) -> Option<Control> {
    let inherit = |outer: &FlowControl, inner: Option<&FlowControl>| {
        inner.map_or_else(|| outer.clone(), |inner| inner.inherit(outer))
    };
    let own_text = own.and_then(Option::as_ref);
    let resolved = inherit(&inherit(&model.flow_control, all.as_ref()), own_text);
    let written_here = own_text.is_some() || (own.is_none() && all.is_some());
    if written_here {
        check(&resolved, model, &at.key("flow_control"), context);
    }
    resolved.control(&model.used_priorities())
}

/// Reports the remarks of a flow control. `at` is the place of the key `flow_control`.
pub fn check(flow_control: &FlowControl, model: &Model, at: &Place, context: &mut Context<'_>) {
    let found = flow_control.check(&model.used_priorities());
    found.wrong.into_iter().for_each(|why| context.refuse(why, at));
    context.check_later(flow_control, at);
}

/// Reports warnings about flow control that require all flows, including those from files.
pub fn warn(nodes: &[NodeSpec], flows: &[FlowSpec], context: &mut Context<'_>) {
    let used = flows.iter().fold(0, |set, flow| set | 1u32 << flow.priority.0);
    let used = frame::members(with_new_priorities(nodes, used));
    let used: Vec<u32> = used.map(|priority| priority as u32).collect();
    for (flow_control, at) in std::mem::take(&mut context.later) {
        flow_control.check(&used).warnings.into_iter().for_each(|why| context.beware(why, &at));
    }
}
