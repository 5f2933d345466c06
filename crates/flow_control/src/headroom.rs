//! Headroom: the buffer space needed for the data that arrives after a queue has crossed the XOFF threshold.
//!
//! Source: IEEE 802.1Qbb Annex O (now 802.1Q Annex N), in the form of Hagen 2012 eq. 7.3: TotalDelay = 2·M + P + 2·C +
//! 2·I + H in bit times at the link rate. The peer sends at line rate for all of that time, so a queue needs
//! TotalDelay / 8 bytes above XOFF.
//!
//! | term | source of delay |
//! |---|---|
//! | M | a maximum-length frame whose transmission has just begun delays the pause frame |
//! | P | transmission of the pause frame |
//! | C, C | propagation on the cable, in both directions |
//! | I, I | interface delay (MAC and PHY) of both stations |
//! | H | response of the paused station (limited by 802.3 clause 31B.3.7) |
//! | M | a maximum-length frame whose transmission has just begun when the pause takes effect at the peer |
//!
//! A switch that counts each frame as a whole when it enters the queue, as in Penstock, needs M less one byte more,
//! because the formula does not include the frame that crosses XOFF.
//!
//! I is the sum over the sublayers of a PHY ([`crate::phy`]); in a scenario it is part of the link delay. H is the
//! configured response time of the paused station, or the limit of clause 31B.3.7. That limit applies at the connector
//! and thus includes the interface delay I of the paused station, which the formula then counts twice. The result is
//! slightly more than necessary.
//!
//! Scope: the worst case of one link and one priority. The formulas of two vendors are included as well.
//!
//! Not modelled: memory cells that a frame fills only partially (except in [`SonicModel`]), and rate differences
//! between clocks.

use crate::pause::QUANTUM_BITS;
use crate::phy::Phy;
use units::{BitRate, Bytes, Length, Time};

/// Limit of the response time of 10GBASE-T in pause quanta (IEEE 802.3 clause 31B.3.7).
pub const RESPONSE_QUANTA_10GBASE_T: u64 = 74;
/// Response time of a 10 Gb/s port in SONiC's buffer manager, in pause quanta.
pub const RESPONSE_QUANTA_SONIC_10G: u64 = 67;
/// Response time at 400 Gb/s and above in SONiC's buffer manager, in pause quanta.
const RESPONSE_QUANTA_SONIC_MOST: u64 = 905;

const fn gbps(rate: u64) -> BitRate {
    BitRate::from_gbps(rate)
}

/// Limits of the response time in pause quanta, in ascending order of rate (802.3 clause 31B.3.7; the value for 50 Gb/s
/// is from SONiC).
const RESPONSE_QUANTA: [(BitRate, u64); 9] = [
    (BitRate::from_bps(100_000_000), 1),
    (gbps(1), 2),
    (gbps(10), 60),
    (gbps(25), 80),
    (gbps(40), 118),
    (gbps(50), 147),
    (gbps(100), 394),
    (gbps(200), 453),
    (gbps(400), 905),
];

/// Returns the interface delay (MAC and PHY of one station) in bit times for an unknown PHY: the longest delay of all
/// PHYs of the rate, see [`crate::phy`]. If no PHY of the rate is known, the delay is the limit of the response time,
/// which no sum of sublayers exceeds; this is a choice of this simulator.
pub fn interface_bits(rate: BitRate) -> u64 {
    let limit = response_quanta(rate) * QUANTUM_BITS;
    Phy::slowest_at(rate).map_or(limit, Phy::interface_bits)
}

/// Returns the maximum time in which a station must obey a pause, in quanta of 512 bit times.
///
/// A rate between two entries of the standard has the limit of the next higher rate. Above 400 Gb/s the limit is the
/// time of 400 Gb/s, rounded up to whole quanta of the rate. Both are choices of this simulator.
pub fn response_quanta(rate: BitRate) -> u64 {
    let entry = RESPONSE_QUANTA.iter().find(|(named, _)| *named >= rate);
    let (highest, last) = RESPONSE_QUANTA[RESPONSE_QUANTA.len() - 1];
    let scaled = (u128::from(last) * u128::from(rate.bps_ceil())).div_ceil(u128::from(highest.bps()));
    entry.map_or(scaled as u64, |&(_, value)| value)
}

