//! Packets whose payload a switch has trimmed, which the receiver detects as lost at once.

use super::RdmaReceiver;
use super::replies::{Echo, Reply};
use crate::endpoint::Received;
use crate::rdma::psn::{self, Word};
use crate::rdma::{RdmaRecovery, RdmaVerb};
use crate::room::Append;
use frame::RdmaHeader;
use units::Time;

impl RdmaReceiver {
    /// Processes a packet that has arrived without its payload.
    pub(super) fn take_trimmed(&mut self, number: u32, header: &RdmaHeader, received: &Received, now: Time) {
        let (recovery, reads) = (self.spec.recovery, self.spec.verb == RdmaVerb::Read);
        self.discarded += 1;
        let rule = self.rule;
        let Some(pair) = self.pair(number) else { return };
        let packet = psn::nearest(Word::of(header.word).number, pair.expected);
        pair.came_marked += u64::from(received.congestion_experienced);
        pair.trims += 1;
        if pair.has(packet) {
            return;
        }
        let expected = pair.expected;
        match rule {
            // READ requests also name packets from the expected one on.
            _ if reads || recovery == RdmaRecovery::GoBackN => {
                let known = pair.trimmed.filter(|&first| first >= expected);
                pair.trimmed = Some(known.map_or(packet, |first| first.min(packet)));
                self.refuse_trimmed(number, now);
            }
            Some(rule) if !rule.nak || packet - expected >= rule.window => {}
            _ => {
                let repeat = rule.map_or(Time::ZERO, |rule| rule.repeat);
                pair.disorder().gaps.on_trimmed(packet, expected, now.saturating_add(repeat));
                pair.naks += 1;
                let echo = self.spec.echoes_paths().then(|| Echo::of(received));
                self.replies.append_one(Reply { pair: number, arrived: Some(psn::on_wire(packet)), echo });
            }
        }
    }

    /// With go-back-N, sends a NAK if the packet that is now expected arrived trimmed.
    pub(super) fn refuse_trimmed(&mut self, number: u32, now: Time) {
        let Some(pair) = self.pairs.get_mut(number as usize) else { return };
        if pair.trimmed == Some(pair.expected) {
            // A packet that is trimmed again is named again.
            (pair.trimmed, pair.named) = (None, None);
            self.report_expected(number, now);
        }
    }
}
