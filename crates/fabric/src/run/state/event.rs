//! The events at a node: time, place and contents.
//!
//! An event is a time, the bytes of a frame, and a word of kind and place, so that one queue stores all events by
//! value. Only this module interprets the bytes: an event is created by one of the constructors of [`Event`], and read
//! as a [`What`].

use crate::Whole;
use crate::run::across::peer::PeerIx;
use crate::run::state::headers::Headers;
use crate::run::state::index::{EventPlace, LimiterIx, PlaceIx, PortIx, Seal};
use crate::run::state::retry::RetrySignal;
use crate::run::state::tags::CONTROL;
use engine::Windows;
use flow_control::credit::Freed;
use flow_control::pause::PauseSignal;
use frame::{Flags, Frame, PathId, Priority, Route};
use std::ops::Range;
use units::Time;

/// Kinds of events, in the order in which they are processed at one node at one time. A port that becomes idle decides
/// before the frame that arrives at the same time is processed, so that ports that decide lazily and eagerly give the
/// same result. A pause frame takes effect before data that arrives with it. Sources and timers observe all arrivals.
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
    /// A frame or control frame in flight to a port is lost, or arrives damaged.
    Broken = 6,
    /// A host has finished processing a received frame.
    Served = 7,
    /// A scripted fault begins or ends at a port, or routes change for a source.
    Fault = 8,
    /// A watchdog checks the queues of a port.
    Watchdog = 9,
    /// The timer of an endpoint expires.
    Timeout = 10,
    /// The timer of a rate limiter expires.
    Limiter = 11,
    /// A frame has crossed a switch to a port.
    Crossed = 12,
    /// Inputs and outputs of a crossbar are matched, after all other events.
    Match = 13,
    /// The timer of ranks at a host expires; the place is the first port of the host.
    Rank = 14,
}

impl Kind {
    #[inline(always)]
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
            13 => Kind::Match,
            _ => Kind::Rank,
        }
    }
}

/// Cause of the loss of a frame in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum LossCause {
    /// The link went down or is down.
    LinkDown = 0,
    /// A switch at one end restarts.
    Restart = 1,
    /// Bit errors.
    BitError = 2,
    /// Random loss on the link.
    Loss = 3,
    /// Link-level retry has given up the frame.
    Retry = 4,
}

/// Contents of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A port may send again.
    Decide,
    /// A pause frame takes effect at a port.
    Pause(PauseFrame),
    /// An update of credits takes effect at a port.
    Credits(Freed),
    /// A port polls the far end of its link for credit updates.
    LookForCredits,
    /// A signal of link-level retry has arrived at a port.
    Retry(RetrySignal),
    /// A timer of link-level retry of a port may have expired.
    RetryDue,
    /// A frame has arrived through a port.
    Frame(Frame),
    /// The first bytes of a frame have arrived through a port of a cut-through switch.
    Head(Frame),
    /// A source is due.
    Source,
    /// A pause that was sent through a port has to be renewed.
    Renew,
    /// An update of credits is due.
    UpdateDue,
    /// The sending end of a link with credits reports the number of credits that it has consumed.
    CreditsConsumed,
    /// A frame to a port is lost, or arrives damaged.
    Broken(Frame, LossCause),
    /// A host has finished processing a frame.
    Served,
    /// These entries of the table of faults take effect.
    Fault(Range<usize>),
    /// A watchdog checks the queues of a port.
    Watchdog,
    /// The timer of an endpoint expires.
    Timeout,
    /// A host repeats a message about a path.
    News(News),
    /// The timer of a rate limiter expires.
    Limiter(LimiterIx),
    /// A frame has crossed a switch to a port.
    Crossed,
    /// Inputs and outputs of a crossbar are matched.
    Match,
    /// The timer of ranks at a host expires.
    Rank,
}

/// A pause frame, or the part of one with the priorities that have the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PauseFrame {
    pub signal: PauseSignal,
    pub quanta: u16,
    /// Note of its sender: the reason for the pause.
    pub note: u64,
    /// True if it continues the frame of the previous event, with another time.
    pub more: bool,
}

/// A repeated message about a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct News {
    pub path: PathId,
    pub route: Route,
    pub every: Time,
    /// Occurrences including this one; at least 1.
    pub times: u16,
}

/// The queue of pending events.
pub(crate) type EventQueue = Windows<Event>;

/// An event and its frame: 36 bytes, so that a slot of the event queue holds an event and its link in 40.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, packed(4))]
pub(crate) struct Event {
    pub time: Time,
    /// The arriving frame; for other kinds of events, the data that their constructors store here.
    frame: Frame,
    /// Kind and place: the order of events at one time.
    order: u32,
}

