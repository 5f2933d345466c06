//! Stop and go: a whole link is stopped when a buffer is nearly full, and goes on when it has drained.
//!
//! One counter a port for all priorities. At or above the mark `stop` the link partner is stopped, at or below `go` it
//! goes on.
//!
//! Source: N. J. Boden et al., "Myrinet: a gigabit-per-second local area network", IEEE Micro 15(1), 1995: the slack
//! buffer of a port with its marks.
//!
//! Not modelled: control symbols between the bytes of a frame; STOP and GO are pause frames here.

use crate::control::settings;
use crate::{Accounting, Configuration, Control, Findings, PauseKind, PauseSpec, Watermarks};
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Amount;

settings! {
    /// Keys of stop and go.
    pub struct StopGoKeys {
        /// Mark at or above which the link is stopped. A size in bytes or frames. Default: "40 frames".
        #[schemars(extend("default" = "40 frames"))]
        pub stop: Amount,
        /// Mark at or below which it goes on. A size in the unit of `stop`, below it. Default: "20 frames".
        #[schemars(extend("default" = "20 frames"))]
        pub go: Amount,
    }
}

impl StopGoKeys {
    fn marks(&self) -> (Amount, Amount) {
        (self.stop.unwrap_or(Amount::Frames(40)), self.go.unwrap_or(Amount::Frames(20)))
    }
}

impl Configuration for StopGoKeys {
    fn or(&self, outer: &StopGoKeys) -> StopGoKeys {
        self.or(outer)
    }
    fn complete(&mut self, _used: &[u32]) {
        let (stop, go) = self.marks();
        (self.stop, self.go) = (Some(stop), Some(go));
    }
    fn check(&self, _used: &[u32]) -> Findings {
        let (stop, go) = self.marks();
        let is_right = stop.comparable(go) && stop.exceeds(go);
        let wrong = (!is_right).then(|| {
            Remark::about("go", format!("go {go} is not below stop {stop}"), "expected less than stop, in its unit")
        });
        Findings { wrong: wrong.into_iter().collect(), ..Findings::default() }
    }
    fn start(&self, name: &'static str) -> Control {
        let (xoff, xon) = self.marks();
        Control::Pauses(PauseSpec {
            name,
            kind: PauseKind::Link,
            accounting: Accounting::Ingress,
            watermarks: Some(Watermarks { xoff, xon, headroom: None }),
            quanta: u16::MAX.into(),
            resume: true,
            refresh: true,
            response_time: None,
            target: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stations_say_what_they_do_not_inherit() {
        let outer = StopGoKeys { stop: Some(Amount::Frames(9)), go: Some(Amount::Frames(3)) };
        let own = StopGoKeys { go: Some(Amount::Frames(5)), ..StopGoKeys::default() };
        assert_eq!(own.or(&outer).marks(), (Amount::Frames(9), Amount::Frames(5)));
        assert_eq!(StopGoKeys::default().marks(), (Amount::Frames(40), Amount::Frames(20)));
    }

    #[test]
    fn go_is_below_stop() {
        let with = |go| StopGoKeys { go: Some(go), ..StopGoKeys::default() }.check(&[]).wrong;
        assert!(with(Amount::Frames(39)).is_empty());
        for go in [Amount::Frames(40), Amount::Bytes(1)] {
            assert!(with(go)[0].contains("is not below stop 40 frames"));
        }
    }
}
