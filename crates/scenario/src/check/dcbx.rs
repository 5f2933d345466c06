//! DCBX: negotiates the settings of both ends of each link before the traffic starts.
//!
//! LLDP takes seconds, whereas a run takes milliseconds. Agents of the crate `dcbx` therefore exchange frames until
//! they have converged, and ports start with the resulting state. Stations have the addresses that captures use.
//!
//! Not modelled: a neighbour that appears or disappears during the run.

mod uplinks;

use self::uplinks::Uplinks;
use super::Context;
use crate::model::Model;
use crate::place::Place;
use ::dcbx::{Agent, Beside, Condition, Neighbour, Operational, Settings, settle};
use ::flow_control::{Control, PauseKind};
use fabric::spec::{HostSpec, LinkSpec, Negotiated, NegotiatedFeature, NodeSpec, Role, SwitchSpec};
use frame::{ClassMap, NodeId, PRIORITIES};
use keys::Remark;
use scheduling::{EtsClass, EtsParams, SchedulerSpec, Selection};
use std::collections::BTreeMap;
use std::sync::Arc;
use units::Time;
use wire::PrioritySet;
use wire::ieee::{Algorithm, Application, EtsTable};

/// Negotiates at every link, and records in each node the priorities for which any of its ports has PFC. Returns the
/// result for each end of each link; empty if no station runs DCBX.
pub fn lower(
    model: &Model,
    nodes: &mut [NodeSpec],
    links: &[LinkSpec],
    context: &mut Context<'_>,
) -> Vec<[Option<Negotiated>; 2]> {
    let settings: Vec<Option<(&Settings, Place)>> = nodes.iter().map(|node| settings(model, node)).collect();
    if settings.iter().all(Option::is_none) {
        return Vec::new();
    }
    let mut reported = Reported::default();
    for (settings, at) in settings.iter().flatten() {
        for (key, needs) in settings.unused_of_pfc() {
            reported.once(keys::unused(key, needs).within("pfc"), at, context);
        }
    }
    let negotiated = at_all_links(&settings, nodes, links, context);
    let mut paused = vec![None; nodes.len()];
    for (link, ends) in links.iter().zip(&negotiated) {
        for (id, own) in [link.a, link.b].into_iter().zip(ends) {
            if let Some(own) = own {
                paused[id.at()] = Some(paused[id.at()].unwrap_or(0) | own.pfc);
            }
        }
    }
    with_pfc(nodes, &paused);
    negotiated
}

/// Negotiates at every link. Uplinks come before the links that inherit their state.
fn at_all_links(
    settings: &[Option<(&Settings, Place)>],
    nodes: &[NodeSpec],
    links: &[LinkSpec],
    context: &mut Context<'_>,
) -> Vec<[Option<Negotiated>; 2]> {
    let uplinks = Uplinks::of(settings, nodes, links, context);
    let mut reported = Reported::default();
    let mut agreed: Vec<Option<[Option<Agreed>; 2]>> = links.iter().map(|_| None).collect();
    let mut left: Vec<usize> = (0..links.len()).collect();
    while !left.is_empty() {
        let is_ready = |&at: &usize| uplinks.before(at).into_iter().flatten().all(|up| agreed[up].is_some());
        let (ready, later): (Vec<usize>, Vec<usize>) = left.iter().partition(|at| is_ready(at));
        if ready.is_empty() {
            uplinks.refuse_circle(&later, context);
            break;
        }
        for at in ready {
            let link = &links[at];
            let ends = [link.a, link.b];
            let uplinks = uplinks.before(at);
            let station = |end: usize| {
                let id = ends[end];
                let (settings, at) = settings[id.at()].as_ref()?;
                let at_uplink = |up: usize| agreed[up].as_ref()?[usize::from(links[up].b == id)].as_ref();
                let inherits = uplinks[end].and_then(at_uplink).map(|one| one.now.clone());
                Some(Station { id, node: &nodes[id.at()], settings, at, inherits })
            };
            let names = ends.map(|end| &*nodes[end.at()].name);
            agreed[at] = Some(negotiate([0, 1].map(station), names, &mut reported, context));
        }
        left = later;
    }
    let negotiated = |ends: [Option<Agreed>; 2]| ends.map(|end| end.map(|end| end.negotiated));
    agreed.into_iter().map(|ends| ends.map_or([None, None], negotiated)).collect()
}

