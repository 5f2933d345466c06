//! The kinds of event at a node.

use crate::run::across::PeerIx;
use crate::run::headers::Headers;
use crate::run::index::{LimiterIx, PlaceIx, PortIx};
use engine::Windows;
use flow_control::credit::Freed;
use flow_control::pause::PauseSignal;
use frame::{Flags, Frame, PathId, Priority, Route};
use units::Time;

/// The kinds of events, in the order in which they happen at one node at one time: a port that has become
/// free decides before the frame that arrives in the same instant is looked at, so that a port that
/// decides lazily and one that decides eagerly come to the same result; a pause frame acts before data
/// that arrives with it; sources and timers see what has arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A port may send again.
    #[default]
    Decide = 0,
    /// A pause frame, or an update of credits, takes effect at a port.
    Pause = 1,
    /// A frame has arrived through a port.
    Frame = 2,
    /// The first bytes of a frame have arrived through a port of a cut-through switch.
    Head = 3,
    /// A source is due.
    Source = 4,
    /// A pause that was sent through a port has to be renewed, or an update of credits is due.
    Renew = 5,
    /// What was on its way to a port does not arrive, or arrives damaged.
    Broken = 6,
    /// A host has taken in a frame that came through a port.
    Served = 7,
    /// A fault of the scenario begins or ends at a port, or routes change for a source.
    Fault = 8,
    /// A watchdog looks at the queues of a port.
    Watchdog = 9,
    /// An endpoint asked to be called at this time.
    Timeout = 10,
    /// A rate limiter asked to be called at this time.
    Limiter = 11,
    /// A frame has crossed a switch to a port.
    Crossed = 12,
    /// Inputs and outputs of a crossbar are matched: after all else.
    Match = 13,
}

impl Kind {
    #[inline]
    fn from_number(number: u32) -> Kind {
        match number {
            0 => Kind::Decide,
            1 => Kind::Pause,
            2 => Kind::Frame,
            3 => Kind::Head,
            4 => Kind::Source,
            5 => Kind::Renew,
            6 => Kind::Broken,
            7 => Kind::Served,
            8 => Kind::Fault,
            9 => Kind::Watchdog,
            10 => Kind::Timeout,
            11 => Kind::Limiter,
            12 => Kind::Crossed,
            _ => Kind::Match,
        }
    }
}

/// What happens to a frame on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum LossCause {
    /// The link went down, or is.
    LinkDown = 0,
    /// A switch at one end restarts.
    Restart = 1,
    /// Bits are wrong.
    BitError = 2,
    /// The link loses frames.
    Loss = 3,
}

/// The events to come.
pub(crate) type Queued = Windows<Event>;

/// An event and the frame that it is about: 36 bytes, so that a slot of the queue of events holds one and its link
/// in 40.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, packed(4))]
pub(crate) struct Event {
    pub time: Time,
    /// What arrives; of other kinds what their constructors say.
    pub frame: Frame,
    /// Kind and place: the order of events at one time.
    order: u32,
}

const PLACE_BITS: u32 = 22;

/// A place, and what happens there: the order of events at one time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place(u32);

impl Place {
    #[inline(always)]
    fn new(kind: Kind, place: PlaceIx) -> Place {
        Place((kind as u32) << PLACE_BITS | place.number())
    }
    /// A port that frames come to, as a whole, or to a cut-through switch: their heads.
    pub fn of_arrivals(as_heads: bool, port: PortIx) -> Place {
        Place::new(if as_heads { Kind::Head } else { Kind::Frame }, port.into())
    }
    /// The event that a frame comes there.
    #[inline(always)]
    pub fn event(self, time: Time, frame: Frame) -> Event {
        Event { time, frame, order: self.0 }
    }
    /// Whether this is what happens.
    #[inline(always)]
    pub fn is(self, kind: Kind) -> bool {
        self.0 >> PLACE_BITS == kind as u32
    }
    /// As the part of the fabric counts that runs the node.
    #[inline(always)]
    pub fn peer(self) -> PeerIx {
        PeerIx::new(self.0 & (Event::MAX_PLACES as u32 - 1))
    }
}

