//! What a connection asks of a fabric, from its description alone: how much it sends at most, and what comes back for it.

use crate::{Application, ConnectionSpec, ControllerSpec, TcpSpec};
use units::Amount;

/// The frames of one turn of a connection: a segment and its acknowledgement, or a request and its response.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turn {
    /// Frames that go out.
    pub out: Train,
    /// Frames that come back.
    pub back: Train,
    /// Turns a frame that comes back answers, above 0.
    pub answers: f64,
}

/// Frames that follow each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Train {
    /// So many frames.
    pub frames: u32,
    /// Bytes of all of them, DA to FCS.
    pub bytes: u64,
    /// Length of all but the last.
    pub full: u16,
    /// Length of the last.
    pub last: u16,
}

impl Train {
    fn one(bytes: u16) -> Train {
        Train { frames: 1, bytes: bytes.into(), full: bytes, last: bytes }
    }
    /// Messages over TCP.
    fn messages(tcp: &TcpSpec, messages: impl Iterator<Item = u64>) -> Train {
        let (mut train, segment) = (Train { frames: 0, bytes: 0, full: 0, last: 0 }, u64::from(tcp.segment));
        for message in messages {
            let whole = (message - 1) / segment;
            train.last = tcp.frame_bytes((message - whole * segment) as u16);
            train.full = train.full.max(if whole > 0 { tcp.frame_bytes(tcp.segment) } else { train.last });
            train.frames += whole as u32 + 1;
            train.bytes += whole * u64::from(tcp.frame_bytes(tcp.segment)) + u64::from(train.last);
        }
        train
    }
    /// Mean length of a frame.
    pub fn mean_bytes(&self) -> f64 {
        self.bytes as f64 / f64::from(self.frames)
    }
}

impl ConnectionSpec {
    /// The frames of one turn.
    pub fn turn(&self) -> Turn {
        match &self.application {
            Application::Window(spec) => Turn {
                out: Train::one(spec.segment),
                back: Train::one(spec.ack_bytes),
                answers: f64::from(spec.ack_every),
            },
            Application::RequestResponse(spec) => {
                let (request, response) = (spec.request_message(), spec.response_message());
                Turn { out: request.train(), back: response.train(), answers: 1.0 }
            }
            Application::Conversation(spec) => Turn {
                out: Train::messages(&spec.tcp, spec.of_end(true)),
                back: Train::messages(&spec.tcp, spec.of_end(false)),
                answers: 1.0,
            },
            Application::Tcp(spec) | Application::Transfers(spec) => Turn {
                out: Train::one(spec.frame_bytes(spec.segment)),
                back: Train::one(spec.ack_frame_bytes(0)),
                answers: f64::from(spec.ack_every),
            },
        }
    }

    /// The most that it sends, in bits of frames (DA to FCS) a second, on a fabric where one turn takes no less than
    /// `turn_secs`: a window or the outstanding requests a turn, or the rate of pacing. Infinite if nothing holds it.
    pub fn most_bps(&self, turn_secs: f64) -> f64 {
        match &self.application {
            Application::Window(spec) => match &spec.controller {
                ControllerSpec::FixedWindow(window) => {
                    let segments = match window.size {
                        Amount::Frames(segments) => segments,
                        Amount::Bytes(bytes) => bytes / u64::from(spec.segment),
                    };
                    (segments * u64::from(spec.segment) * 8) as f64 / turn_secs
                }
                ControllerSpec::FixedRate(pacing) => pacing.rate.bps() as f64,
                // What has no bound of its own takes all that it finds.
                _ => f64::INFINITY,
            },
            Application::RequestResponse(spec) => {
                let bits = f64::from(spec.outstanding) * self.turn().out.bytes as f64 * 8.0;
                bits / (turn_secs + spec.think.mean_secs() + spec.service.mean_secs())
            }
            Application::Tcp(spec) | Application::Transfers(spec) => most_of_window(spec, turn_secs),
            Application::Conversation(spec) => {
                let bits = f64::from(spec.outstanding) * self.turn().out.bytes as f64 * 8.0;
                bits / (turn_secs + spec.think.mean_secs() + spec.service.mean_secs())
            }
        }
    }
}

/// The most that TCP sends: the receiver's window is a bound; the controller's finds its own.
fn most_of_window(spec: &TcpSpec, turn_secs: f64) -> f64 {
    let segments = spec.window / u64::from(spec.segment);
    let bits = segments as f64 * f64::from(spec.frame_bytes(spec.segment)) * 8.0;
    if spec.window == u64::MAX { f64::INFINITY } else { bits / turn_secs }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Delay, FixedRateParams, FixedWindowParams, RequestResponseSpec, UnlimitedParams, WindowSpec,
    };
    use units::{BitRate, Time};

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
        let asks =
            ConnectionSpec { start: Time::ZERO, stop: None, application: Application::RequestResponse(spec) };
        let turn = asks.turn();
        // The request is padded to the smallest frame.
        assert_eq!(turn.out, Train { frames: 1, bytes: 64, full: 64, last: 64 });
        assert_eq!(turn.back, Train { frames: 3, bytes: 2500, full: 1000, last: 500 });
        assert!((asks.most_bps(4e-6) - 4.0 * 64.0 * 8.0 / 10e-6).abs() < 1e-3);
    }
}
