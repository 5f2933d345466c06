//! Buffer profiles and queue managers of ports, as assigned by attachments and entries.

use super::View;
use crate::spec::with_port;
use frame::{NodeId, PRIORITIES, PortId};
use measure::table::{integer, text};
use measure::{TableBuilder, TableSpec};
use queueing::{ManagerAssignment, PoolsSpec, PortFacts};

/// Columns of `profiles`.
pub(super) static PROFILES: TableSpec = TableSpec {
    name: "profiles",
    about: "One row per priority group or queue of a switch port that has a buffer profile, or a queue manager where entries choose ports.",
    columns: &[&[
        text("port", "Name of the port."),
        text("side", "ingress (a priority group) or egress (a queue)."),
        integer("number", "", "Number of the priority group, or traffic class of the queue."),
        text("profile", "Name of the buffer profile; empty without one."),
        text("pool", "Name of its pool; empty without one."),
        text("manager", "Name of the queue manager; empty without one, and in rows of the ingress."),
    ]],
};

struct Row {
    port: u32,
    side: &'static str,
    number: u64,
    profile: String,
    pool: String,
    manager: &'static str,
}

impl View<'_> {
    pub fn profiles(&self) -> TableBuilder {
        let (spec, wiring) = (&self.s.spec, &self.s.wiring);
        let mut rows: Vec<Row> = Vec::new();
        for (id, node) in (0..).map(NodeId).zip(&spec.nodes) {
            let Some(switch) = node.switch() else { continue };
            let (pools, managers) = (switch.pools.as_deref(), &switch.managers);
            if pools.is_none() && managers.by_port.is_empty() {
                continue;
            }
            for port in wiring.ports(id) {
                with_port(spec, wiring, port, |facts| of_port(port, facts, pools, managers, &mut rows));
            }
        }
        PROFILES
            .builder()
            .texts("port", rows.iter().map(|row| self.s.port_name(row.port)))
            .texts("side", rows.iter().map(|row| row.side.to_string()))
            .integers("number", rows.iter().map(|row| row.number))
            .texts("profile", rows.iter().map(|row| row.profile.clone()))
            .texts("pool", rows.iter().map(|row| row.pool.clone()))
            .texts("manager", rows.iter().map(|row| row.manager.to_string()))
    }
}

fn of_port(
    PortId(port): PortId,
    facts: &PortFacts<'_>,
    pools: Option<&PoolsSpec>,
    managers: &ManagerAssignment,
    rows: &mut Vec<Row>,
) {
    let profiles = pools.map(|pools| pools.of_port(facts)).unwrap_or_default();
    let managers = managers.of_port(facts, PRIORITIES);
    for (side, of_side) in [("ingress", profiles.ingress), ("egress", profiles.egress)] {
        for (number, profile) in of_side.into_iter().enumerate() {
            let own = managers.get(number).copied().flatten().filter(|_| side == "egress");
            let named = pools.zip(profile);
            if named.is_none() && own.is_none() {
                continue;
            }
            let (profile, pool) = named.map_or_else(Default::default, |(pools, at)| {
                (pools.profiles[at].name.clone(), pools.pool_of(at).name.clone())
            });
            let manager = own.as_ref().map_or("", queueing::ManagerSpec::name);
            rows.push(Row { port, side, number: number as u64, profile, pool, manager });
        }
    }
}