/// Returns the maximum time in which a station must obey a pause.
pub fn response_time(rate: BitRate) -> Time {
    rate.time_for_bits_ceil(response_quanta(rate) * QUANTUM_BITS)
}

/// Returns the maximum response time of a station with this PHY, if the standard has a limit for the PHY.
pub fn response_time_of(phy: &Phy) -> Option<Time> {
    phy.response_quanta.map(|quanta| phy.rate.time_for_bits_ceil(quanta * QUANTUM_BITS))
}

/// Parameters of the headroom of one link and priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headroom {
    /// Rate in b/s of the paused direction, the highest if it changes; above 0, no default.
    pub rate: BitRate,
    /// Lowest rate of the direction of the pause frame, at which the frame ahead of the pause frame may have begun.
    /// Default: `rate`.
    pub slowest: BitRate,
    /// Lowest rate at which the pause frame is sent while the paused direction has `rate`. Default: `rate`.
    pub pause_rate: BitRate,
    /// One-way delay of the cable; 0 or more, no default. [`Length::fibre_delay`] turns metres into time.
    pub cable: Time,
    /// Longest frame M in bytes, DA to FCS. Default: 1522 B (IEEE 802.3 clause 3.2.7 with one VLAN tag).
    pub max_frame: u16,
    /// Bytes around each frame on the wire. Default: 20 B (preamble, start delimiter, inter-frame gap).
    pub overhead: u16,
    /// Length of a pause frame in bytes, DA to FCS. Default: 64 B (IEEE 802.3 clause 31B).
    pub pause_frame: u16,
    /// Interface delay I of one station in bit times. Default: [`interface_bits`]; 0 if the delay of the link already
    /// includes it.
    pub interface_bits: u64,
    /// Response time H of the paused station (not the pausing one) in bit times. Default: [`response_quanta`] times
    /// 512.
    pub response_bits: u64,
    /// Time from the arrival of a frame's last bit until the frame is counted, for a switch that compares with the
    /// watermark only then. Frames in this pipeline add to the headroom. Default: 0.
    pub pipeline: Time,
}

impl Headroom {
    /// Returns the defaults for a link.
    pub fn of_link(rate: BitRate, cable: Time) -> Headroom {
        Headroom {
            rate,
            slowest: rate,
            pause_rate: rate,
            cable,
            max_frame: frame::MAX_TAGGED_FRAME_BYTES,
            overhead: frame::LINE_OVERHEAD_BYTES as u16,
            pause_frame: frame::CONTROL_FRAME_BYTES,
            interface_bits: interface_bits(rate),
            response_bits: response_quanta(rate) * QUANTUM_BITS,
            pipeline: Time::ZERO,
        }
    }

    /// Returns the defaults for a fibre.
    pub fn of_fibre(rate: BitRate, length: Length) -> Headroom {
        Headroom::of_link(rate, length.fibre_delay())
    }

    /// Replaces the interface delay and the response time by those of this PHY, which has the rate of the link.
    #[must_use]
    pub fn with_phy(self, phy: &Phy) -> Headroom {
        let quanta = phy.response_quanta.unwrap_or_else(|| response_quanta(self.rate));
        Headroom { interface_bits: phy.interface_bits(), response_bits: quanta * QUANTUM_BITS, ..self }
    }

    /// Returns all terms of the formula. Times are converted to bits, rounded up.
    pub fn delay(&self) -> TotalDelay {
        let wire_bits = |bytes: u16| (u64::from(bytes) + u64::from(self.overhead)) * 8;
        TotalDelay {
            rate: self.rate,
            frame_bits: wire_bits(self.max_frame),
            first_bits: self.bits_meanwhile(self.slowest, wire_bits(self.max_frame)),
            pause_bits: self.bits_meanwhile(self.pause_rate, wire_bits(self.pause_frame)),
            cable_bits: self.rate.bits_in_ceil(self.cable),
            interface_bits: self.interface_bits,
            response_bits: self.response_bits,
            pipeline_bits: self.rate.bits_in_ceil(self.pipeline),
        }
    }
}