const PLACE_BITS: u32 = 22;

/// Marks a [`Kind::Pause`] or [`Kind::Renew`] event of credits; stored in place of a priority.
const OF_CREDITS: Priority = Priority(1);

const LOOK: Priority = Priority(2);

/// Marks a [`Kind::Pause`] or [`Kind::Renew`] event of link-level retry; stored in place of a priority.
const OF_RETRY: Priority = Priority(3);

/// Kind and place of an event, which order the events at one time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place(u32);

impl Place {
    #[inline(always)]
    fn new(kind: Kind, place: PlaceIx) -> Place {
        Place((kind as u32) << PLACE_BITS | place.number())
    }
    /// Creates the key of frames arriving at a port; at a cut-through switch, of their heads.
    pub fn of_arrivals(as_heads: bool, port: PortIx) -> Place {
        Place::new(if as_heads { Kind::Head } else { Kind::Frame }, port.place(Seal::new()))
    }
    /// Creates the event of a frame that arrives there.
    #[inline(always)]
    pub fn event(self, time: Time, frame: Frame) -> Event {
        Event { time, frame, order: self.0 }
    }
    /// Returns true if the event is of this kind.
    #[inline(always)]
    pub fn is(self, kind: Kind) -> bool {
        self.0 >> PLACE_BITS == kind as u32
    }
    /// Converts the place to the numbering of the part that runs the node.
    #[inline(always)]
    pub fn peer(self) -> PeerIx {
        PeerIx::new(PortIx::new(self.0 & (Event::MAX_PLACES as u32 - 1)))
    }
}

impl Event {
    /// Maximum number of ports, sources and endpoints that a key can distinguish.
    pub const MAX_PLACES: usize = 1 << PLACE_BITS;

