//! Checks that multicast frames can be copied.

use super::{Audit, Subject};
use crate::spec::multicast::refusal;

pub(super) fn check(audit: &mut Audit<'_>) {
    let spec = audit.spec;
    let refused = |(at, flow)| Some((at, refusal(spec, flow)?));
    if let Some((at, remark)) = spec.flows.iter().enumerate().find_map(refused) {
        audit.error(Subject::Flow(at), remark);
    }
}