impl Headroom {
    /// Returns the bits that arrive at `rate` while `bits` are sent at the rate `sent_at`.
    fn bits_meanwhile(&self, sent_at: BitRate, bits: u64) -> u64 {
        if sent_at == self.rate { bits } else { self.rate.bits_in_ceil(sent_at.time_for_bits_ceil(bits)) }
    }
}

/// The terms of the formula, in bit times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TotalDelay {
    /// Rate of the paused direction.
    pub rate: BitRate,
    /// The second M: a longest frame of the peer, with line overhead.
    pub frame_bits: u64,
    /// The first M: a longest frame ahead of the pause frame, in bits that arrive meanwhile. Equal to `frame_bits` if
    /// both directions have the same rate.
    pub first_bits: u64,
    /// P: the pause frame with line overhead, in bits that arrive meanwhile.
    pub pause_bits: u64,
    /// C: the one-way delay of the cable, which counts twice.
    pub cable_bits: u64,
    /// I: the interface delay of one station, which counts twice.
    pub interface_bits: u64,
    /// H: the response time of the paused station.
    pub response_bits: u64,
    /// The pipeline delay of the pausing switch.
    pub pipeline_bits: u64,
}

impl TotalDelay {
    /// Returns 2·M + P + 2·C + 2·I + H plus the pipeline.
    pub fn bits(&self) -> u64 {
        let once =
            self.first_bits + self.frame_bits + self.pause_bits + self.response_bits + self.pipeline_bits;
        2 * (self.cable_bits + self.interface_bits) + once
    }
    /// Returns the headroom to reserve in bytes, rounded up.
    pub fn bytes(&self) -> Bytes {
        Bytes::new(self.bits().div_ceil(8))
    }
    /// Returns the room above XOFF for a switch that counts a frame as a whole when it enters a queue. The frame that
    /// crosses the watermark may carry the occupancy up to `max_frame` - 1 bytes beyond it before XOFF is sent. In a
    /// switch that counts each byte on arrival, the formula already includes this frame.
    pub fn room(&self, max_frame: u16) -> Bytes {
        Bytes::new(self.bytes().get() + u64::from(max_frame.saturating_sub(1)))
    }
    /// Returns the bytes that arrive completely, rounded down as in published tables.
    pub fn whole_bytes(&self) -> Bytes {
        Bytes::new(self.bits() / 8)
    }
    /// Returns the time from crossing XOFF to the last bit, rounded up.
    pub fn time(&self) -> Time {
        self.rate.time_for_bits_ceil(self.bits())
    }
    /// Returns the number of longest frames that fit into the time, for reports. A queue that counts frames needs this
    /// number rounded up, see [`TotalDelay::full_frames`].
    pub fn frames(&self) -> f64 {
        self.bits() as f64 / self.frame_bits as f64
    }
    /// Returns the number of longest frames whose arrival at least begins.
    pub fn full_frames(&self) -> u64 {
        self.bits().div_ceil(self.frame_bits.max(1))
    }
    /// Returns the number of frames of `bytes` (DA to FCS) whose arrival at least begins. Short frames are the worst
    /// case of a queue with a limit in frames.
    pub fn frames_of(&self, bytes: u16, overhead: u16) -> u64 {
        self.bits().div_ceil(((u64::from(bytes) + u64::from(overhead)) * 8).max(1))
    }
}

/// Returns the lowest low watermark at which a queue does not run dry while its senders resume: LW >= rate · TotalDelay
/// / 8 (Hagen 2012 §7.2), rounded up.
pub fn resume_level(rate: BitRate, total_delay: Time) -> Bytes {
    Bytes::new(rate.bits_in_ceil(total_delay).div_ceil(8))
}

/// Returns the highest high watermark that leaves `headroom` below `capacity` (Hagen 2012 §7.2); `None` if the headroom
/// alone does not fit.
pub fn highest_xoff(capacity: Bytes, headroom: Bytes) -> Option<Bytes> {
    capacity.get().checked_sub(headroom.get()).map(Bytes::new)
}