impl Event {
    /// Ports, sources and endpoints that can be told apart within a key.
    pub const MAX_PLACES: usize = 1 << PLACE_BITS;

    /// A frame, or its head, arrives through a port.
    #[inline(always)]
    pub fn arrival(kind: Kind, time: Time, place: impl Into<PlaceIx>, frame: Frame) -> Event {
        Place::new(kind, place.into()).event(time, frame)
    }
    /// Something that needs no frame.
    #[inline]
    pub fn bare(kind: Kind, time: Time, place: impl Into<PlaceIx>) -> Event {
        Event::arrival(kind, time, place, Frame::default())
    }
    /// The call of a limiter, which is in the word.
    #[inline(always)]
    pub fn limiter(time: Time, place: PlaceIx, limiter: LimiterIx) -> Event {
        Event::arrival(Kind::Limiter, time, place, Frame { word: limiter.number(), ..Frame::default() })
    }
    /// That of [`Event::limiter`].
    #[inline(always)]
    pub fn called_limiter(&self) -> LimiterIx {
        LimiterIx::new(self.frame.word)
    }
    /// Where it happens.
    #[inline(always)]
    pub fn place(&self) -> PlaceIx {
        PlaceIx::new(self.order & (Event::MAX_PLACES as u32 - 1))
    }
    /// The port where it happens, if it is an event of a port.
    #[inline(always)]
    pub fn port(&self) -> PortIx {
        self.place().port()
    }
    /// The event at another place.
    pub fn at(self, place: PlaceIx) -> Event {
        Event { order: self.order & !(Event::MAX_PLACES as u32 - 1) | place.number(), ..self }
    }
    /// As one comparison, where [`Event::kind`] has a table.
    #[inline(always)]
    pub fn is(&self, kind: Kind) -> bool {
        self.order >> PLACE_BITS == kind as u32
    }
    /// Whether it is a [`Kind::Decide`], the lowest kind.
    #[inline(always)]
    pub fn is_decision(&self) -> bool {
        self.order < 1 << PLACE_BITS
    }
    /// Whether its frame carries more than a word.
    pub fn is_wide(&self) -> bool {
        let frame = self.frame;
        frame.flags.is_wide()
    }
    #[inline]
    pub fn kind(&self) -> Kind {
        Kind::from_number(self.order >> PLACE_BITS)
    }
    /// An entry of the table of faults: the first action and how many there are.
    pub fn fault(time: Time, place: PlaceIx, first: u32, count: u32) -> Event {
        let frame = Frame { path: PathId(first), word: count, ..Frame::default() };
        Event::arrival(Kind::Fault, time, place, frame)
    }
    /// The actions of [`Event::fault`].
    pub fn actions(&self) -> std::ops::Range<usize> {
        let (first, count) = (self.frame.path.at(), self.frame.word as usize);
        first..first + count
    }
    /// A frame that is lost on its way to the port where it would have arrived, and why.
    pub fn broken(
        time: Time,
        port: impl Into<PlaceIx>,
        frame: Frame,
        loss_cause: LossCause,
        back: bool,
    ) -> Event {
        // It goes no further: all that matters of its route is which way it went.
        let cause = loss_cause as u32;
        let route = if back { Route::backward(cause) } else { Route::forward(cause) };
        Event::arrival(Kind::Broken, time, port, Frame { route, ..frame })
    }
    /// Why the frame of [`Event::broken`] is lost.
    pub fn loss_cause(&self) -> LossCause {
        match self.frame.route.bits() & 0xFF {
            0 => LossCause::LinkDown,
            1 => LossCause::Restart,
            2 => LossCause::BitError,
            _ => LossCause::Loss,
        }
    }
    /// A pause frame: its signal and quanta in the word, and the note of its sender, which says why, in place of
    /// the time of creation.
    pub fn pause(time: Time, port: impl Into<PlaceIx>, signal: PauseSignal, quanta: u16, note: u64) -> Event {
        let word = u32::from(quanta) << 16 | u32::from(signal.xoff) << 8 | u32::from(signal.xon);
        Event::arrival(
            Kind::Pause,
            time,
            port,
            Frame { created: Time::from_ps(note), word, ..Frame::default() },
        )
    }
    /// More of the pause frame of the event before it: another time.
    pub fn same_frame(mut self) -> Event {
        self.frame.bytes = 1;
        self
    }
    /// Whether it is more of a pause frame that has been counted.
    pub fn is_same_frame(&self) -> bool {
        self.frame.bytes != 0
    }
    /// The signal, quanta and note of a pause frame.
    pub fn signal(&self) -> (PauseSignal, u16, u64) {
        let word = self.frame.word;
        let signal = PauseSignal { xoff: (word >> 8) as u8, xon: word as u8 };
        (signal, (word >> 16) as u16, self.frame.created.ps())
    }
    /// An update of credits: fifteen bits a channel, four channels in place of the time of creation, two each in place
    /// of path and route; which bank of counts they are in place of the length. No part of a fingerprint: most
    /// updates are read and are no event.
    pub fn update(time: Time, port: impl Into<PlaceIx>, freed: Freed) -> Event {
        let [a, b, c, d, e, f, g, h] = freed.counts.map(u64::from);
        let (created, path, route) = (a | b << 16 | c << 32 | d << 48, e | f << 16, g | h << 15);
        let frame = Frame {
            created: Time::from_ps(created),
            path: PathId(path as u32),
            route: Route::forward(route as u32),
            bytes: u16::from(freed.bank),
            ..Frame::default()
        };
        Event::arrival(Kind::Pause, time, port, frame)
    }
    /// The counts of [`Event::update`].
    pub fn freed(&self) -> Freed {
        let frame = self.frame;
        let (created, path, route) = (frame.created.ps(), frame.path.0, frame.route.bits());
        let (path, route) = (u64::from(path), u64::from(route));
        let all =
            [created, created >> 16, created >> 32, created >> 48, path, path >> 16, route, route >> 15];
        Freed { counts: all.map(|count| count as u16 & 0x7FFF), bank: frame.bytes as u8 }
    }
    /// The part of the event that a trajectory's fingerprint is made of. The caller knows the kind, the number of the
    /// place in the whole fabric, and where headers are.
    #[inline(always)]
    pub fn digest(&self, kind: Kind, place: u32, headers: &Headers) -> u64 {
        let frame = self.frame;
        let (path, bytes, hop) = match kind {
            Kind::Pause => (frame.word >> 8 & 0xFF, frame.word >> 16, frame.word & 0xFF),
            Kind::Fault => (frame.path.0, 0, frame.word),
            _ => (frame.path.0, u32::from(frame.bytes), frame.route.bits()),
        };
        let told = u64::from(path) << 32 | u64::from(bytes) << 16 | u64::from(hop) & 0xFFFF;
        let place = u64::from(place) << 8 | kind as u64;
        let digest = self.time.ps().wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ told.rotate_left(17) ^ place;
        // What a raw frame does not have: priority and direction need no word, they follow from the path.
        if frame.flags != Flags::default() && !matches!(kind, Kind::Pause | Kind::Fault) {
            return digest ^ carried(frame.word, frame.priority, frame.flags, headers);
        }
        digest
    }
}

