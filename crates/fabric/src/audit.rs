//! Checks of a simulation as a whole: whether each mechanism works in combination with the others.
//!
//! A mechanism checks its own keys in its own file. Checks that need the links, the neighbours or the flows are here,
//! one file per mechanism. No check depends on the syntax of a scenario: a [`Finding`] names a node, a fault or a flow,
//! and the path of a setting from there.

mod bottlenecks;
mod cores;
mod credits;
mod crossbars;
mod headroom;
mod lengths;
mod limiters;
mod limits;
mod memory;
mod multicast;
mod pauses;
mod pools;
mod port_settings;
mod receive_buffers;
mod reroutes;
mod routes;
mod thresholds;
mod trimming;

use crate::PauseNeeds;
use crate::build::{BuildError, refusal};
pub use crate::spec::Subject;
use crate::spec::{NodeSpec, OnLosslessDrop, Spec};
pub use bottlenecks::{Bottleneck, RoundTrips, bottlenecks, round_trips};
use keys::{Remark, Severity};
pub use thresholds::{Threshold, paused_before_marks, thresholds};

/// An error in a simulation, or a setting that is probably a mistake.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Severity of the finding.
    pub severity: Severity,
    /// Node, fault or flow concerned.
    pub subject: Subject,
    /// The remark and the path of the setting that it is about.
    pub remark: Remark,
}

/// Returns true if a node has its own setting of this name; for the empty name, any setting of its own.
///
/// Nodes without settings of their own share one set, whose errors are reported once.
pub type HasOwn<'a> = dyn Fn(&NodeSpec, &str) -> bool + 'a;

/// Checks a simulation whose parts are each valid.
pub fn audit(spec: &Spec, needs: &[PauseNeeds], has_own: &HasOwn<'_>) -> Vec<Finding> {
    let mut audit = Audit { spec, needs, has_own, findings: Vec::new() };
    memory::check(&mut audit);
    pools::check(&mut audit);
    port_settings::check_managers(&mut audit);
    headroom::check(&mut audit);
    receive_buffers::check(&mut audit);
    pauses::check(&mut audit);
    credits::check(&mut audit);
    multicast::check(&mut audit);
    crossbars::check(&mut audit);
    trimming::check(&mut audit);
    audit.findings
}

/// Further checks, for simulations in which [`audit`] found no error. Errors for which a run would be refused come
/// first. `layered`: the shortest paths of the topology go up, then down.
pub fn audit_flows(spec: &Spec, layered: bool, has_own: &HasOwn<'_>) -> Vec<Finding> {
    let mut audit = Audit { spec, needs: &[], has_own, findings: Vec::new() };
    if let Some(BuildError { subject, remark }) = refusal(spec) {
        audit.error(subject, remark);
        return audit.findings;
    }
    lengths::check(&mut audit);
    routes::check_detours(&mut audit);
    routes::check(layered, &mut audit);
    reroutes::check(&mut audit);
    limiters::check(&mut audit);
    limits::check(&mut audit);
    cores::check(&mut audit);
    audit.findings
}

/// A simulation and the findings so far.
struct Audit<'a> {
    spec: &'a Spec,
    needs: &'a [PauseNeeds],
    has_own: &'a HasOwn<'a>,
    findings: Vec<Finding>,
}

impl<'a> Audit<'a> {
    /// Returns the name of a node if it has settings of its own under this key. `None`: it shares them with the others
    /// of its kind.
    fn settings(&self, node: &'a NodeSpec, key: &str) -> Option<&'a str> {
        (self.has_own)(node, key).then_some(node.name.as_str())
    }
    /// Returns true if the run stops at the loss of a lossless frame. Otherwise the run counts such losses, and the
    /// scenario may intend them.
    fn is_strict(&self) -> bool {
        self.spec.on_lossless_drop == OnLosslessDrop::Stop
    }
    fn error(&mut self, subject: Subject, remark: Remark) {
        self.findings.push(Finding { severity: Severity::Error, subject, remark });
    }
    fn warn(&mut self, subject: Subject, remark: Remark) {
        self.findings.push(Finding { severity: Severity::Warning, subject, remark });
    }
    /// Reports a setting that loses lossless frames: an error, unless the scenario counts such losses.
    fn loses(&mut self, subject: Subject, remark: Remark) {
        if self.is_strict() { self.error(subject, remark) } else { self.may_lose(subject, remark) }
    }
    /// Reports a setting with which lossless frames can be lost.
    fn may_lose(&mut self, subject: Subject, remark: Remark) {
        self.findings.push(Finding { severity: Severity::NotLossless, subject, remark });
    }
}

/// A remark about a key of this kind of flow control.
fn of_flow_control(kind: &str, key: &str, message: impl Into<String>, help: impl Into<String>) -> Remark {
    Remark::about(key, message, help).within(kind).within("flow_control")
}

/// A remark about a limit of the buffer of a switch.
fn of_buffer(key: &str, message: impl Into<String>, help: impl Into<String>) -> Remark {
    Remark::about(key, message, help).within("buffer")
}

/// Returns the worst finding of each group of nodes that share settings; the first of equal ones.
fn worst<K: Ord, T>(found: impl Iterator<Item = (K, T)>, is_worse: impl Fn(&T, &T) -> bool) -> Vec<(K, T)> {
    let mut worst = std::collections::BTreeMap::new();
    for (settings, one) in found {
        if worst.get(&settings).is_none_or(|known| is_worse(&one, known)) {
            worst.insert(settings, one);
        }
    }
    worst.into_iter().collect()
}
