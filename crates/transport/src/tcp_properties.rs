//! Invariants of TCP over any wire: everything arrives once and in order under loss, marks, duplication and delay.

use crate::controller::CongestionControl;
use crate::loss_recovery::LossRecovery;
use crate::pipe::{Outcome, Pipe};
use crate::testbed::{DELAY, RATE, START, draws, tcp};
use crate::{
    AimdParams, ControllerSpec, CubicKeys, CubicParams, DctcpKeys, DctcpParams, Delay, EcnMode, Growth,
    LossRecoveryKind, Protocol, Received, RecordKind, Segment, TcpReceiver, TcpSender, TcpSpec, TimerSpec,
    TransferSpec,
};
use frame::{FrameKind, Header, TcpHeader, Trim};
use proptest::prelude::*;
use std::cell::Cell;
use std::sync::Arc;
use units::{Amount, Time};

/// A sender under test. Checks that no data is sent beyond what may be in flight, and that no timeout comes early.
struct Watched {
    sender: TcpSender,
    spec: Arc<TcpSpec>,
    quiet_since: Cell<Time>,
}

impl Watched {
    fn timeouts(&self) -> u64 {
        self.sender.congestion().map_or(0, |it| it.timeouts)
    }
}

impl Protocol for Watched {
    fn handle_frame(&mut self, now: Time, received: &Received) {
        let before = self.sender.acknowledged();
        self.sender.handle_frame(now, received);
        assert!(self.sender.acknowledged() >= before);
        if self.sender.acknowledged() > before {
            self.quiet_since.set(now);
        }
    }
    fn handle_timeout(&mut self, now: Time) {
        let before = self.timeouts();
        self.sender.handle_timeout(now);
        if self.timeouts() > before {
            // RFC 6298 section 5: a timeout comes at the earliest a timeout interval after the last progress, except
            // for the current tick. The impatient NewReno does not restart the timer on progress.
            let waited = now - self.quiet_since.get() + self.spec.timer.tick;
            let impatient = self.spec.recovery == LossRecoveryKind::NewReno && !self.spec.steady;
            assert!(impatient || waited >= self.spec.timer.min.min(self.spec.timer.initial), "{waited}");
            self.quiet_since.set(now);
        }
    }
    fn poll_timeout(&self) -> Option<Time> {
        self.sender.poll_timeout()
    }
    fn has_work(&self) -> bool {
        self.sender.has_work()
    }
    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        if self.sender.sent() == self.sender.acknowledged() {
            self.quiet_since.set(now);
        }
        let (sent, window) = (self.sender.sent(), self.sender.controller().window());
        let recovering = self.sender.recovery.is_recovering() || self.sender.recovery.duplicates() > 0;
        let segment = self.sender.poll_transmit(now);
        let out = self.sender.sent() - self.sender.acknowledged();
        assert!(out <= self.spec.window, "{out} B in flight, above the window of {}", self.spec.window);
        // New data is sent only if all outstanding data fits the congestion window as well. Exceptions are
        // retransmissions and data released by duplicate acknowledgements (RFC 5681 section 3.2, RFC 3042).
        assert!(sent == self.sender.sent() || recovering || out <= window, "{out} B sent, window {window}");
        segment
    }
    fn poll_record(&mut self) -> Option<crate::Record> {
        self.sender.poll_record()
    }
}

