//! Keys that PAUSE and PFC share, and their validation.

use crate::control::{Findings, settings};
use crate::pause_length::{PauseLength, PauseQuanta};
use crate::{Accounting, PauseKind, PauseSpec, Sampling, TargetMethod, TargetSpec, Watermarks};
use keys::{Remark, unused};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Amount, Computed, Or, Standard, Time};

settings! {
    /// Settings of PAUSE, PFC and TPFC.
    pub struct PauseSettings {
        /// Lossless priorities, 0 to 7 each; `pfc` only. Default: all priorities that flows use.
        pub priorities: Vec<u32>,
        /// Occupancy that is compared with the watermarks: "ingress" (per ingress port; pauses the link partner at that port) or "egress" (per egress queue; pauses the link partners at the other ports). Default: "ingress" (as PFC devices do).
        #[schemars(extend("default" = "ingress"))]
        pub accounting: Accounting,
        /// High watermark: at or above it, XOFF is sent. A size in bytes or frames, or "computed"; together with `xon`. Default: "computed" for each port from the headroom of its link, so that no frame is lost and no queue underruns. `xoff`, `xon` and `headroom` have no effect at switches with a `dynamic_threshold` and ingress accounting, where XOFF is sent at that threshold, and at switches with a `memory`, whose profiles set all three.
        #[schemars(extend("default" = "computed"))]
        pub xoff: Or<Amount, Computed>,
        /// Low watermark: at or below it, XON is sent. A size in bytes or frames, below `xoff`, or "computed"; together with `xoff`. Default: "computed".
        #[schemars(extend("default" = "computed"))]
        pub xon: Or<Amount, Computed>,
        /// Memory above `xoff` for the data in flight on the link; ingress accounting only. A size in bytes or frames, or "computed". Default: "computed" (IEEE 802.1Qbb Annex O).
        #[schemars(extend("default" = "computed"))]
        pub headroom: Or<Amount, Computed>,
        /// Pause time in quanta of 512 bit times of the link, from the end of the reception of the pause frame. The pause takes effect one response time later, so that it stops the link for the pause time less the response time, and not at all if it is no longer than that. A renewed pause must be longer by one maximum-length frame and three pause frames. A count, 1 to 65535; a list of eight, one for each priority, 0 to 7 (`pfc` only); or "computed": the time until the occupancy falls to the low watermark, without XON. Default: 65535 (most devices send the maximum and rely on XON).
        #[schemars(extend("default" = 65535))]
        pub pause_quanta: PauseQuanta,
        /// If true, XON is sent at the low watermark and ends the pause one response time after its reception. If false, a pause ends only by its timer, `pause_quanta` after the reception of the last XOFF. Default: true; false if `pause_quanta` is "computed".
        #[schemars(extend("default" = true))]
        pub resume: bool,
        /// If true, a pause is renewed without a gap while the queue stays above the low watermark. If false, the sender resumes when the pause expires, and its frames are lost if the queue is still full. Default: true.
        #[schemars(extend("default" = true))]
        pub refresh: bool,
        /// Time from the end of the reception of a pause frame to its effect at this station, for XOFF and XON. It does not shift the end of a pause, which is `pause_quanta` after the end of the reception, or one response time after the reception of an XON. The headroom of the station at the other end of the link is computed from it. A time with unit, or "standard". Default: "standard" (the limit that IEEE 802.3 sets for the rate or the PHY of the link).
        #[schemars(extend("default" = "standard"))]
        pub response_time: Or<Time, Standard>,
        /// Targeted PFC (Hagen 2012, section 7.2): pauses only the link partners that fill the queue; `pfc` with egress accounting only. Default: none.
        pub target: TargetSpec,
    }
}

/// Describes a wrapper type by the schema of its settings, so that the JSON Schema has one definition.
macro_rules! described_as_settings {
    ($keys:ty) => {
        impl schemars::JsonSchema for $keys {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                crate::PauseSettings::schema_name()
            }
            fn schema_id() -> std::borrow::Cow<'static, str> {
                crate::PauseSettings::schema_id()
            }
            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                crate::PauseSettings::json_schema(generator)
            }
        }
    };
}

pub(crate) use described_as_settings;

/// Returns an error with this message and help.
fn wrong<T>(key: &str, message: impl Into<String>, help: impl Into<String>) -> Result<T, Remark> {
    Err(Remark::about(key, message, help))
}