/// The headroom model of Cisco's white paper on PFC: the sum of the longest frames of receiver and sender, the cable in
/// both directions, the transceivers, and the response limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CiscoModel {
    /// Rate of the link in b/s; above 0, no default.
    pub rate: BitRate,
    /// Length of the fibre; no default.
    pub length: Length,
    /// Longest frame that the congested station sends (of any class), in bytes. Default: 9216 B.
    pub receiver_mtu: u16,
    /// Longest frame of the paused class, in bytes. Default: 2240 B (Fibre Channel over Ethernet).
    pub sender_mtu: u16,
    /// Bytes in flight in transceivers and interfaces. Default: 1280 B, the maximum in the paper.
    pub transceiver: u16,
}

impl CiscoModel {
    /// Returns the defaults for a fibre.
    pub fn of_fibre(rate: BitRate, length: Length) -> CiscoModel {
        CiscoModel { rate, length, receiver_mtu: 9216, sender_mtu: 2240, transceiver: 1280 }
    }

    /// Returns the headroom in bytes. The paper's 641 B for 100 m of fibre, one way at 10 Gb/s, scale with length and
    /// rate and are rounded up once.
    pub fn bytes(&self) -> Bytes {
        const BYTES_PER_100_M_AT_10G: u128 = 641;
        let cable = (2 * BYTES_PER_100_M_AT_10G * u128::from(self.length.mm()) * u128::from(self.rate.bps()))
            .div_ceil(100_000 * 10_000_000_000) as u64;
        let frames = u64::from(self.receiver_mtu) + u64::from(self.sender_mtu);
        let response = response_quanta(self.rate) * QUANTUM_BITS / 8;
        Bytes::new(frames + cable + u64::from(self.transceiver) + response)
    }
}

/// The headroom of SONiC's dynamic buffer model, for switches whose memory consists of cells.
///
/// The headroom is MTU of the lossless class + occupancy · (port MTU + cable in both directions + two gearboxes, MAC
/// and PHY, tiles, response), rounded up to KiB. The occupancy is the memory per byte when `small_percent` of the
/// frames have 64 B. The calculation uses only the four basic operations of `f64`, which round alike on every machine.
///
/// The model reproduces nine published tables of switches (`tests/sonic_headroom.csv`) row by row. It has neither a
/// longest frame ahead of the pause frame nor interface delays, so it can be below [`Headroom`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SonicModel {
    /// Rate of the link in b/s; above 0, no default.
    pub rate: BitRate,
    /// Length of the cable; no default. Signals travel at 198 000 km/s in this model.
    pub length: Length,
    /// Longest frame of the lossless class in bytes. Default: 1024 B (RoCE with an MTU of 1024 B).
    pub lossless_mtu: u32,
    /// Longest frame of the port in bytes. Default: 9216 B.
    pub port_mtu: u32,
    /// Share of 64 B frames in the lossless class, 0 to 100. Default: 100, the worst case.
    pub small_percent: u32,
    /// Bytes per cell of the packet memory; above 0, no default (it depends on the chip).
    pub cell: u32,
    /// True if the number of cells per 64 B of a small frame is rounded up to a whole number. Default: false.
    pub whole_cells: bool,
    /// Bytes in flight in a gearbox. Default: 0.
    pub gearbox: f64,
    /// Bytes in flight in MAC and PHY. Default: 0.8 KiB.
    pub mac_phy: f64,
    /// Bytes in flight between the tiles of a chip that has tiles, per Gb/s. Default: 0; 15 is usual.
    pub tiles: f64,
    /// Bytes that arrive during the response time of the peer. Default: [`response_quanta`], but
    /// [`RESPONSE_QUANTA_SONIC_10G`] at 10 Gb/s, and 905 quanta above 400 Gb/s. Older switches have 3.8 KiB at any
    /// rate.
    pub response: f64,
}