pub fn any_spec() -> impl Strategy<Value = TcpSpec> {
    let recovery = prop::sample::select(LossRecoveryKind::ALL);
    let ecn = prop::sample::select(vec![EcnMode::Off, EcnMode::Rfc3168, EcnMode::Dctcp]);
    let growth = prop::sample::select(vec![Growth::Acks, Growth::Bytes]);
    let switches = prop::array::uniform8(any::<bool>());
    let tick = prop::sample::select(vec![0u64, 1, 50, 1_000]);
    let transfers = (1u64..60_000, prop::option::of(1u64..20_000), 0u64..3_000);
    let controller = (0u32..3, 1u64..20, prop::option::of(1u64..40_000), growth);
    let window = (prop::option::of(1_000u64..30_000), 1u32..4, 1u32..5, prop::option::of(1u64..30));
    (recovery, ecn, switches, tick, transfers, controller, window).prop_map(
        |(recovery, ecn, on, tick, (total, size, idle), (which, initial, threshold, growth), window)| {
            let (window, ack_every, duplicates, jitter) = window;
            let initial = Amount::Frames(initial);
            let begin = AimdParams { initial, threshold, growth, grows_unused: on[0] };
            let base = tcp(None, recovery, 1);
            TcpSpec {
                transfers: TransferSpec {
                    size,
                    total: Some(total),
                    idle: Delay::Exponential(Time::from_us(idle + 1)),
                },
                handshake: on[1],
                reconnect: on[2],
                controller: match which {
                    0 => ControllerSpec::Aimd(begin),
                    1 => ControllerSpec::Cubic(CubicParams { begin, curve: CubicKeys::default() }),
                    _ => ControllerSpec::Dctcp(DctcpParams { begin, estimate: DctcpKeys::default() }),
                },
                ecn,
                duplicates,
                limited_transmit: on[3],
                steady: on[4],
                proportional: on[5],
                timestamps: on[6],
                restart_after_idle: on[7],
                window: window.unwrap_or(u64::MAX),
                ack_every,
                jitter: Time::from_us(jitter.unwrap_or(0)),
                timer: TimerSpec { tick: Time::from_us(tick), ..base.timer },
                ..base
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Tests delivery over a wire that loses, marks, reorders and duplicates.
    #[test]
    fn everything_arrives_once_and_in_order(
        spec in any_spec(),
        loss in 0u32..30,
        twice in 0u32..20,
        jitter in 0u64..20_000,
        marks in 0u32..60,
        seed in any::<u64>(),
    ) {
        prop_assert_eq!(spec.check(), Ok(()));
        let spec = Arc::new(spec);
        let sender = TcpSender::new(&spec, START, None, draws(seed).1);
        let near = Watched { sender, spec: spec.clone(), quiet_since: Cell::new(Time::ZERO) };
        let mut pipe = Pipe::new(near, TcpReceiver::new(&spec), RATE, DELAY);
        let mut draw = draws(!seed).0;
        pipe.run(Time::NEVER, |_, _| Outcome {
            lost: draw(100) < loss.into(),
            trimmed: false,
            marked: draw(100) < marks.into(),
            twice: draw(100) < twice.into(),
            extra: Time::from_ns(if jitter > 0 { draw(jitter) } else { 0 }),
        });
        let total = spec.transfers.total.unwrap();
        prop_assert_eq!((pipe.near.sender.acknowledged(), pipe.far.delivered()), (total, total));
        prop_assert_eq!((pipe.near.sender.sent(), pipe.near.sender.in_flight()), (total, 0));
        let transfers: Vec<_> = pipe.records.iter().filter(|it| it.kind == RecordKind::Transfer).collect();
        prop_assert_eq!(transfers.iter().map(|it| it.bytes).sum::<u64>(), total);
        prop_assert_eq!(transfers.len() as u64, spec.transfers.size.map_or(1, |size| total.div_ceil(size)));
        prop_assert_eq!((pipe.near.poll_timeout(), pipe.near.has_work()), (None, false));
        if loss == 0 && twice == 0 && jitter == 0 && spec.jitter == Time::ZERO {
            prop_assert_eq!((pipe.near.sender.retransmitted(), pipe.far.discarded()), (0, 0));
        }
        if spec.ecn == EcnMode::Off || marks == 0 {
            prop_assert_eq!(pipe.near.sender.congestion().unwrap().marks, 0);
        }
    }

    /// Tests that a connection may stop at any time: written data is delivered once or still pending, acknowledged only
    /// if delivered, and delivered only if sent.
    #[test]
    fn every_byte_is_delivered_once_or_still_owed(
        spec in any_spec(),
        loss in 0u32..60,
        twice in 0u32..30,
        jitter in 0u64..20_000,
        cuts in prop::collection::vec(1u64..20_000, 1..6),
        seed in any::<u64>(),
    ) {
        let spec = Arc::new(spec);
        let near = TcpSender::new(&spec, START, None, draws(seed).1);
        let mut pipe = Pipe::new(near, TcpReceiver::new(&spec), RATE, DELAY);
        let (mut draw, total) = (draws(!seed).0, spec.transfers.total.unwrap());
        let (mut until, mut before) = (Time::ZERO, 0);
        for cut in cuts {
            until += Time::from_us(cut);
            pipe.run(until, |_, _| Outcome {
                lost: draw(100) < loss.into(),
                trimmed: false,
                twice: draw(100) < twice.into(),
                extra: Time::from_ns(if jitter > 0 { draw(jitter) } else { 0 }),
                ..Outcome::default()
            });
            let (acknowledged, delivered) = (pipe.near.acknowledged(), pipe.far.delivered());
            prop_assert!(acknowledged <= delivered && delivered <= pipe.near.sent() && pipe.near.sent() <= total);
            prop_assert!(before <= delivered, "delivered data was withdrawn");
            before = delivered;
            // A sender with unacknowledged data has a timer or a segment to send, and its whole time is attributed to
            // causes.
            if acknowledged < total {
                prop_assert!(pipe.near.poll_timeout().is_some() || pipe.near.has_work());
                let held = pipe.near.held(until).unwrap().times.into_iter().fold(Time::ZERO, |a, b| a + b);
                prop_assert_eq!(held, until.saturating_sub(START));
            }
        }
    }

    /// Tests that a sender and a receiver that receive arbitrary frames at any time neither panic nor accept impossible
    /// ones.
    #[test]
    fn nonsense_is_survived(
        spec in any_spec(),
        steps in prop::collection::vec((0u32..8, any::<u32>(), any::<u16>(), any::<[u8; 8]>()), 1..200),
        seed in any::<u64>(),
    ) {
        let spec = Arc::new(spec);
        let mut sender = TcpSender::new(&spec, START, Some(Time::from_ms(5)), draws(seed).1);
        let mut receiver = TcpReceiver::new(&spec);
        let mut now = Time::ZERO;
        for (step, word, bytes, salt) in steps {
            now += Time::from_ns(u64::from(bytes));
            let frame = nonsense(word, bytes, salt, now, sender.sent());
            match step {
                0 | 1 => sender.handle_frame(now, &frame),
                2 | 3 => receiver.handle_frame(now, &frame),
                4 => sender.handle_timeout(now),
                5 => receiver.handle_timeout(now),
                6 => while sender.poll_transmit(now).is_some() {},
                _ => while receiver.poll_transmit(now).is_some() {},
            }
            while sender.poll_record().is_some() {}
            prop_assert!(sender.acknowledged() <= sender.sent());
            prop_assert!(sender.sent() - sender.acknowledged() <= spec.window);
            prop_assert!(sender.sent() <= spec.transfers.total.unwrap());
        }
    }
}

/// Returns a frame whose numbers are near those sent, or arbitrary.
pub fn nonsense(word: u32, bytes: u16, salt: [u8; 8], now: Time, sent: u64) -> Received {
    let near = |byte: u8| if byte < 32 { word } else { (sent as u32).wrapping_sub(u32::from(byte) * 100) };
    let header = TcpHeader {
        number: near(salt[0]),
        payload: (salt[1] < 64).then_some(bytes),
        syn: salt[1] & 3 == 0,
        cwr: salt[1] & 4 == 0,
        ts_ecr: (salt[2] < 128).then_some(now.saturating_add(Time::from_ns(salt[2].into()))),
        sacks: [(near(salt[3]), near(salt[4])), (near(salt[5]), near(salt[6])), (0, 0)],
        connection: if salt[6] < 128 { u32::from(salt[6]) % 4 } else { word },
        ends: (salt[5] < 64).then_some(u32::from(salt[5]) % 5),
    };
    let kinds = [FrameKind::Data, FrameKind::Ack, FrameKind::MarkedAck, FrameKind::Ack, FrameKind::Cnm];
    Received {
        kind: kinds[usize::from(salt[7]) % kinds.len()],
        word: near(salt[0]),
        header: (salt[7] < 160).then_some(Header::Tcp(header)),
        bytes,
        congestion_experienced: salt[7] & 1 == 0,
        created: now,
        trim: Trim::Whole,
        entropy: 0,
    }
}
