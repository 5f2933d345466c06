//! Flow control of stations: what they inherit, and what it says is wrong.

use super::Context;
use crate::model::Model;
use crate::place::Place;
use flow_control::{Control, FlowControl};

/// The flow control of a station, checked where the station has settings of its own.
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

/// Checks what flow control says about itself. `at` is the place of the key `flow_control`.
pub fn check(flow_control: &FlowControl, model: &Model, at: &Place, context: &mut Context<'_>) {
    let found = flow_control.check(&model.used_priorities());
    found.wrong.into_iter().for_each(|why| context.refuse(why, at));
    found.warnings.into_iter().for_each(|why| context.beware(why, at));
}