impl SonicModel {
    /// Returns the defaults for a cable at a chip with cells of `cell` bytes.
    pub fn of_cable(rate: BitRate, length: Length, cell: u32) -> SonicModel {
        let quanta = match response_quanta(rate) {
            _ if rate == gbps(10) => RESPONSE_QUANTA_SONIC_10G,
            quanta => quanta.min(RESPONSE_QUANTA_SONIC_MOST),
        };
        SonicModel {
            rate,
            length,
            lossless_mtu: 1024,
            port_mtu: 9216,
            small_percent: 100,
            cell,
            whole_cells: false,
            gearbox: 0.0,
            mac_phy: 0.8 * 1024.0,
            tiles: 0.0,
            response: (quanta * QUANTUM_BITS / 8) as f64,
        }
    }

    /// Returns the bytes of memory per byte of lossless traffic.
    pub fn occupancy(&self) -> f64 {
        const SMALL: f64 = 64.0;
        let cell = f64::from(self.cell);
        // A 64 B frame occupies one large cell alone, whatever the size of the cell. With small cells, every frame
        // wastes part of its last cell.
        let worst = if self.cell > 128 { cell / SMALL } else { 2.0 * cell / (1.0 + cell) };
        let worst = if self.whole_cells { worst.ceil() } else { worst };
        let percent = f64::from(self.small_percent.min(100));
        let mean = (percent * SMALL + (100.0 - percent) * f64::from(self.lossless_mtu)) / 100.0;
        // `small_percent` is a share of the frames; `weight` is the share of their bytes.
        let weight = 100.0 * SMALL / mean;
        (100.0 - weight + weight * worst) / 100.0
    }

