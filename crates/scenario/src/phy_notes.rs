//! Notes on links of lossless classes without a PHY: their headroom as the scenario stands, and with the usual PHY.

use crate::Scenario;
use fabric::WithoutPhy;
use fabric::topology::Topology;

impl Scenario {
    /// Returns a note, with its remedy, for each rate and cable of links that carry a lossless class and whose scenario
    /// states neither a PHY nor a delay. Runs do not print them.
    pub fn phy_notes(&self) -> Vec<String> {
        let topology = &self.effective.topology;
        let Ok(graph) = topology.graph() else { return Vec::new() };
        // A delay of its own in [links] states that of the link.
        let has_own = |number: usize| self.spec.links[number].cable != graph.links[number].cable;
        let unstated = graph.links.iter().enumerate();
        let unstated = unstated.filter(|&(number, link)| link.leaves_out_phy && !has_own(number));
        let unstated: Vec<usize> = unstated.map(|(number, _)| number).collect();
        let table = match topology {
            Topology::Explicit(_) => "[[topology.explicit.links]]".to_string(),
            _ => format!("[topology.{}]", topology.kind()),
        };
        let note = |row: WithoutPhy| {
            let several = if row.links == 1 { " has" } else { "s have" };
            format!(
                "note: {} link{several} no PHY ({}, {} of cable): headroom is {} B, and {} B with {}, the slowest PHY of that rate\n  = help: set phy = \"slowest\" in {table}, or phy = \"none\" if no PHY delay is meant",
                row.links, row.rate, row.cable, row.headroom, row.headroom_with_phy, row.phy.name
            )
        };
        fabric::without_phy(&self.spec, &unstated).into_iter().map(note).collect()
    }
}
