//! PFC for some priorities of a link and credit-based flow control for others.
//!
//! Frames of a PFC priority count against the watermarks of their ingress port, and are stopped by pauses. Frames of a
//! priority with credits consume credits of their channel, and wait for them. The two are accounted separately:
//! headroom covers only the PFC priorities, and the receive buffer of a channel only its own priorities. A pause stops
//! only the priorities it names, and a lack of credits only the classes of its channel. A priority in neither list has
//! no flow control.
//!
//! If a pause frame and a credit update are waiting for the same transmitter, the pause frame is sent first.
//!
//! Source: the priority-based flow control of IEEE 802.1Qbb and the credit-based flow control of Ultra Ethernet
//! (CBFC), which allows both on a link for different virtual channels, but not for the same one; the keys are ours.
//!
//! Not modelled: negotiation by LLDP of the flow control of each priority; a limited receive buffer of hosts for PFC
//! priorities (a host receives frames with credits as the credits permit, and accepts all other frames at once).

use crate::pfc::PriorityPauses;
use crate::{Configuration, Control, CreditSettings, Findings};
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Keys of PFC and credits by class: both tables, each with its `priorities`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ByClassKeys {
    /// Settings of PFC, including its `priorities`, which are required here. A table. Required.
    pub pfc: PriorityPauses,
    /// Settings of credit-based flow control, including its `priorities`, which are required here. A table. Required.
    pub credit: CreditSettings,
}

impl Configuration for ByClassKeys {
    fn or(&self, outer: &ByClassKeys) -> ByClassKeys {
        ByClassKeys {
            pfc: Configuration::or(&self.pfc, &outer.pfc),
            credit: Configuration::or(&self.credit, &outer.credit),
        }
    }
    fn complete(&mut self, used: &[u32]) {
        // If its list were missing, PFC would take the priorities of all flows.
        if self.pfc.priorities().is_some() {
            self.pfc.complete(used);
        }
        self.credit.complete(used);
    }
    fn check(&self, used: &[u32]) -> Findings {
        let (pfc, credit) = (Configuration::check(&self.pfc, used), Configuration::check(&self.credit, used));
        let (pfc, credit) = (pfc.within("pfc"), credit.within("credit"));
        let mut found = Findings {
            wrong: pfc.wrong.into_iter().chain(credit.wrong).collect(),
            warnings: pfc.warnings.into_iter().chain(credit.warnings).collect(),
        };
        found.wrong.extend(self.check_lists().err());
        found
    }
    fn start(&self, name: &'static str) -> Control {
        Control::Both(self.pfc.pauses(name), self.credit.spec())
    }
    fn notes(&self) -> Vec<&'static str> {
        Configuration::notes(&self.pfc)
    }
}

impl ByClassKeys {
    /// Checks that both lists are given, and that no priority or counter is in both.
    fn check_lists(&self) -> Result<(), Remark> {
        let lists = [("pfc", self.pfc.priorities()), ("credit", self.credit.priorities.as_deref())];
        for (table, list) in lists {
            if list.is_none() {
                let help = "expected the priorities that it protects, like [3]";
                return Err(
                    Remark::about("priorities", format!("{table} without priorities"), help).within(table)
                );
            }
        }
        let [pfc, credit] = lists.map(|(_, list)| list.unwrap_or_default());
        if let Some(both) = credit.iter().find(|priority| pfc.contains(priority)) {
            let message = format!("priority {both} is in credit.priorities and in pfc.priorities");
            let help = "expected it in one of the two lists: a class has pauses or credits";
            return Err(Remark::about("priorities", message, help).within("credit"));
        }
        let spec = self.credit.spec();
        let channel = |priority: &u32| spec.channel(frame::Priority(*priority as u8)) as u32;
        if let Some(priority) = credit.iter().find(|&priority| pfc.contains(&channel(priority))) {
            let number = channel(priority);
            let message =
                format!("channel {number} of priority {priority} has the number of a priority with PFC");
            let help = "expected channels with other numbers: pauses and fills are recorded by these numbers";
            return Err(Remark::about("channels", message, help).within("credit"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(pfc: &[u32], credit: &[u32]) -> ByClassKeys {
        let credit = CreditSettings { priorities: Some(credit.to_vec()), ..CreditSettings::default() };
        ByClassKeys { pfc: PriorityPauses::of(pfc), credit }
    }

    fn wrong(mut keys: ByClassKeys) -> Vec<String> {
        keys.complete(&[0, 3, 4]);
        keys.check(&[0, 3, 4]).wrong.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_priority_has_one_of_the_two() {
        assert_eq!(wrong(keys(&[3], &[4])), [""; 0]);
        let both = wrong(keys(&[3, 4], &[4]));
        assert!(both[0].contains("priority 4 is in credit.priorities and in pfc.priorities"), "{both:?}");
        assert!(wrong(ByClassKeys::default())[0].contains("pfc without priorities"));
    }

    #[test]
    fn each_part_has_its_priorities() {
        let Control::Both(pauses, credits) = keys(&[3], &[0, 4]).start("by_class") else {
            unreachable!("both are configured")
        };
        assert_eq!(pauses.kind, crate::PauseKind::Priorities(0b1000));
        assert_eq!(credits.priorities, 0b1_0001);
    }
}