/// What a frame carries, for its digest: told of it as values, so that it need not lie in memory a second time.
#[inline(always)]
fn carried(word: u32, priority: Priority, flags: Flags, headers: &Headers) -> u64 {
    let word = if flags.is_wide() { carried_in_header(word, headers) } else { word.into() };
    let carried = word << 8 | u64::from(flags.bits());
    (carried ^ u64::from(priority.0) << 48).wrapping_mul(0xc2b2_ae3d_27d4_eb4f)
}

/// What it carries if that lies in a header.
#[inline(never)]
fn carried_in_header(word: u32, headers: &Headers) -> u64 {
    headers.digest(word)
}

impl engine::Event for Event {
    #[inline]
    fn time(&self) -> Time {
        self.time
    }
    #[inline]
    fn order(&self) -> u32 {
        self.order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::headers::Carried;
    use frame::{Ecn, FrameKind, Header, TcpHeader};

    fn frame() -> Frame {
        Frame {
            path: PathId(7),
            route: Route::forward(9),
            bytes: 64,
            priority: Priority(5),
            ..Frame::default()
        }
    }

    #[test]
    fn a_broken_frame_knows_why() {
        for loss_cause in [LossCause::LinkDown, LossCause::Restart, LossCause::BitError, LossCause::Loss] {
            for back in [false, true] {
                let event = Event::broken(Time::from_ns(1), PortIx::new(3), frame(), loss_cause, back);
                let broken = event.frame;
                assert_eq!(
                    (event.loss_cause(), broken.priority, broken.path),
                    (loss_cause, Priority(5), PathId(7))
                );
                assert_eq!(matches!(broken.route.heading(), frame::Heading::Backward(_)), back);
            }
        }
        assert_eq!(Event::fault(Time::ZERO, PlaceIx::new(1), 4, 3).actions(), 4..7);
    }

    #[test]
    fn a_pause_says_what_it_was_made_from() {
        let signal = PauseSignal { xoff: 0x81, xon: 0x18 };
        let event = Event::pause(Time::from_ns(1), PortIx::new(3), signal, 0xFEDC, u64::MAX - 5);
        assert_eq!(event.signal(), (signal, 0xFEDC, u64::MAX - 5));
    }

    #[test]
    fn an_update_says_what_it_was_made_from() {
        let counts = [0, 1, 0x7FFF, 3, 0x7FFF, 5, 0x7FFE, 0x7FFF];
        let freed = Freed { counts, bank: 0 };
        let event = Event::update(Time::from_ns(1), PortIx::new(3), freed);
        assert_eq!((event.freed(), event.kind()), (freed, Kind::Pause));
        let bypass = Freed { bank: 1, ..freed };
        assert_eq!(Event::update(Time::ZERO, PortIx::new(3), bypass).freed(), bypass);
    }

    #[test]
    fn kind_and_place_are_the_order() {
        for kind in (0..=10).map(Kind::from_number) {
            let event = Event::bare(kind, Time::ZERO, PlaceIx::new(4_194_303));
            assert_eq!((event.kind(), event.place()), (kind, PlaceIx::new(4_194_303)));
            assert!(engine::Event::order(&event) < 1 << 26);
        }
    }

    #[test]
    fn what_a_frame_carries_is_part_of_the_fingerprint() {
        let digest_with = |frame, headers: &Headers| {
            Event::arrival(Kind::Frame, Time::from_ns(9), 1, frame).digest(Kind::Frame, 1, headers)
        };
        let digest = |frame| digest_with(frame, &Headers::default());
        let data = Frame { flags: Flags::new(FrameKind::Data, Ecn::Capable), word: 1, ..frame() };
        let marked = Frame { flags: Flags::new(FrameKind::Data, Ecn::Experienced), ..data };
        let others =
            [frame(), data, marked, Frame { word: 2, ..data }, Frame { priority: Priority(1), ..data }];
        for (n, one) in others.iter().enumerate() {
            assert!(others[..n].iter().all(|&other| digest(other) != digest(*one)));
        }
        // What a header says counts, not where it lies.
        let mut headers = Headers::default();
        let mut wide = |sequence| {
            let mut frame = data;
            let header = Header::Tcp(TcpHeader { number: sequence, ..TcpHeader::default() });
            headers.attach(&mut frame, Carried::Header(header));
            frame
        };
        let (one, same, other) = (wide(1), wide(1), wide(2));
        assert!(one.word != same.word && digest_with(one, &headers) == digest_with(same, &headers));
        assert_ne!(digest_with(one, &headers), digest_with(other, &headers));
    }

    #[test]
    fn an_event_and_its_link_take_40_bytes() {
        assert_eq!((size_of::<Event>(), align_of::<Event>()), (36, 4));
    }
}
