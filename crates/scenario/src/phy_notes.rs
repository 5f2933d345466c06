//! Notes on links whose scenario states no PHY.

use crate::Scenario;

impl Scenario {
    /// Returns a note for each rate of links that have its PHY by default. Runs do not print them.
    pub fn phy_notes(&self) -> Vec<String> {
        let note = |phy: &&flow_control::phy::Phy| {
            format!(
                "note: links of {} have the default PHY {} ({} per direction); phy = \"none\" omits it",
                phy.rate,
                phy.name,
                phy.interface_delay()
            )
        };
        self.default_phys.iter().map(note).collect()
    }
}