    /// Creates the event of a frame, or its head, that arrives through a port.
    #[inline(always)]
    pub fn arrival(kind: Kind, time: Time, place: impl EventPlace, frame: Frame) -> Event {
        Place::new(kind, place.place(Seal::new())).event(time, frame)
    }
    /// Creates an event without a frame.
    #[inline]
    pub fn bare(kind: Kind, time: Time, place: impl EventPlace) -> Event {
        Event::arrival(kind, time, place, Frame::default())
    }
    /// Creates the call of a limiter, which is stored in the word.
    #[inline(always)]
    pub fn limiter(time: Time, place: PlaceIx, limiter: LimiterIx) -> Event {
        Event::arrival(Kind::Limiter, time, place, Frame { word: limiter.number(), ..Frame::default() })
    }
    /// Returns the limiter of [`Event::limiter`].
    #[inline(always)]
    pub fn called_limiter(&self) -> LimiterIx {
        debug_assert!(self.is(Kind::Limiter), "the event calls no limiter");
        LimiterIx::new(self.frame.word)
    }
    /// Place of the event. Steps cannot read it: for an event scheduled for the far end of a link, it is a place of
    /// another node.
    #[inline(always)]
    pub fn place(&self, _: Whole) -> PlaceIx {
        PlaceIx::new(self.order & (Event::MAX_PLACES as u32 - 1))
    }
    /// The port of an event of a port.
    #[inline(always)]
    pub fn port(&self, whole: Whole) -> PortIx {
        self.place(whole).port()
    }
    /// Returns the event at another place.
    pub fn at(self, place: PlaceIx) -> Event {
        Event { order: self.order & !(Event::MAX_PLACES as u32 - 1) | place.number(), ..self }
    }
    /// The frame of the event: whole, its head, or lost.
    #[inline(always)]
    pub fn frame(&self) -> Frame {
        debug_assert!(self.has_frame(), "the event has no frame");
        self.frame
    }
    /// Returns true if the event concerns a frame on a link.
    #[inline]
    pub fn has_frame(&self) -> bool {
        matches!(self.kind(), Kind::Frame | Kind::Head | Kind::Broken)
    }
    /// Returns true if the event concerns a plain frame, or no frame.
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        self.frame.flags.is_unlabelled()
    }
    /// Returns the slot number of its wide frame's header, which may move.
    pub fn header_mut(&mut self) -> Option<&mut u32> {
        // A reference into a packed struct is valid because the word is aligned to four bytes.
        if self.is_wide() { Some(&mut self.frame.word) } else { None }
    }
    /// Contents of the event.
    #[inline(always)]
    pub fn what(&self) -> What {
        let frame = self.frame;
        match self.kind() {
            Kind::Decide => What::Decide,
            Kind::Pause if frame.priority() == OF_CREDITS => What::Credits(self.freed()),
            Kind::Pause if frame.priority() == LOOK => What::LookForCredits,
            Kind::Pause if frame.priority() == OF_RETRY => What::Retry(RetrySignal::unpack(frame.word)),
            Kind::Pause => What::Pause(self.pause_frame()),
            Kind::Frame => What::Frame(frame),
            Kind::Head => What::Head(frame),
            Kind::Source => What::Source,
            Kind::Renew if frame.priority() == OF_CREDITS => What::UpdateDue,
            Kind::Renew if frame.priority() == OF_RETRY => What::RetryDue,
            Kind::Renew if frame.priority() == LOOK => What::CreditsConsumed,
            Kind::Renew => What::Renew,
            Kind::Broken => What::Broken(frame, self.loss_cause()),
            Kind::Served => What::Served,
            Kind::Fault => What::Fault(self.actions()),
            Kind::Watchdog => What::Watchdog,
            Kind::Timeout if frame.word != 0 => What::News(News {
                path: frame.path,
                route: frame.route,
                every: frame.created,
                times: frame.word as u16,
            }),
            Kind::Timeout => What::Timeout,
            Kind::Limiter => What::Limiter(self.called_limiter()),
            Kind::Crossed => What::Crossed,
            Kind::Match => What::Match,
            Kind::Rank => What::Rank,
        }
    }
    /// Creates the event of a message about a path that is due.
    pub fn news(time: Time, port: PortIx, news: News) -> Event {
        let News { path, route, every, times } = news;
        Event::arrival(
            Kind::Timeout,
            time,
            port,
            Frame { created: every, path, route, word: times.into(), ..CONTROL },
        )
    }
    /// A single comparison, where [`Event::kind`] uses a table.
    #[inline(always)]
    pub fn is(&self, kind: Kind) -> bool {
        self.order >> PLACE_BITS == kind as u32
    }
    /// Returns true for [`Kind::Decide`], the lowest kind.
    #[inline(always)]
    pub fn is_decision(&self) -> bool {
        self.order < 1 << PLACE_BITS
    }
    /// Returns true if its frame carries more than a word.
    pub fn is_wide(&self) -> bool {
        let frame = self.frame;
        frame.flags.is_wide()
    }
    #[inline(always)]
    pub fn kind(&self) -> Kind {
        Kind::from_number(self.order >> PLACE_BITS)
    }
    /// Creates the event of an entry of the table of faults. `first` is the first action, `count` the number of
    /// actions.
    pub fn fault(time: Time, place: PlaceIx, first: u32, count: u32) -> Event {
        let frame = Frame { path: PathId(first), word: count, ..Frame::default() };
        Event::arrival(Kind::Fault, time, place, frame)
    }
    /// The actions of [`Event::fault`].
    fn actions(&self) -> Range<usize> {
        let (first, count) = (self.frame.path.at(), self.frame.word as usize);
        first..first + count
    }
    /// Creates the event of a frame that is lost on its way to a port, with the cause.
    pub fn broken(
        time: Time,
        port: impl EventPlace,
        frame: Frame,
        loss_cause: LossCause,
        back: bool,
    ) -> Event {
        // The frame goes no further: of its route, only the direction is needed.
        let cause = loss_cause as u32;
        let route = if back { Route::backward(cause) } else { Route::forward(cause) };
        Event::arrival(Kind::Broken, time, port, Frame { route, ..frame })
    }
    /// Returns the cause of the loss of [`Event::broken`].
    fn loss_cause(&self) -> LossCause {
        match self.frame.route.bits() & 0xFF {
            0 => LossCause::LinkDown,
            1 => LossCause::Restart,
            2 => LossCause::BitError,
            3 => LossCause::Loss,
            _ => LossCause::Retry,
        }
    }
    /// Creates the event of a pause frame: signal and quanta are stored in the word, the note of its sender in place of
    /// the time of creation.
    pub fn pause(time: Time, port: impl EventPlace, pause: PauseFrame) -> Event {
        let PauseFrame { signal, quanta, note, more } = pause;
        let word = u32::from(quanta) << 16 | u32::from(signal.xoff) << 8 | u32::from(signal.xon);
        let frame = Frame { created: Time::from_ps(note), word, bytes: more.into(), ..Frame::default() };
        Event::arrival(Kind::Pause, time, port, frame)
    }
    /// Returns the pause frame of [`Event::pause`].
    fn pause_frame(&self) -> PauseFrame {
        let Frame { created, word, bytes, .. } = self.frame;
        let signal = PauseSignal { xoff: (word >> 8) as u8, xon: word as u8 };
        PauseFrame { signal, quanta: (word >> 16) as u16, note: created.ps(), more: bytes != 0 }
    }
    /// Creates the event of a port that polls the far end of its link for credit updates.
    pub fn look_for_credits(time: Time, port: impl EventPlace) -> Event {
        Event::arrival(Kind::Pause, time, port, Frame::default().at(LOOK))
    }
    /// Creates the event of a credit update that is due.
    pub fn update_due(time: Time, port: PortIx) -> Event {
        Event::arrival(Kind::Renew, time, port, Frame::default().at(OF_CREDITS))
    }
    /// Creates the event of the sending end of a port's link that reports the number of credits it has consumed.
    pub fn credits_consumed(time: Time, port: PortIx) -> Event {
        Event::arrival(Kind::Renew, time, port, Frame::default().at(LOOK))
    }
    /// Creates the event of a link-level retry signal that arrives at a port.
    pub fn retry(time: Time, port: impl EventPlace, signal: RetrySignal) -> Event {
        Event::arrival(
            Kind::Pause,
            time,
            port,
            Frame { word: signal.pack(), ..Frame::default().at(OF_RETRY) },
        )
    }
    /// Creates the event of a link-level retry timer that may have expired.
    pub fn retry_due(time: Time, port: PortIx) -> Event {
        Event::arrival(Kind::Renew, time, port, Frame::default().at(OF_RETRY))
    }
    /// Creates the event of a credit update, with fifteen bits per channel: four channels in place of the time of
    /// creation, two each in place of path and route. The bank of counters is stored in place of the length. Not part
    /// of a fingerprint, since most updates are polled and are no event.
    pub fn update(time: Time, port: impl EventPlace, freed: Freed) -> Event {
        let [a, b, c, d, e, f, g, h] = freed.counts.map(u64::from);
        let (created, path, route) = (a | b << 16 | c << 32 | d << 48, e | f << 16, g | h << 15);
        let frame = Frame {
            created: Time::from_ps(created),
            path: PathId(path as u32),
            route: Route::forward(route as u32),
            bytes: u16::from(freed.bank),
            flags: Flags::default().at(OF_CREDITS),
            ..Frame::default()
        };
        Event::arrival(Kind::Pause, time, port, frame)
    }
    /// Returns the counters of [`Event::update`].
    fn freed(&self) -> Freed {
        let frame = self.frame;
        let (created, path, route) = (frame.created.ps(), frame.path.0, frame.route.bits());
        let (path, route) = (u64::from(path), u64::from(route));
        let all =
            [created, created >> 16, created >> 32, created >> 48, path, path >> 16, route, route >> 15];
        Freed { counts: all.map(|count| count as u16 & 0x7FFF), bank: frame.bytes as u8 }
    }
    /// Digest of the event without its time, for the fingerprint of a trajectory. The caller passes the kind, the
    /// number of the place in the whole fabric, and the headers.
    #[inline(always)]
    pub fn digest(&self, kind: Kind, place: u32, headers: &Headers) -> u64 {
        let frame = self.frame;
        let (path, bytes, hop) = match kind {
            Kind::Pause => (frame.word >> 8 & 0xFF, frame.word >> 16, frame.word & 0xFF),
            Kind::Fault => (frame.path.0, 0, frame.word),
            _ => (frame.path.0, u32::from(frame.bytes), frame.route.bits()),
        };
        let words = u64::from(path) << 32 | u64::from(bytes) << 16 | u64::from(hop) & 0xFFFF;
        let place = u64::from(place) << 8 | kind as u64;
        let digest = words.rotate_left(17) ^ place;
        // Plain frames omit this word: their priority and direction follow from the path.
        if !frame.flags.is_unlabelled() && !matches!(kind, Kind::Pause | Kind::Fault) {
            return digest ^ carried(frame.word, frame.flags, headers);
        }
        digest
    }
}

