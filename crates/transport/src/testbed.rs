//! Connections and random draws shared by the tests.

use crate::pipe::{Outcome, Pipe, connect};
use crate::{
    Ack, AimdParams, Application, ConnectionSpec, ControllerSpec, Delay, EcnMode, Endpoint,
    FixedWindowParams, Growth, LossRecoveryKind, Protocol, Record, RecordKind, RequestResponseSpec, Segment,
    TcpSpec, TimerSpec, TransferSpec, WindowSpec,
};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use units::{Amount, BitRate, Time};

pub const RATE: BitRate = BitRate::from_gbps(10);
pub const DELAY: Time = Time::from_us(5);
pub const START: Time = Time::from_us(3);

pub fn window(segments: u64) -> ControllerSpec {
    ControllerSpec::FixedWindow(FixedWindowParams { size: Amount::Frames(segments) })
}
pub fn transfer(bytes: Option<u64>, controller: ControllerSpec) -> WindowSpec {
    WindowSpec {
        bytes,
        segment: 1_000,
        controller,
        ack_bytes: 64,
        ack_every: 1,
        ack_delay: Time::from_us(500),
        timeout: None,
        ecn_capable: false,
    }
}
pub fn exchanges() -> RequestResponseSpec {
    RequestResponseSpec {
        request: 64,
        response: 4_096,
        segment: 1_024,
        outstanding: 1,
        requests: Some(10),
        think: Delay::Fixed(Time::ZERO),
        service: Delay::Fixed(Time::from_us(1)),
        timeout: None,
        ecn_capable: false,
    }
}
pub fn over(application: Application) -> ConnectionSpec {
    ConnectionSpec { start: START, stop: None, application }
}
pub fn bulk(spec: WindowSpec) -> Pipe<Endpoint, Endpoint> {
    connect(&over(Application::Window(spec)), RATE, DELAY)
}
pub fn asking(spec: RequestResponseSpec) -> Pipe<Endpoint, Endpoint> {
    connect(&over(Application::RequestResponse(spec)), RATE, DELAY)
}
pub fn of_kind(records: &[Record], kind: RecordKind) -> Vec<Record> {
    records.iter().copied().filter(|record| record.kind == kind).collect()
}

/// Returns a generator of integers below a limit, and a random number generator, both from this seed.
pub fn draws(seed: u64) -> (impl FnMut(u64) -> u64, Xoshiro256PlusPlus) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let stream = rng.clone();
    (move |limit| workload::below(&mut rng, limit), stream)
}

/// Returns a wire that loses `loss`, marks 20 and duplicates 10 per cent of the frames, and delays each by up to 3 us.
pub fn rough(loss: u32, mut draw: impl FnMut(u64) -> u64) -> impl FnMut(usize, &Segment) -> Outcome {
    move |_, _| Outcome {
        lost: draw(100) < loss.into(),
        trimmed: false,
        marked: draw(100) < 20,
        twice: draw(100) < 10,
        extra: Time::from_ns(draw(3_000)),
    }
}

/// Returns an acknowledgement of `bytes` to a sender limited by its window.
pub fn ack(bytes: u64) -> Ack {
    Ack { bytes, in_flight: 0, ece: false, round_trip: None, recovering: false, window_used: true }
}

/// Returns a TCP transfer in segments of 1000 B, without delays, with an initial window of this many segments and a threshold of the same
/// size.
pub fn tcp(bytes: Option<u64>, recovery: LossRecoveryKind, initial: u64) -> TcpSpec {
    let aimd = AimdParams {
        initial: Amount::Frames(initial),
        threshold: Some(initial * 1_000),
        growth: Growth::Acks,
        grows_unused: true,
    };
    TcpSpec {
        transfers: TransferSpec { size: None, total: bytes, idle: Delay::default() },
        handshake: false,
        reconnect: false,
        segment: 1_000,
        headers: 58,
        ack_bytes: 64,
        ack_every: 1,
        ack_delay: Time::from_us(500),
        controller: ControllerSpec::Aimd(aimd),
        recovery,
        duplicates: 3,
        limited_transmit: false,
        steady: false,
        proportional: false,
        window: u64::MAX,
        ecn: EcnMode::Off,
        timestamps: false,
        timer: TimerSpec {
            tick: Time::ZERO,
            min: Time::from_us(200),
            initial: Time::from_us(1_000),
            max: Time::from_ms(10_000),
        },
        restart_after_idle: false,
        jitter: Time::ZERO,
    }
}
pub fn tcp_pipe(spec: TcpSpec) -> Pipe<Endpoint, Endpoint> {
    connect(&over(Application::Tcp(spec.into())), RATE, DELAY)
}

/// Individual facts of an endpoint.
pub trait Facts: Protocol {
    fn retransmitted(&self) -> u64 {
        self.facts(Time::ZERO).retransmitted
    }
    fn discarded(&self) -> u64 {
        self.facts(Time::ZERO).discarded
    }
}

impl<P: Protocol> Facts for P {}