    /// Returns the headroom in bytes, a whole number of KiB.
    pub fn bytes(&self) -> Bytes {
        const METRES_PER_SECOND: f64 = 198_000_000.0;
        let metres = self.length.mm() as f64 / 1000.0;
        let cable = 2.0 * metres * self.rate.bps() as f64 / METRES_PER_SECOND / 8.0;
        let tiles = self.tiles * self.rate.bps() as f64 / 1e9;
        let ways = cable + 2.0 * self.gearbox + self.mac_phy + tiles;
        let in_flight = f64::from(self.port_mtu) + ways + self.response;
        let bytes = f64::from(self.lossless_mtu) + self.occupancy() * in_flight;
        Bytes::new((bytes / 1024.0).ceil() as u64 * 1024)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns a link with the interface delay of one sublayer of 10GBASE-R, which many published examples use.
    fn at_10g_300m() -> Headroom {
        Headroom { interface_bits: 8_192, ..Headroom::of_fibre(gbps(10), Length::from_m(300)) }
    }

    /// Rounds to one decimal, as printed in tables.
    fn tenths(x: f64) -> f64 {
        (x * 10.0).round() / 10.0
    }

    #[test]
    fn the_terms_at_10g_over_300_m() {
        let delay = at_10g_300m().delay();
        assert_eq!((delay.frame_bits, delay.pause_bits, delay.cable_bits), (12_336, 672, 15_000));
        assert_eq!((delay.interface_bits, delay.response_bits), (8_192, 30_720));
        assert_eq!(Headroom { max_frame: 2000, ..at_10g_300m() }.delay().frame_bits, 16_160);
    }

    #[test]
    fn results_by_component() {
        // Columns: max frame, interface, response; bits, bytes, us, frames of 1542 B on the wire.
        for (max_frame, interface_bits, response_bits, bits, bytes, us, frames) in [
            (1522, 8_192, 6_144, 77_872, 9_734, 7.8, 6.3),
            (1522, 8_192, 30_720, 102_448, 12_806, 10.2, 8.3),
            (2000, 16_384, 30_720, 126_480, 15_810, 12.6, 10.3),
            (1522, 25_600, 30_720, 137_264, 17_158, 13.7, 11.1),
        ] {
            let delay = Headroom { max_frame, interface_bits, response_bits, ..at_10g_300m() }.delay();
            assert_eq!((delay.bits(), delay.bytes().get()), (bits, bytes));
            assert_eq!(tenths(delay.time().ps() as f64 * 1e-6), us);
            assert_eq!(tenths(bits as f64 / 12_336.0), frames);
            assert_eq!(delay.frames_of(1522, 20), frames.ceil() as u64);
        }
        assert_eq!(at_10g_300m().delay().full_frames(), 9);
    }

    #[test]
    fn results_by_speed_and_length() {
        // The published tables print whole bytes, rounded down, as 9118.5 and 24506.5 show. Their interfaces are single
        // sublayers.
        for (rate, interface_bits, bytes) in [
            (10, 8_192, [[9_118, 10_306, 12_806], [24_506, 25_694, 28_194]]),
            (25, 6_144, [[9_980, 12_949, 19_199], [25_368, 28_337, 34_587]]),
            (40, 24_576, [[17_114, 21_864, 31_864], [32_502, 37_252, 47_252]]),
            (100, 122_880, [[59_729, 71_604, 96_604], [75_117, 86_992, 111_992]]),
        ] {
            for (max_frame, row) in [1522, 9216].into_iter().zip(bytes) {
                for (metres, expected) in [5, 100, 300].into_iter().zip(row) {
                    let link = Headroom::of_fibre(gbps(rate), Length::from_m(metres));
                    let delay = Headroom { max_frame, interface_bits, ..link }.delay();
                    assert_eq!(delay.whole_bytes().get(), expected, "{rate} Gb/s, {metres} m, {max_frame} B");
                    assert_eq!(delay.bytes().get(), delay.bits().div_ceil(8));
                }
            }
        }
    }

    #[test]
    fn rates_between_and_beyond_the_tables() {
        let quanta = |rate| response_quanta(gbps(rate));
        assert_eq!([1, 10, 25, 40, 100, 200, 400].map(quanta), [2, 60, 80, 118, 394, 453, 905]);
        assert_eq!([5, 56, 800].map(quanta), [60, 394, 1810]);
        let interface = |rate| interface_bits(gbps(rate));
        assert_eq!(
            [1, 10, 25, 40, 50, 100, 400].map(interface),
            [1_024, 33_792, 40_960, 57_344, 75_264, 194_048, 463_360]
        );
        assert_eq!(response_time(gbps(10)), Time::from_ns(3_072));
        // 905 quanta at 400 Gb/s are 1158.4 ns; the same time applies at 800 Gb/s.
        assert_eq!(response_time(gbps(400)), Time::from_ps(1_158_400));
        assert_eq!(response_time(gbps(800)), Time::from_ps(1_158_400));
    }

    #[test]
    fn ten_gigabit_over_twisted_pair() {
        let link = Headroom {
            interface_bits: 25_600,
            response_bits: RESPONSE_QUANTA_10GBASE_T * QUANTUM_BITS,
            ..Headroom::of_fibre(gbps(10), Length::from_m(100))
        };
        // 24672 + 672 + 10000 + 51200 + 37888
        assert_eq!((link.delay().bits(), link.delay().bytes().get()), (124_432, 15_554));
        // This PHY has its own response limit, and its interface includes the MAC: 2 * 8192 more.
        let named =
            Headroom::of_fibre(gbps(10), Length::from_m(100)).with_phy(Phy::named("10GBASE-T").unwrap());
        assert_eq!(named.delay().bits(), 124_432 + 2 * 8_192);
    }

    #[test]
    fn a_link_that_changes_its_rate() {
        let link = Headroom { slowest: gbps(1), ..at_10g_300m() };
        // During a frame of 12,336 bits at 1 Gb/s, ten times as many bits arrive at 10 Gb/s.
        assert_eq!(link.delay().bits(), at_10g_300m().delay().bits() + 9 * 12_336);
        let odd = Headroom::of_link(BitRate::from_bps(1_187_500_000), Time::ZERO);
        assert_eq!(odd.delay().first_bits, odd.delay().frame_bits);
    }

    #[test]
    fn pause_frames_at_another_rate_than_data() {
        // M has 12,336 bits and P 672. During them, ten times as many bits of data arrive if the pause direction has 1
        // Gb/s, and a tenth if it has 100 Gb/s.
        let equal = at_10g_300m().delay();
        let at = |pauses| Headroom { slowest: pauses, pause_rate: pauses, ..at_10g_300m() }.delay();
        assert_eq!((equal.first_bits, equal.pause_bits), (12_336, 672));
        assert_eq!(at(gbps(1)).bits(), equal.bits() + 9 * (12_336 + 672));
        assert_eq!((at(gbps(100)).first_bits, at(gbps(100)).pause_bits), (1_234, 68));
        assert_eq!(at(gbps(10)), equal);
    }

    #[test]
    fn a_pipeline_adds_what_it_holds() {
        let plain = at_10g_300m();
        let deep = Headroom { pipeline: Time::from_ns(300), ..plain };
        assert_eq!(deep.delay().bits(), plain.delay().bits() + 3_000);
    }

    #[test]
    fn watermarks() {
        // Eleven frames of 1542 B at 10 Gb/s: the round trip of Hagen 2012 ch. 7.
        assert_eq!(resume_level(gbps(10), Time::from_ns(13_570)), Bytes::new(16_963));
        assert_eq!(resume_level(gbps(10), Time::ZERO), Bytes::new(0));
        assert_eq!(highest_xoff(Bytes::new(65_536), Bytes::new(12_806)), Some(Bytes::new(52_730)));
        assert_eq!(highest_xoff(Bytes::new(100), Bytes::new(101)), None);
    }

    #[test]
    fn cisco() {
        // 9216 + 2240 + 2 * 3 * 641 + 1280 + 60 * 64
        assert_eq!(CiscoModel::of_fibre(gbps(10), Length::from_m(300)).bytes().get(), 20_422);
        // 1522 twice, 2 * 641 * 4 at four times the rate, no transceiver, 118 * 64
        let at_40g = CiscoModel {
            receiver_mtu: 1522,
            sender_mtu: 1522,
            transceiver: 0,
            ..CiscoModel::of_fibre(gbps(40), Length::from_m(100))
        };
        assert_eq!(at_40g.bytes().get(), 3_044 + 5_128 + 7_552);
    }

    #[test]
    fn sonic() {
        // Cells of 144 B: a 64 B frame takes 2.25 times its length.
        let model = SonicModel::of_cable(gbps(100), Length::from_m(40), 144);
        assert_eq!(model.occupancy(), 2.25);
        // 9216 + 2 * 40 m at 100 Gb/s (5050.5) + 819.2 + 394 * 64 = 40301.7; * 2.25 + 1024 = 91702.8 -> 90 KiB
        assert_eq!(model.bytes().get(), 92_160);
        // Cells of 96 B: 2 * 96 / 97 = 1.979; (9216 + 126.3 + 819.2 + 67 * 64) * 1.979 + 1024 = 29626 -> 29 KiB
        let model = SonicModel::of_cable(gbps(10), Length::from_m(10), 96);
        assert_eq!((model.response, model.bytes().get()), (67.0 * 64.0, 29_696));
        // Half of the frames are small: 64 / 544 of the bytes. 1 + 0.11765 * 1.25 = 1.14706.
        let half =
            SonicModel { small_percent: 50, ..SonicModel::of_cable(gbps(100), Length::from_m(40), 144) };
        assert!((half.occupancy() - 1.147_058_8).abs() < 1e-6);
        // 40301.7 * 1.14706 + 1024 = 47252.5 -> 47 KiB
        assert_eq!(half.bytes().get(), 48_128);
    }

    proptest! {
        #[test]
        fn more_of_anything_needs_no_less(
            rate in prop::sample::select(vec![1u64, 10, 25, 40, 50, 100, 200, 400, 800]),
            metres in 0u64..10_000, more in 0u64..1_000, max_frame in 64u16..9216,
        ) {
            let bits = |m, frame| Headroom { max_frame: frame, ..Headroom::of_fibre(gbps(rate), Length::from_m(m)) }.delay();
            let least = bits(metres, max_frame);
            prop_assert!(bits(metres + more, max_frame).bits() >= least.bits());
            prop_assert_eq!(bits(metres, max_frame + 1).bits(), least.bits() + 16);
            prop_assert!(least.bytes().bits() >= least.bits() && least.whole_bytes().bits() <= least.bits());
            prop_assert!(least.full_frames() as f64 >= least.frames());
            // The bytes that arrive at line rate within the time fit, and less than a byte is wasted.
            let level = resume_level(gbps(rate), least.time());
            prop_assert!(level >= least.bytes() && level.get() <= least.bytes().get() + 1);
        }
    }
}
