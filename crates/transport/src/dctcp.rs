//! DCTCP: reduces the window in proportion to the fraction of marked bytes.
//!
//! alpha estimates the fraction of bytes that are marked. It is updated once per window of data as alpha = (1 - g)
//! alpha + g F, where F is the fraction of bytes in that window whose acknowledgements echoed a mark. The sender
//! reduces its window at most once per window of data, by the factor 1 - alpha / 2, to at least two segments. Increase
//! and loss response are those of `aimd`. DCTCP requires receivers that echo every mark, and switches that mark above
//! a fixed queue length.
//!
//! Source: RFC 8257, sections 3.2 (receiver, in `tcp_receiver`), 3.3 (sender), 3.4 (loss), 4.2 (g = 1/16, initial
//! alpha 1); M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.1.
//!
//! Not modelled: marks on pure acknowledgements and on retransmitted segments.

use crate::aimd::{Aimd, AimdParams};
use crate::controller::{Ack, CongestionControl, ControllerConfiguration, Loss, LossKind};
use crate::marked_share::MarkedShare;
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Time;

/// Keys of dctcp.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DctcpKeys {
    /// Weight g of the newest window in alpha. A number, above 0 and at most 1. Default: 0.0625 (RFC 8257 section 4.2).
    pub gain: f64,
    /// Initial value of alpha. A number, 0 to 1. Default: 1 (RFC 8257 section 4.2).
    pub alpha: f64,
}

impl Default for DctcpKeys {
    fn default() -> DctcpKeys {
        DctcpKeys { gain: 0.0625, alpha: 1.0 }
    }
}

impl DctcpKeys {
    /// Validates the keys.
    pub fn check(&self) -> Result<(), Remark> {
        let DctcpKeys { gain, alpha } = *self;
        if !(gain > 0.0 && gain <= 1.0) {
            let help = "expected a number above 0 and at most 1";
            return Err(Remark::about("gain", format!("a gain of {gain}"), help));
        }
        if !(0.0..=1.0).contains(&alpha) {
            return Err(Remark::about(
                "alpha",
                format!("an alpha of {alpha}"),
                "expected a number from 0 to 1",
            ));
        }
        Ok(())
    }
}

/// Growth and reduction of a DCTCP window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DctcpParams {
    /// Initial window and growth.
    pub begin: AimdParams,
    /// Estimation of the share of marks.
    pub estimate: DctcpKeys,
}

/// The congestion window of DCTCP, which a mark reduces in proportion to the share of marked bytes.
#[derive(Clone, Debug)]
pub struct Dctcp {
    aimd: Aimd,
    estimate: Box<Estimate>,
}

/// The estimate of the share of marked bytes.
#[derive(Clone, Debug)]
struct Estimate {
    share: MarkedShare,
    /// Bytes to be acknowledged until the current window of data ends.
    left: u64,
}

impl ControllerConfiguration for DctcpParams {
    type Machine = Dctcp;

    fn check(&self, segment: u16) -> Result<(), String> {
        self.estimate.check().map_err(|why| why.to_string())?;
        self.begin.check(segment)
    }
    fn start(&self, segment: u16) -> Dctcp {
        let DctcpKeys { gain, alpha } = self.estimate;
        let estimate = Estimate { share: MarkedShare::new(gain, alpha), left: 0 };
        Dctcp { aimd: self.begin.start(segment), estimate: Box::new(estimate) }
    }
}

impl Dctcp {
    /// Returns the estimated share of marked bytes.
    pub fn alpha(&self) -> f64 {
        self.estimate.share.alpha()
    }
}

impl Estimate {
    fn on_ack(&mut self, ack: &Ack) {
        self.share.count(ack.bytes, ack.ece);
        // Section 3.3: the acknowledgement is past WindowEnd, which is SND.NXT of the acknowledgement that ended the
        // previous window of data.
        if ack.bytes > self.left {
            self.share.end_window();
            self.left = ack.in_flight;
        } else {
            self.left -= ack.bytes;
        }
    }
}

impl CongestionControl for Dctcp {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.estimate.on_ack(ack);
        self.aimd.on_ack(now, ack);
    }
    fn on_loss(&mut self, now: Time, loss: &Loss) {
        self.aimd.on_loss(now, loss);
    }
    fn on_recovered(&mut self, now: Time, in_flight: u64) {
        self.aimd.on_recovered(now, in_flight);
    }
    fn on_mark(&mut self, _now: Time) {
        // Section 3.3: cwnd * (1 - alpha / 2).
        let remaining = self.aimd.window() as f64 * (1.0 - self.alpha() / 2.0);
        self.aimd.lose(LossKind::FastRecovery, remaining as u64);
    }
    fn on_idle(&mut self, now: Time) {
        self.aimd.on_idle(now);
    }
    fn window(&self) -> u64 {
        self.aimd.window()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aimd::Growth;
    use crate::testbed::ack;
    use units::Amount;

    const S: u64 = 1_000;
    const PARAMS: DctcpParams = DctcpParams {
        begin: AimdParams {
            initial: Amount::Frames(16),
            threshold: Some(2 * S),
            growth: Growth::Bytes,
            grows_unused: false,
        },
        estimate: DctcpKeys { gain: 0.0625, alpha: 1.0 },
    };

    #[test]
    fn alpha_follows_its_formula_window_by_window() {
        let mut it = PARAMS.start(1_000);
        // Of 16 segments in flight, 15 remain when one is acknowledged; the window of data ends with the 16th
        // acknowledgement after that.
        let mut acknowledge = |ece| {
            it.on_ack(Time::ZERO, &Ack { in_flight: 15 * S, ece, ..ack(S) });
            it.alpha()
        };
        assert_eq!(acknowledge(true), 1.0);
        let mut alpha = 1.0;
        for marked in [0, 0, 8, 8, 16, 16, 4, 1, 0] {
            for n in 0..15 {
                assert_eq!(acknowledge(n < marked), alpha);
            }
            let exact = alpha * 15.0 / 16.0 + f64::from(marked) / 16.0 / 16.0;
            alpha = acknowledge(marked == 16);
            assert!((alpha - exact).abs() < 1e-12);
        }
    }

    #[test]
    fn the_window_shrinks_by_half_of_alpha() {
        for alpha in [0.0, 0.25, 1.0] {
            let params = DctcpParams { estimate: DctcpKeys { alpha, ..PARAMS.estimate }, ..PARAMS };
            let mut it = params.start(1_000);
            it.on_mark(Time::ZERO);
            assert_eq!(it.window(), (16_000.0 * (1.0 - alpha / 2.0)) as u64);
            it.on_loss(Time::ZERO, &Loss { kind: LossKind::FastRecovery, in_flight: 10 * S });
            assert_eq!(it.window(), 5 * S);
        }
        let mut it = PARAMS.start(1_000);
        (0..9).for_each(|_| it.on_mark(Time::ZERO));
        assert_eq!(it.window(), 2 * S);
    }
}