/// Digest of the word and flags of a frame; passed by value, so that the frame need not be copied to memory again.
#[inline(always)]
fn carried(word: u32, flags: Flags, headers: &Headers) -> u64 {
    let word = if flags.is_wide() { carried_in_header(word, headers) } else { without_number(word, flags) };
    let carried = word << 8 ^ flags.digest();
    (carried ^ u64::from(flags.priority().0) << 48).wrapping_mul(0xc2b2_ae3d_27d4_eb4f)
}

/// Returns a word without the packet number, which grows from period to period.
#[inline(always)]
fn without_number(word: u32, flags: Flags) -> u64 {
    u64::from(if flags.is_of_endpoint() { word >> Frame::NUMBER_BITS } else { word })
}

/// Variant of `carried` for data in a header.
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
    use crate::run::state::headers::Carried;
    use frame::{Ecn, FrameKind, Header, TcpHeader};

    fn frame() -> Frame {
        Frame {
            path: PathId(7),
            route: Route::forward(9),
            bytes: 64,
            flags: Flags::default().at(Priority(5)),
            ..Frame::default()
        }
    }

    #[test]
    fn a_broken_frame_knows_why() {
        let causes =
            [LossCause::LinkDown, LossCause::Restart, LossCause::BitError, LossCause::Loss, LossCause::Retry];
        for loss_cause in causes {
            for back in [false, true] {
                let event = Event::broken(Time::from_ns(1), PortIx::new(3), frame(), loss_cause, back);
                let broken = event.frame;
                let What::Broken(found, cause) = event.what() else { panic!("{event:?}") };
                assert_eq!(
                    (cause, found, broken.priority(), broken.path),
                    (loss_cause, broken, Priority(5), PathId(7))
                );
                assert_eq!(matches!(broken.route.heading(), frame::Heading::Backward(_)), back);
            }
        }
        assert_eq!(Event::fault(Time::ZERO, PlaceIx::new(1), 4, 3).what(), What::Fault(4..7));
    }

    #[test]
    fn a_pause_says_what_it_was_made_from() {
        let signal = PauseSignal { xoff: 0x81, xon: 0x18 };
        for more in [false, true] {
            let pause = PauseFrame { signal, quanta: 0xFEDC, note: u64::MAX - 5, more };
            assert_eq!(Event::pause(Time::from_ns(1), PortIx::new(3), pause).what(), What::Pause(pause));
        }
    }

    #[test]
    fn an_update_says_what_it_was_made_from() {
        let counts = [0, 1, 0x7FFF, 3, 0x7FFF, 5, 0x7FFE, 0x7FFF];
        let freed = Freed { counts, bank: 0 };
        let event = Event::update(Time::from_ns(1), PortIx::new(3), freed);
        assert_eq!((event.what(), event.kind()), (What::Credits(freed), Kind::Pause));
        let bypass = Freed { bank: 1, ..freed };
        assert_eq!(Event::update(Time::ZERO, PortIx::new(3), bypass).what(), What::Credits(bypass));
        assert_eq!(Event::look_for_credits(Time::ZERO, PortIx::new(3)).what(), What::LookForCredits);
        assert_eq!(Event::update_due(Time::ZERO, PortIx::new(3)).what(), What::UpdateDue);
        assert_eq!(Event::bare(Kind::Renew, Time::ZERO, PortIx::new(3)).what(), What::Renew);
    }

    #[test]
    fn news_and_calls_say_what_they_were_made_from() {
        let news =
            News { path: PathId(7), route: Route::forward(9), every: Time::from_ns(3), times: u16::MAX };
        assert_eq!(Event::news(Time::ZERO, PortIx::new(3), news).what(), What::News(news));
        assert_eq!(Event::bare(Kind::Timeout, Time::ZERO, PlaceIx::new(3)).what(), What::Timeout);
        let limiter = LimiterIx::new(70_000);
        assert_eq!(Event::limiter(Time::ZERO, PlaceIx::new(3), limiter).what(), What::Limiter(limiter));
    }

    #[test]
    fn kind_and_place_are_the_order() {
        for kind in (0..=14).map(Kind::from_number) {
            let event = Event::bare(kind, Time::ZERO, PlaceIx::new(4_194_303));
            assert_eq!((event.kind(), event.order % (1 << PLACE_BITS)), (kind, 4_194_303));
            assert!(engine::Event::order(&event) < 1 << 26);
        }
    }

    #[test]
    fn what_a_frame_carries_is_part_of_the_fingerprint() {
        let digest_with = |frame, headers: &Headers| {
            Event::arrival(Kind::Frame, Time::from_ns(9), PlaceIx::new(1), frame).digest(
                Kind::Frame,
                1,
                headers,
            )
        };
        let digest = |frame| digest_with(frame, &Headers::default());
        let data =
            Frame { flags: Flags::new(FrameKind::Data, Ecn::Capable).at(Priority(5)), word: 1, ..frame() };
        let marked = Frame { flags: Flags::new(FrameKind::Data, Ecn::Experienced).at(Priority(5)), ..data };
        let others =
            [frame(), data, marked, Frame { word: 1 << Frame::NUMBER_BITS, ..data }, data.at(Priority(1))];
        for (n, one) in others.iter().enumerate() {
            assert!(others[..n].iter().all(|&other| digest(other) != digest(*one)));
        }
        // Packet numbers grow from period to period.
        assert_eq!(digest(data), digest(Frame { word: 2, ..data }));
        // The contents of a header count, not its slot.
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
