//! Presets of TCP: the defaults of standards, simulators and kernels, by name.

use crate::tcp_keys::{TcpController, TcpKeys};
use crate::{CubicKeys, DctcpKeys, Delay, EcnMode, Growth, LossRecoveryKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Amount, Bytes, Or, Time};

/// Preset of a connection: defaults of the keys that a scenario omits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TcpPreset {
    /// Recommendations of the RFCs: SACK, byte counting, an initial window of ten segments, a timeout of at least 1 s.
    #[default]
    Rfc,
    /// The defaults of ns-2.35: NewReno, a window of 20 segments, ticks of 10 ms, a minimum timeout of 200 ms.
    Ns2,
    /// A Linux host (6.x): CUBIC, SACK with proportional reductions, timestamps, a minimum timeout of 200 ms.
    Linux,
    /// Hosts of McAlpine 2005: SACK, 64 KB of window and buffer, timers of 500 ms.
    #[serde(rename = "mcalpine-2005")]
    Mcalpine2005,
    /// Hosts of a data center: DCTCP, SACK with proportional reductions, a minimum timeout of 1 ms.
    Datacenter,
}

impl TcpPreset {
    /// Returns all keys of the preset.
    pub fn keys(self) -> TcpKeys {
        let keys = match self {
            TcpPreset::Rfc => rfc(),
            TcpPreset::Ns2 => ns2(),
            TcpPreset::Linux => linux(),
            TcpPreset::Mcalpine2005 => mcalpine_2005(),
            TcpPreset::Datacenter => datacenter(),
        };
        TcpKeys { preset: self, ..keys }
    }
}

/// Values of RFC 5681, 6298, 6675, 6928 and 9293.
fn rfc() -> TcpKeys {
    TcpKeys {
        preset: TcpPreset::Rfc,
        controller: TcpController::Aimd,
        recovery: LossRecoveryKind::Sack,
        initial_window: Amount::Frames(10),
        initial_threshold: Or::word(),
        growth: Growth::Bytes,
        grows_unused: false,
        receive_window: Or::word(),
        window_scaling: true,
        send_buffer: Or::word(),
        headers: Bytes::new(62),
        ack: Bytes::new(frame::MIN_FRAME_BYTES.into()),
        ack_every: 2,
        ack_delay: Time::from_us(500),
        duplicates: 3,
        limited_transmit: true,
        impatient: true,
        proportional: false,
        ecn: EcnMode::Off,
        timestamps: false,
        min_timeout: Time::from_ms(1_000),
        initial_timeout: Time::from_ms(1_000),
        max_timeout: Time::from_ms(60_000),
        tick: Time::ZERO,
        restart_after_idle: true,
        send_jitter: Time::ZERO,
        handshake: false,
        transfer: Or::word(),
        idle: Delay::default(),
        reconnect: false,
    }
}

/// Values of `Agent/TCP/Newreno` and `Agent/TCPSink` of ns-2.35 (ns-default.tcl).
fn ns2() -> TcpKeys {
    TcpKeys {
        recovery: LossRecoveryKind::NewReno,
        initial_window: Amount::Frames(2),
        initial_threshold: Or::Value(Amount::Frames(20)),
        growth: Growth::Acks,
        grows_unused: true,
        receive_window: Or::Value(Amount::Frames(20)),
        ack_every: 1,
        ack_delay: Time::from_ms(100),
        min_timeout: Time::from_ms(200),
        initial_timeout: Time::from_ms(3_000),
        tick: Time::from_ms(10),
        ..rfc()
    }
}

/// Default values of Linux 6.x: tcp(7), net.ipv4.tcp_rmem and tcp_wmem, TCP_RTO_MIN, TCP_DELACK_MIN.
fn linux() -> TcpKeys {
    TcpKeys {
        controller: TcpController::Cubic(CubicKeys::default()),
        receive_window: Or::Value(Amount::Bytes(6 << 20)),
        send_buffer: Or::Value(Amount::Bytes(4 << 20)),
        ack_delay: Time::from_ms(40),
        proportional: true,
        timestamps: true,
        min_timeout: Time::from_ms(200),
        max_timeout: Time::from_ms(120_000),
        ..rfc()
    }
}

/// Values of G. McAlpine et al., "An Architecture for Congestion Management in Ethernet Clusters", 2005, section 6, and
/// the behaviour of TCP stacks of that time.
fn mcalpine_2005() -> TcpKeys {
    TcpKeys {
        initial_window: Amount::Frames(2),
        initial_threshold: Or::Value(Amount::Bytes(64 << 10)),
        growth: Growth::Acks,
        grows_unused: true,
        receive_window: Or::Value(Amount::Bytes(65_535)),
        window_scaling: false,
        send_buffer: Or::Value(Amount::Bytes(64 << 10)),
        ack_delay: Time::from_ms(200),
        limited_transmit: false,
        initial_timeout: Time::from_ms(3_000),
        max_timeout: Time::from_ms(64_000),
        tick: Time::from_ms(500),
        ..rfc()
    }
}

/// Values of RFC 8257, and the timers of V. Vasudevan et al., "Safe and Effective Fine-grained TCP Retransmissions",
/// SIGCOMM 2009.
fn datacenter() -> TcpKeys {
    TcpKeys {
        controller: TcpController::Dctcp(DctcpKeys::default()),
        ecn: EcnMode::Dctcp,
        // Longer than a round trip and shorter than a transfer; a choice of this simulator.
        ack_delay: Time::from_us(50),
        proportional: true,
        min_timeout: Time::from_ms(1),
        initial_timeout: Time::from_ms(10),
        max_timeout: Time::from_ms(1_000),
        restart_after_idle: false,
        ..rfc()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ControllerSpec;

    #[test]
    fn every_preset_is_sound_and_what_it_says() {
        let presets = [
            TcpPreset::Rfc,
            TcpPreset::Ns2,
            TcpPreset::Linux,
            TcpPreset::Mcalpine2005,
            TcpPreset::Datacenter,
        ];
        for preset in presets {
            let spec = preset.keys().sized(None, 1_522, 64).unwrap();
            assert_eq!(spec.check(), Ok(()), "{preset:?}");
            // A frame of 1522 B holds 1460 B of data, or 1448 B with timestamps.
            assert_eq!(spec.segment, if preset == TcpPreset::Linux { 1_448 } else { 1_460 });
        }
        let window = |preset: TcpPreset| preset.keys().sized(None, 1_522, 64).unwrap().window;
        assert_eq!(presets.map(window), [u64::MAX, 29_200, 4 << 20, 65_535, u64::MAX]);
        let dctcp = TcpPreset::Datacenter.keys().sized(None, 1_522, 64).unwrap();
        assert!(matches!(dctcp.controller, ControllerSpec::Dctcp(_)) && dctcp.ecn == EcnMode::Dctcp);
    }

    #[test]
    fn a_scaled_window_loses_its_low_bits() {
        let window = |bytes| {
            let receive_window = Or::Value(Amount::Bytes(bytes));
            TcpKeys { receive_window, ..rfc() }.sized(None, 1_522, 64).unwrap().window
        };
        // RFC 7323 section 2.3: 65536 needs a shift of one, 1000001 of four.
        assert_eq!([65_535, 65_536, 65_537, 1_000_001].map(window), [65_535, 65_536, 65_536, 1_000_000]);
    }
}
