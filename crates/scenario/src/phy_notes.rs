//! Notes on links for which the scenario states no PHY.

use crate::Scenario;

impl Scenario {
    /// Returns one note for each link rate with a default PHY. Runs do not print these notes.
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
