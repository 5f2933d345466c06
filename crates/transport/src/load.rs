//! The load of a connection on a fabric, from its description alone: its maximum send rate, and the frames that it
//! causes in the opposite direction.

use crate::rdma::Post;
use crate::{ApplicationSpec, ConnectionSpec, RdmaSpec, TcpSpec};

/// The frames of one turn of a connection: a segment and its acknowledgement, or a request and its response.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turn {
    /// Frames sent by the end that opens the connection.
    pub out: Train,
    /// Frames returned by its peer.
    pub back: Train,
    /// Number of turns that a returned frame acknowledges, above 0.
    pub answers: f64,
}

/// A sequence of consecutive frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Train {
    /// Number of frames.
    pub frames: u32,
    /// Total bytes of the frames, DA to FCS.
    pub bytes: u64,
    /// Length of all frames except the last.
    pub full: u16,
    /// Length of the last frame.
    pub last: u16,
}

impl Train {
    /// An empty sequence.
    pub(crate) const NONE: Train = Train { frames: 0, bytes: 0, full: 0, last: 0 };

    /// Returns a sequence of one frame.
    pub fn one(bytes: u16) -> Train {
        Train { frames: 1, bytes: bytes.into(), full: bytes, last: bytes }
    }
    /// Returns the frames of messages over TCP.
    pub(crate) fn messages(tcp: &TcpSpec, messages: impl Iterator<Item = u64>) -> Train {
        let (mut train, segment) = (Train::NONE, u64::from(tcp.segment));
        for message in messages {
            let whole = (message - 1) / segment;
            train.last = tcp.frame_bytes((message - whole * segment) as u16);
            train.full = train.full.max(if whole > 0 { tcp.frame_bytes(tcp.segment) } else { train.last });
            train.frames += whole as u32 + 1;
            train.bytes += whole * u64::from(tcp.frame_bytes(tcp.segment)) + u64::from(train.last);
        }
        train
    }
    /// Returns the frames of messages over RDMA.
    pub(crate) fn posts(rdma: &RdmaSpec, posts: impl Iterator<Item = Post>) -> Train {
        let (mut train, mtu) = (Train::NONE, u64::from(rdma.mtu));
        for Post { operation, bytes } in posts {
            let packets = bytes.div_ceil(mtu).max(1);
            let data = |packet: u64| (bytes - packet * mtu).min(mtu) as u16;
            let frame = |packet: u64| {
                rdma.frame_bytes(data(packet) + operation.extended(packet == 0, packet + 1 == packets))
            };
            train.last = frame(packets - 1);
            train.frames = train.frames.saturating_add(u32::try_from(packets).unwrap_or(u32::MAX));
            train.bytes += u64::from(train.last);
            if packets > 1 {
                train.bytes += u64::from(frame(0)) + (packets - 2) * u64::from(rdma.frame_bytes(rdma.mtu));
            }
        }
        // The lengths are averaged, because a shorter frame must not increase the duration.
        let before = train.bytes - u64::from(train.last);
        let mean = before.checked_div(u64::from(train.frames.saturating_sub(1)));
        train.full = mean.map_or(train.last, |mean| mean as u16);
        train
    }
    /// Returns the mean length of a frame; 0 if there are no frames.
    pub fn mean_bytes(&self) -> f64 {
        self.bytes as f64 / f64::from(self.frames.max(1))
    }
}

impl ConnectionSpec {
    /// Returns the frames of one turn.
    pub fn turn(&self) -> Turn {
        self.application.turn()
    }
    /// Returns the maximum send rate in bits of frames (DA to FCS) per second, on a fabric where one turn takes at
    /// least `turn_secs`. The limit is a window per turn, the outstanding requests per turn, or the pacing rate.
    /// Infinite if nothing limits the rate.
    pub fn most_bps(&self, turn_secs: f64) -> f64 {
        self.application.most_bps(turn_secs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Application, ControllerSpec, Delay, FixedRateParams, FixedWindowParams, RequestResponseSpec,
        UnlimitedParams, WindowSpec,
    };
    use units::{Amount, BitRate, Time};

    fn window(controller: ControllerSpec) -> ConnectionSpec {
        let spec = WindowSpec {
            bytes: None,
            segment: 1000,
            controller,
            ack_bytes: 64,
            ack_every: 2,
            ack_delay: Time::ZERO,
            timeout: None,
            ecn_capable: false,
        };
        ConnectionSpec { start: Time::ZERO, stop: None, application: Application::Window(spec) }
    }

    #[test]
    fn a_window_is_sent_once_a_round_trip() {
        let of = |size| window(ControllerSpec::FixedWindow(FixedWindowParams { size })).most_bps(1e-5);
        assert_eq!(of(Amount::Frames(3)), 2.4e9);
        // A window holds whole segments.
        assert_eq!(of(Amount::Bytes(3999)), 2.4e9);
        let paced = ControllerSpec::FixedRate(FixedRateParams { rate: BitRate::from_gbps(2) });
        assert_eq!(window(paced).most_bps(1e-5), 2e9);
        assert_eq!(window(ControllerSpec::Unlimited(UnlimitedParams {})).most_bps(1e-5), f64::INFINITY);
        let turn = window(ControllerSpec::Unlimited(UnlimitedParams {})).turn();
        assert_eq!((turn.out.bytes, turn.back.bytes, turn.answers), (1000, 64, 2.0));
    }

    #[test]
    fn requests_wait_for_each_other_and_think() {
        let spec = RequestResponseSpec {
            request: 10,
            response: 2500,
            segment: 1000,
            outstanding: 4,
            requests: None,
            think: Delay::Exponential(Time::from_us(5)),
            service: Delay::Fixed(Time::from_us(1)),
            timeout: None,
            ecn_capable: false,
        };
        let requests =
            ConnectionSpec { start: Time::ZERO, stop: None, application: Application::RequestResponse(spec) };
        let turn = requests.turn();
        // The request is padded to the smallest frame.
        assert_eq!(turn.out, Train { frames: 1, bytes: 64, full: 64, last: 64 });
        assert_eq!(turn.back, Train { frames: 3, bytes: 2500, full: 1000, last: 500 });
        assert!((requests.most_bps(4e-6) - 4.0 * 64.0 * 8.0 / 10e-6).abs() < 1e-3);
    }
}