/// A station at one end of a link.
struct Station<'a> {
    id: NodeId,
    node: &'a NodeSpec,
    settings: &'a Settings,
    at: &'a Place,
    /// State in force at the uplink, if the uplink is another link.
    inherits: Option<Operational>,
}

/// Result of the negotiation at one end of a link.
struct Agreed {
    negotiated: Negotiated,
    now: Operational,
}

/// Returns the settings of a station, and their place in the scenario.
fn settings<'m>(model: &'m Model, node: &NodeSpec) -> Option<(&'m Settings, Place)> {
    let (all, each, of_all, own) = match node.role {
        Role::Host(_) => {
            let own = model.hosts.get(&node.name).and_then(|own| own.dcbx.as_ref());
            ("host", "hosts", model.host.dcbx.as_ref(), own)
        }
        Role::Switch(_) => {
            let own = model.switches.get(&node.name).and_then(|own| own.dcbx.as_ref());
            ("switch", "switches", model.switch.dcbx.as_ref(), own)
        }
    };
    let here = |settings| (settings, Place::of(each).key(&node.name).key("dcbx"));
    own.map(here).or_else(|| of_all.map(|settings| (settings, Place::of(all).key("dcbx"))))
}

/// Negotiates between both ends of a link, and reports errors at either of them.
fn negotiate(
    stations: [Option<Station<'_>>; 2],
    names: [&str; 2],
    reported: &mut Reported,
    context: &mut Context<'_>,
) -> [Option<Agreed>; 2] {
    let started = stations.each_ref().map(|station| station.as_ref().map(agent));
    let mut agents = [None, None];
    for ((agent, started), station) in agents.iter_mut().zip(started).zip(&stations) {
        match (started, station) {
            (Some(Ok(one)), _) => *agent = Some(one),
            (Some(Err(remark)), Some(station)) => reported.refuse(remark, station.at, context),
            _ => {}
        }
    }
    if let [Some(one), Some(other)] = &agents {
        let mut pair = [one.clone(), other.clone()];
        if !settle(&mut pair)
            && let Some(station) = &stations[0]
        {
            let [a, b] = names;
            let message = format!("DCBX between \"{a}\" and \"{b}\" does not settle");
            reported.beware(
                Remark::new(message, "the settings of both ends never settle; this is a bug in Penstock"),
                station.at,
                context,
            );
        }
        agents = pair.map(Some);
        mismatches(&agents, &stations, names, reported, context);
    }
    let mut outcome = |(agent, station): (&Option<Agent>, &Option<Station<'_>>)| {
        let (agent, station) = (agent.as_ref()?, station.as_ref()?);
        match outcome(agent, station) {
            Ok(negotiated) => Some(Agreed { negotiated, now: agent.operational().clone() }),
            Err(remark) => {
                reported.refuse(remark, station.at, context);
                None
            }
        }
    };
    [outcome((&agents[0], &stations[0])), outcome((&agents[1], &stations[1]))]
}

/// Creates the agent of a station's port.
fn agent(station: &Station<'_>) -> Result<Agent, Remark> {
    let (classes, scheduler) = queues(station.node);
    let pfc = match station.node.pauses().map(|own| own.kind) {
        Some(PauseKind::Priorities(set)) => PrioritySet(set),
        Some(PauseKind::Link) | None => PrioritySet::default(),
    };
    let unfit = |error: wire::Error| {
        let message = format!("the settings of \"{}\" cannot be encoded: {error}", station.node.name);
        Remark::new(message, "expected settings that DCBX can advertise")
    };
    let beside = Beside { ets: served(classes, scheduler), pfc };
    let (mut admin, profile) = station.settings.administered_beside(&beside).map_err(unfit)?;
    if let Some(uplink) = &station.inherits {
        uplink.bequeath(&mut admin).map_err(unfit)?;
        (admin.ets_willing, admin.pfc.willing) = (false, false);
    }
    let mac = wire::synthesis::mac(station.id.0).map_err(unfit)?;
    Agent::new(mac, admin, profile, Time::ZERO).map_err(unfit)
}

fn queues(node: &NodeSpec) -> (ClassMap, &SchedulerSpec) {
    match &node.role {
        Role::Host(host) => (host.classes, &host.scheduler),
        Role::Switch(switch) => (switch.classes, &switch.scheduler),
    }
}

/// Converts a scheduler to an ETS table. Schedulers that ETS cannot express become vendor-specific.
fn served(queues: ClassMap, scheduler: &SchedulerSpec) -> EtsTable {
    let queue = |priority: usize| queues.class(frame::Priority(priority as u8)).0;
    let plain = |algorithm| {
        EtsTable::new(std::array::from_fn(queue), [0; PRIORITIES], [algorithm; PRIORITIES])
            .unwrap_or(EtsTable::STRICT)
    };
    let SchedulerSpec::Ets(params) = scheduler else {
        let strict = matches!(scheduler, SchedulerSpec::StrictPriority | SchedulerSpec::Fifo);
        return plain(if strict { Algorithm::Strict } else { Algorithm::Vendor });
    };
    let class_of = |priority: usize| {
        let has = |class: &EtsClass| class.queues.contains(&u32::from(queue(priority)));
        params.classes.iter().position(has).unwrap_or(0) as u8
    };
    let (mut percent, mut algorithms) = ([0; PRIORITIES], [Algorithm::Strict; PRIORITIES]);
    for (class, (share, algorithm)) in params.classes.iter().zip(percent.iter_mut().zip(&mut algorithms)) {
        (*share, *algorithm) = match class.selection {
            Selection::Strict => (0, Algorithm::Strict),
            Selection::CreditBased { .. } => (0, Algorithm::CreditBasedShaper),
            Selection::Percent(percent) => (percent as u8, Algorithm::Ets),
        };
    }
    EtsTable::new(std::array::from_fn(class_of), percent, algorithms)
        .unwrap_or_else(|_| plain(Algorithm::Vendor))
}

/// Reports settings that differ between the two ends.
fn mismatches(
    agents: &[Option<Agent>; 2],
    stations: &[Option<Station<'_>>; 2],
    [a, b]: [&str; 2],
    reported: &mut Reported,
    context: &mut Context<'_>,
) {
    let ([Some(one), Some(other)], [Some(first), Some(second)]) = (agents, stations) else { return };
    let conditions = [(one, first), (other, second)];
    let found = conditions.iter().find_map(|(agent, station)| {
        let which = agent.operational().conditions.iter().find_map(|condition| match condition {
            Condition::PfcMismatch { .. } => {
                let [ours, theirs] = [one, other].map(|agent| agent.operational().pfc);
                let message = format!("DCBX: PFC mismatch: {ours} at \"{a}\", {theirs} at \"{b}\"");
                let help = "one end pauses priorities that the other does not obey; expected one that is willing, or the same at both";
                Some(Remark::new(message, help))
            }
            Condition::OtherDialect => {
                let message = format!("DCBX: \"{a}\" and \"{b}\" speak different dialects");
                Some(Remark::new(message, "nothing is adopted; expected the same dialect, or \"either\", at both"))
            }
            Condition::SeveralPeers(_) | Condition::FellBack | Condition::BothDialects => None,
        });
        which.map(|remark| (remark, station.at))
    });
    if let Some((remark, at)) = found {
        reported.beware(remark, at, context);
    }
    if first.settings.tie_break != second.settings.tie_break {
        let message = format!("DCBX: \"{a}\" and \"{b}\" break ties in different ways");
        let help = "if both are willing, both adopt or neither does: expected the same tie_break at both";
        reported.beware(Remark::about("tie_break", message, help), second.at, context);
    }
}

/// Returns the state of an agent for its port.
fn outcome(agent: &Agent, station: &Station<'_>) -> Result<Negotiated, Remark> {
    let now = agent.operational();
    let own = station.node.pauses().map(|own| own.kind);
    if !now.pfc.is_empty() && !matches!(own, Some(PauseKind::Priorities(_))) {
        let message =
            format!("\"{}\" has PFC for priority {}, and no flow_control.pfc", station.node.name, now.pfc);
        let help = "expected flow_control.pfc, which defines its thresholds, or pfc = { exchanged = false }";
        return Err(Remark::about("pfc", message, help));
    }
    let adopted = now.ets_origin == ::dcbx::Origin::Adopted;
    let reported = station.settings.own_ets().is_some() || station.inherits.is_some();
    let scheduler = if adopted || reported { Some(scheduler(&now.ets, station.node)?) } else { None };
    Ok(Negotiated { pfc: now.pfc.0, scheduler, features: features(agent) })
}

/// Converts an ETS table to a scheduler of a port with one queue per priority.
fn scheduler(table: &EtsTable, node: &NodeSpec) -> Result<SchedulerSpec, Remark> {
    let wrong = |message: String, help: &str| Err(Remark::about("ets", message, help));
    let name = &node.name;
    if queues(node).0 != ClassMap::SEPARATE {
        let message = format!("\"{name}\" has ETS by DCBX, and no queue for each priority");
        return wrong(message, "expected queues = \"per_priority\", of which traffic classes have some");
    }
    if *table == EtsTable::STRICT {
        return Ok(SchedulerSpec::StrictPriority);
    }
    let mut classes = Vec::new();
    for class in 0..PRIORITIES {
        let has = |&priority: &u32| usize::from(table.classes()[priority as usize]) == class;
        let queues: Vec<u32> = (0..PRIORITIES as u32).filter(has).collect();
        let share = table.percent()[class];
        let selection = match table.algorithms()[class] {
            _ if queues.is_empty() && share == 0 => continue,
            Algorithm::Ets if queues.is_empty() => {
                let message = format!("traffic class {class} of \"{name}\" has {share} % and no priority");
                return wrong(message, "expected a share for classes with priorities alone");
            }
            _ if queues.is_empty() => continue,
            Algorithm::Strict => Selection::Strict,
            Algorithm::Ets => Selection::Percent(share.into()),
            Algorithm::CreditBasedShaper | Algorithm::Vendor => {
                let message = format!("traffic class {class} of \"{name}\" is neither strict nor ETS");
                return wrong(
                    message,
                    "DCBX does not advertise the parameters of others; expected \"strict\" or \"ets\"",
                );
            }
        };
        classes.push(EtsClass { queues, selection, adaptive: None });
    }
    Ok(SchedulerSpec::Ets(EtsParams::new(classes)))
}

fn features(agent: &Agent) -> Vec<NegotiatedFeature> {
    let (admin, now) = (agent.administered(), agent.operational());
    let remote = agent.neighbours().first().map(|one: &Neighbour| &one.remote);
    let older = || remote.and_then(|remote| remote.older.as_ref());
    let pfc = remote
        .and_then(|remote| remote.pfc.map(|pfc| pfc.enabled()))
        .or_else(|| older()?.pfc.as_ref().map(|pfc| pfc.value.priorities));
    let ets = remote.and_then(|remote| remote.recommendation).or_else(|| older()?.ets());
    let mismatch = now.conditions.iter().any(|one| matches!(one, Condition::PfcMismatch { .. }));
    let text = |reported: Option<String>| reported.unwrap_or_default();
    let feature = |name, local: String, remote, operational: String, why: String| NegotiatedFeature {
        name,
        local,
        remote,
        operational,
        why,
        mismatch: name == "pfc" && mismatch,
    };
    let own = admin.pfc.enabled().to_string();
    let mut all = vec![
        feature(
            "pfc",
            own,
            text(pfc.map(|one| one.to_string())),
            now.pfc.to_string(),
            now.pfc_origin.to_string(),
        ),
        feature(
            "ets",
            admin.ets.to_string(),
            text(ets.map(|one| one.to_string())),
            now.ets.to_string(),
            now.ets_origin.to_string(),
        ),
    ];
    if !now.applications.is_empty() {
        let theirs = remote.map(|remote| &remote.applications[..]).unwrap_or_default();
        let why = "ours, and those of the peer with other names".to_string();
        all.push(feature(
            "applications",
            list(&admin.applications),
            list(theirs),
            list(&now.applications),
            why,
        ));
    }
    all
}

fn list(applications: &[Application]) -> String {
    let all: Vec<String> = applications.iter().map(ToString::to_string).collect();
    all.join("; ")
}

/// Sets the priorities with PFC of each node to those that any of its ports has negotiated; `None` leaves a node
/// unchanged.
fn with_pfc(nodes: &mut [NodeSpec], paused: &[Option<u8>]) {
    let mut hosts: BTreeMap<(*const HostSpec, u8), Arc<HostSpec>> = BTreeMap::new();
    let mut switches: BTreeMap<(*const SwitchSpec, u8), Arc<SwitchSpec>> = BTreeMap::new();
    for (node, paused) in nodes.iter_mut().zip(paused) {
        let Some(paused) = *paused else { continue };
        // Nodes with equal settings share them.
        match &mut node.role {
            Role::Host(host) => {
                let changed = hosts.entry((Arc::as_ptr(host), paused)).or_insert_with(|| {
                    let mut own = HostSpec::clone(host);
                    set_pfc(&mut own.flow_control, paused);
                    Arc::new(own)
                });
                *host = Arc::clone(changed);
            }
            Role::Switch(switch) => {
                let changed = switches.entry((Arc::as_ptr(switch), paused)).or_insert_with(|| {
                    let mut own = SwitchSpec::clone(switch);
                    set_pfc(&mut own.flow_control, paused);
                    Arc::new(own)
                });
                *switch = Arc::clone(changed);
            }
        }
    }
}

fn set_pfc(control: &mut Option<Control>, paused: u8) {
    if let Some(Control::Pauses(pauses)) = control
        && let PauseKind::Priorities(set) = &mut pauses.kind
    {
        *set = paused;
    }
    // Without any priority, there are no pauses.
    if paused == 0
        && control.as_ref().and_then(Control::pauses).is_some_and(|own| own.kind != PauseKind::Link)
    {
        *control = None;
    }
}

/// Messages that were reported already: many links have the same settings.
#[derive(Default)]
struct Reported {
    reported: BTreeMap<String, usize>,
}

impl Reported {
    /// Maximum number of similar messages about one table of settings.
    const MOST: usize = 5;

    fn refuse(&mut self, remark: Remark, at: &Place, context: &mut Context<'_>) {
        if self.is_news(&remark, at) {
            context.refuse(remark, at);
        }
    }
    fn beware(&mut self, remark: Remark, at: &Place, context: &mut Context<'_>) {
        if self.is_news(&remark, at) {
            context.beware(remark, at);
        }
    }
    /// Reports a remark once per table of settings, for all stations that use it.
    fn once(&mut self, remark: Remark, at: &Place, context: &mut Context<'_>) {
        if self.reported.insert(format!("{at:?} {remark}"), 1).is_none() {
            context.beware(remark, at);
        }
    }
    fn is_news(&mut self, remark: &Remark, at: &Place) -> bool {
        let reported = self.reported.entry(format!("{at:?} {}", remark.help)).or_default();
        *reported += 1;
        *reported <= Self::MOST
    }
}