const ONE_UNIT: &str = "expected both in bytes or both in frames";

impl PauseSettings {
    /// Sets the defaults.
    pub(crate) fn complete(&mut self) {
        let accounting = *self.accounting.get_or_insert(Accounting::Ingress);
        self.xoff.get_or_insert(Or::word());
        self.xon.get_or_insert(Or::word());
        if accounting == Accounting::Ingress {
            self.headroom.get_or_insert(Or::word());
        }
        let quanta = self.pause_quanta.get_or_insert(PauseQuanta::One(u16::MAX.into()));
        self.resume.get_or_insert(*quanta != PauseQuanta::Computed);
        self.refresh.get_or_insert(true);
        self.response_time.get_or_insert(Or::word());
    }
    /// Validates the settings. `single` is true if they apply to single priorities.
    pub(crate) fn check(&self, single: bool, used: &[u32]) -> Findings {
        let mut found = Findings::default();
        self.check_priorities(single, used, &mut found);
        let rest = [
            self.pause_quanta.as_ref().map_or(Ok(()), |quanta| quanta.check(single)),
            self.check_response(),
            self.check_watermarks(),
            self.check_headroom(),
            self.check_target(single),
        ];
        found.wrong.extend(rest.into_iter().filter_map(Result::err));
        let samples = |target: &TargetSpec| target.method == TargetMethod::RandomSampling;
        if self.target.is_some_and(|target| !samples(&target) && target.sampling != Sampling::default()) {
            let needs = "method = \"random_sampling\"";
            found.warnings.push(unused("sampling", needs).within("target"));
        }
        if self.target.is_some_and(|target| target.watermark.value().is_some() && target.partners != 1) {
            found.warnings.push(unused("partners", "watermark = \"computed\"").within("target"));
        }
        found
    }
    /// Returns remarks on settings that are computed, shown with the effective scenario.
    pub(crate) fn notes(&self) -> Vec<&'static str> {
        let computed = |key: Option<Or<Amount, Computed>>| key.is_some_and(|key| key.value().is_none());
        let all = [
            (
                self.xoff,
                "xoff and xon are computed for each port from its link, so that nothing is lost and no queue runs dry.",
            ),
            (
                self.headroom,
                "headroom is computed for each port: 2 longest frames, pause frame, cable both ways, response (802.1Qbb Annex O), and the frame that crosses XOFF.",
            ),
        ];
        all.into_iter().filter(|&(key, _)| computed(key)).map(|(_, note)| note).collect()
    }
    fn xoff(&self) -> Option<Amount> {
        self.xoff?.value()
    }
    fn xon(&self) -> Option<Amount> {
        self.xon?.value()
    }
    fn headroom(&self) -> Option<Amount> {
        self.headroom?.value()
    }
    /// Returns the accounting, or its default if it is not given.
    fn accounting(&self) -> Accounting {
        self.accounting.unwrap_or(Accounting::Ingress)
    }
    /// Returns the specification of a station, with defaults for omitted settings. `name` is the name of the table.
    pub(crate) fn spec(&self, name: &'static str, kind: PauseKind) -> PauseSpec {
        let marks = |(xoff, xon)| Watermarks { xoff, xon, headroom: self.headroom() };
        PauseSpec {
            name,
            kind,
            accounting: self.accounting(),
            watermarks: self.xoff().zip(self.xon()).map(marks),
            quanta: self.pause_quanta.as_ref().map_or(PauseLength::from(u16::MAX), PauseQuanta::length),
            resume: self.resume.unwrap_or(true),
            refresh: self.refresh.unwrap_or(true),
            response_time: self.response_time.and_then(|time| time.value()),
            target: self.target,
        }
    }

    fn check_priorities(&self, single: bool, used: &[u32], found: &mut Findings) {
        let Some(list) = &self.priorities else { return };
        let about = |message: String, help: &str| Remark::about("priorities", message, help);
        if !single {
            let message = "pause stops the whole link, not single priorities".to_string();
            found.wrong.push(about(message, "leave the key out, or use [flow_control.pfc]"));
            return;
        }
        if list.is_empty() && !used.is_empty() {
            let help = "expected priorities 0 to 7, like [3], or flow_control = \"off\"";
            found.wrong.push(about("no priority is lossless".to_string(), help));
        }
        for (i, &priority) in list.iter().enumerate() {
            if priority > 7 {
                let help = "expected priorities 0 to 7 (IEEE 802.1Q)";
                found.wrong.push(about(format!("priority {priority}"), help).entry(i));
            } else if list[..i].contains(&priority) {
                let message = format!("priority {priority} is listed twice");
                found.wrong.push(about(message, "expected each priority once").entry(i));
            } else if !used.contains(&priority) {
                let used = used.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
                let message = format!("priority {priority} is lossless, but no flow uses it");
                let help = if used.is_empty() {
                    "there are no flows".into()
                } else {
                    format!("flows use priority {used}")
                };
                found.warnings.push(about(message, &help).entry(i));
            }
        }
    }
    fn check_response(&self) -> Result<(), Remark> {
        match self.response_time.and_then(|time| time.value()) {
            Some(time) if time > Time::from_ms(1000) => {
                let message = format!("a response time of {time} is too long");
                wrong("response_time", message, "expected at most \"1 s\", or \"standard\"")
            }
            _ => Ok(()),
        }
    }
    fn check_watermarks(&self) -> Result<(), Remark> {
        let pair = "expected both xoff and xon, or neither to have them computed";
        match (self.xoff(), self.xon()) {
            (Some(_), None) => wrong("xoff", "xoff without xon", pair),
            (None, Some(_)) => wrong("xon", "xon without xoff", pair),
            (Some(xoff), Some(xon)) if !xoff.comparable(xon) => {
                wrong("xon", format!("xon {xon} and xoff {xoff} cannot be compared"), ONE_UNIT)
            }
            (Some(xoff), Some(xon)) if !xoff.exceeds(xon) => wrong(
                "xon",
                format!("xon {xon} is not below xoff {xoff}"),
                "expected xon < xoff: a pause ends at a lower occupancy than it begins",
            ),
            _ => Ok(()),
        }
    }
    fn check_headroom(&self) -> Result<(), Remark> {
        let Some(headroom) = self.headroom() else { return Ok(()) };
        if self.accounting() == Accounting::Egress {
            return wrong(
                "headroom",
                "headroom with egress accounting",
                "it belongs to accounting = \"ingress\"; here the room is the queue limit minus xoff",
            );
        }
        match self.xoff() {
            None => wrong(
                "headroom",
                "headroom without xoff and xon",
                "expected xoff and xon too, or no headroom to have all computed",
            ),
            Some(xoff) if !xoff.comparable(headroom) => {
                wrong("headroom", format!("headroom {headroom} has another unit than xoff"), ONE_UNIT)
            }
            Some(_) => Ok(()),
        }
    }
    fn check_target(&self, single: bool) -> Result<(), Remark> {
        let Some(target) = &self.target else { return Ok(()) };
        if !single {
            return wrong("target", "a target with pause", "targets belong to [flow_control.pfc]");
        }
        if self.accounting() == Accounting::Ingress {
            return wrong(
                "target",
                "a target with ingress accounting",
                "expected accounting = \"egress\": targets are found in an egress queue",
            );
        }
        let about =
            |key: &str, message: String, help: &str| Err(Remark::about("target", message, help).key(key));
        if !(1..=1000).contains(&target.partners) {
            return about("partners", format!("{} partners", target.partners), "expected 1 to 1000");
        }
        if target.search_time > Time::from_ms(1) {
            let message = format!("a search_time of {} for each frame is too long", target.search_time);
            return about("search_time", message, "expected at most \"1 ms\"");
        }
        let wrong = |message: String, help: &str| about("watermark", message, help);
        let order = "expected xon < target watermark < xoff";
        let Some((xoff, xon)) = self.xoff().zip(self.xon()) else {
            let help = "expected xoff and xon too: the target watermark lies between them";
            return wrong("a target watermark without xoff and xon".to_string(), help);
        };
        // A computed watermark depends on the links, which are not known here.
        let Some(watermark) = target.watermark.value() else { return Ok(()) };
        if !watermark.comparable(xoff) {
            wrong(format!("watermark {watermark} has another unit than xoff {xoff}"), ONE_UNIT)
        } else if !xoff.exceeds(watermark) {
            wrong(format!("target watermark {watermark} is not below xoff {xoff}"), order)
        } else if xon.comparable(xoff) && !watermark.exceeds(xon) {
            wrong(format!("target watermark {watermark} is not above xon {xon}"), order)
        } else {
            Ok(())
        }
    }
}
