//! Rate limiters at work: where the controls of `queueing` meet the NICs of hosts.
//!
//! A limiter stands between those who send and the queue of their class in the NIC. What sources push waits in it;
//! endpoints stand in line at it. If its frames have several priorities, the highest go first.
//!
//! The NIC pulls from limiters as it does from endpoints: by turns, while less than a frame or two of theirs wait in
//! the class. So what waits above a limiter does not fill the NIC, and a slow limiter holds back nobody else. After
//! each frame a limiter is closed for as long as the frame takes at its rate, line overhead included. A change of the
//! rate holds from the next frame on.
//!
//! A control that asks about a path does so when the limiter holds something, with a control frame that goes ahead of
//! it.
//!
//! A limiter that has held something without a break for `mark_after` marks what leaves it, so that those above slow
//! down before their windows are full: the transport hears of the backlog in its own words. A break is a time in which
//! the limiter could have sent and had nothing to send.
//!
//! Either end of a connection has a limiter at its host. Congestion messages for one end of a path and tags that come back
//! to it are told to its limiter, and to nobody else.

use crate::run::endpoint_state::EndpointState;
use crate::run::endpoint_state::Pulled;
use crate::run::event::{Event, Kind, Queued};
use crate::run::limiter_line::{LimiterLine, Next};
use crate::run::limiter_places::NextFrame;
use crate::run::pool::{List, NIL};
use crate::run::world::Fabric;
use crate::spec::LimiterSpec;
use engine::Stream;
use frame::{Frame, NodeId, Occupancy, PathId, PointId, Priority, Route, Tag, TrafficClass};
use measure::{Latency, Sojourns};
use queueing::{PathFacts, RateConfiguration, RateControl, RateControls, Told};
use rand_xoshiro::rand_core::Rng;
use transport::{Pacer, Protocol};
use units::{BitRate, Time};

/// Whose limiter it is, and what passes it.
#[derive(Debug)]
pub(crate) struct Planned {
    pub host: NodeId,
    /// The highest of its frames.
    pub priority: Priority,
    /// The name of a flow; or a priority or a destination, or both.
    pub name: String,
}

/// Marks a limiter among the endpoints that stand in line at a NIC.
pub(crate) const LIMITER: u32 = 1 << 31;

/// A rate limiter of a host.
#[derive(Debug)]
pub(crate) struct Limiter {
    /// Its number in the whole fabric, its host there, and what passes it.
    pub number: u32,
    pub host: NodeId,
    pub name: String,
    /// The highest priority of its frames; and the lowest of those that it has sent since it last asked about its path.
    pub priority: Priority,
    lowest_sent: Option<Priority>,
    /// The rate of the link.
    link: BitRate,
    control: RateControls,
    random: Stream,
    pub pacer: Pacer,
    /// Who waits in it.
    pub line: LimiterLine,
    pub occupancy: Occupancy,
    pub sojourns: Sojourns,
    /// The earliest pending call.
    wakes_at: Time,
    /// Where it stands in line at a NIC, and since when.
    pub stands: Option<(u32, TrafficClass)>,
    pub in_line_since: Time,
    /// After how long without a break frames are marked, if ever; and when the last break ended.
    mark_after: Option<Time>,
    busy_since: Time,
    pub measured: LimiterMeasured,
}

/// What a limiter has measured.
#[derive(Clone, Debug, Default)]
pub(crate) struct LimiterMeasured {
    /// Time from a congestion message to its arrival.
    pub messages: Latency,
    /// The lowest rate that it had after a message.
    pub lowest: Option<BitRate>,
    pub frames: u64,
    pub bytes: u64,
    /// Frames that it has marked.
    pub marks: u64,
    /// Tags put on frames or sent alone, and those that came back.
    pub tags_sent: u64,
    pub tags_returned: u64,
    /// What each congestion point has done to its rate.
    pub slowed: Vec<(PointId, Slowed)>,
}

/// What a congestion point has done to the rate of a limiter.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slowed {
    /// Whether it measures all that waits at its port, and not one class.
    pub of_port: bool,
    /// How often it has lowered the rate.
    pub times: u64,
    /// All cuts together, in bits a second.
    pub cut: u64,
    /// The lowest rate that it left, in bits a second.
    pub lowest: u64,
}

impl LimiterMeasured {
    /// A congestion point, of one class or of a whole port, has changed the rate.
    fn note_change(&mut self, (point, of_port): (PointId, bool), before: BitRate, after: BitRate) {
        let Some(cut) = before.bps().checked_sub(after.bps()).filter(|&cut| cut > 0) else { return };
        let place = match self.slowed.binary_search_by_key(&point, |&(other, _)| other) {
            Ok(place) => place,
            Err(place) => {
                self.slowed.insert(place, (point, Slowed { of_port, lowest: u64::MAX, ..Slowed::default() }));
                place
            }
        };
        let slowed = &mut self.slowed[place].1;
        slowed.times += 1;
        slowed.cut += cut;
        slowed.lowest = slowed.lowest.min(after.bps());
    }
}

impl Limiter {
    pub fn new(number: u32, of: &Planned, spec: &LimiterSpec, link: BitRate, random: Stream) -> Limiter {
        Limiter {
            number,
            host: of.host,
            name: of.name.clone(),
            priority: of.priority,
            lowest_sent: None,
            link,
            control: spec.control.start(link),
            random,
            pacer: Pacer::default(),
            line: LimiterLine::new(),
            occupancy: Occupancy::default(),
            sojourns: Sojourns::default(),
            wakes_at: Time::NEVER,
            stands: None,
            in_line_since: Time::ZERO,
            mark_after: spec.mark_after,
            busy_since: Time::ZERO,
            measured: LimiterMeasured::default(),
        }
    }

    /// The rate that it may send at.
    pub fn rate(&self) -> BitRate {
        self.control.rate().unwrap_or(self.link)
    }

    /// The lowest rate that a message has left it; that of the link if none came.
    pub fn lowest_rate(&self) -> BitRate {
        self.measured.lowest.unwrap_or(self.link)
    }

    /// What it knows of its path.
    pub fn path(&self) -> Option<PathFacts> {
        self.control.path()
    }

    /// The name of its control.
    pub fn control_name(&self) -> &'static str {
        self.control.name()
    }

    /// The frames that wait in it, by priority.
    pub fn lists(&self) -> &[List] {
        self.line.lists()
    }

    fn holds_something(&self) -> bool {
        self.line.next().is_some()
    }

    /// Whether a frame that comes now leaves at once, if its NIC takes it: nothing waits, nothing holds it back, and
    /// nobody has to be called before.
    fn is_idle(&self, now: Time) -> bool {
        !self.holds_something()
            && self.stands.is_none()
            && self.pacer.opens_at().is_none_or(|at| at <= now)
            && self.control.next_probe().is_none()
            && self.control.poll_timeout().is_none_or(|at| at.max(now) >= self.wakes_at)
            && self.stopped_until(now).is_none()
    }

    /// Something comes: a break ends if it could have left at once.
    fn holds_from(&mut self, now: Time) {
        let is_open = self.pacer.opens_at().is_none_or(|at| at <= now);
        if is_open && !self.holds_something() {
            self.busy_since = now;
        }
    }

    /// Whether a frame that leaves now is marked.
    fn marks(&self, now: Time) -> bool {
        self.mark_after.is_some_and(|after| now - self.busy_since >= after)
    }

    /// The tag of the frame that leaves now, and its length.
    fn tag(&mut self, now: Time) -> Option<(Tag, u8)> {
        let tag = self.control.tag(now);
        self.measured.tags_sent += u64::from(tag.is_some());
        tag
    }

    /// A frame leaves, which takes `wire_bytes` on the link with what is around it.
    fn sent(&mut self, priority: Priority, now: Time, bytes: u16, wire_bytes: u16) {
        self.lowest_sent = self.lowest_sent.into_iter().chain([priority]).min();
        let last = !self.holds_something();
        self.measured.frames += 1;
        self.measured.bytes += u64::from(bytes);
        self.pacer.on_send(now, wire_bytes, self.control.rate());
        let random = &mut self.random;
        self.control.on_sent(now, bytes, last, &mut || random.next_u64());
    }

    /// An endpoint stands at it no more.
    pub fn leave(&mut self, endpoint: u32) {
        self.line.leave(endpoint);
    }

    /// Until when nothing leaves it, if that is not over.
    pub fn stopped_until(&self, now: Time) -> Option<Time> {
        self.control.stopped_until().filter(|&until| until > now)
    }

    /// When it wants to be called.
    fn next_call(&self, now: Time) -> Option<Time> {
        let opens = self.pacer.opens_at().max(self.stopped_until(now));
        let asks = opens.into_iter().chain(self.control.next_probe());
        let asks = asks.filter(|_| self.holds_something());
        asks.chain(self.control.poll_timeout()).min()
    }

    /// Bytes of its tables.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Limiter>()
            + self.line.memory_bytes()
            + self.measured.messages.memory_bytes()
            + self.measured.slowed.capacity() * size_of::<(PointId, Slowed)>()
    }
}

impl Fabric {
    /// The limiter that the frames from the near end of a path pass.
    #[inline]
    pub fn limiter_of(&self, path: PathId) -> Option<u32> {
        self.limiter_at(path, false)
    }

    /// The limiter that the frames from one end of a path pass.
    #[inline]
    pub fn limiter_at(&self, path: PathId, far: bool) -> Option<u32> {
        let ends = self.hosts.limiters_of_path.get(path.at())?;
        Some(ends[usize::from(far)]).filter(|&nth| nth != NIL)
    }

    /// A source hands a frame to a limiter.
    #[inline(never)]
    pub fn limit(&mut self, nth: u32, frame: Frame, now: Time, windows: &mut Queued) {
        if self.hosts.limiters[nth as usize].is_idle(now) && self.probes.limiter_rates.is_empty() {
            let egress = self.routes.first_port(frame.path.0);
            let class = self.links.ports[egress as usize].classes.class(frame.priority);
            if self.takes_at_once(egress, class) {
                return self.pass_limiter(nth, (egress, class), frame, now, windows);
            }
        }
        let limiter = &mut self.hosts.limiters[nth as usize];
        limiter.holds_from(now);
        limiter.occupancy.add(frame.bytes);
        limiter.sojourns.enter(limiter.occupancy.both());
        self.buffers.pool.push(limiter.line.push_to(frame.priority), &frame, now, NIL);
        self.update_limiter(nth, now, windows);
    }

    /// A frame passes a limiter in which nothing waits, and goes to a NIC that takes it: what would come of it if it entered,
    /// stood in line and was pulled, without these steps.
    fn pass_limiter(
        &mut self,
        nth: u32,
        (egress, class): (u32, TrafficClass),
        mut frame: Frame,
        now: Time,
        windows: &mut Queued,
    ) {
        let overhead = self.links.ports[egress as usize].overhead;
        let limiter = &mut self.hosts.limiters[nth as usize];
        limiter.busy_since = now;
        limiter.pacer.handle_timeout(now);
        limiter.sojourns.enter([frame.bytes.into(), 1]);
        if let Some((tag, bytes)) = limiter.tag(now) {
            self.headers.tag(&mut frame, tag, bytes);
        }
        limiter.sent(frame.priority, now, frame.bytes, frame.bytes.saturating_add(overhead));
        if limiter.control.poll_timeout().is_some_and(|at| at.max(now) < limiter.wakes_at) {
            self.wake_limiter(nth, now, windows);
        }
        self.count_pulled(egress, class);
        self.depart(egress, frame, now, windows);
    }

    /// An endpoint whose frames pass a limiter has something to send: the port and class where that now stands in line.
    #[inline(never)]
    pub fn stand_at_limiter(
        &mut self,
        nth: u32,
        endpoint: u32,
        now: Time,
        windows: &mut Queued,
    ) -> Option<(u32, TrafficClass)> {
        let state = &mut self.hosts.endpoints[endpoint as usize];
        state.in_line = true;
        let priority = state.priority;
        let limiter = &mut self.hosts.limiters[nth as usize];
        limiter.holds_from(now);
        limiter.line.come(priority, endpoint);
        self.wake_limiter(nth, now, windows);
        self.limiter_in_line(nth, now)
    }

    /// A congestion message that was sent then, or a tag, has come for the source of a path.
    pub fn on_limiter_message(&mut self, nth: u32, told: Told, sent: Time, now: Time, windows: &mut Queued) {
        let Limiter { control, measured, link, .. } = &mut self.hosts.limiters[nth as usize];
        let point = match told {
            Told::Message(notice) => Some((notice.point, false)),
            Told::Returned(Tag::Rate(written)) => written.map(|(_, point)| (point, false)),
            Told::Returned(Tag::Path(news)) => news.at.map(|(point, _)| (point, true)),
            Told::Returned(Tag::Limited(_)) => None,
        };
        let before = control.rate().unwrap_or(*link);
        match told {
            Told::Message(_) => measured.messages.record(now - sent),
            Told::Returned(_) => measured.tags_returned += 1,
        }
        let after = self.tell_limiter(nth, told, now);
        if let Some(point) = point {
            self.hosts.limiters[nth as usize].measured.note_change(point, before, after);
        }
        self.update_limiter(nth, now, windows);
    }

    /// The control of a limiter is told something: the rate that it then has.
    pub fn tell_limiter(&mut self, nth: u32, told: Told, now: Time) -> BitRate {
        let Limiter { control, random, measured, link, .. } = &mut self.hosts.limiters[nth as usize];
        control.on_told(now, told, &mut || random.next_u64());
        measured.lowest = measured.lowest.into_iter().chain(control.rate()).min();
        control.rate().unwrap_or(*link)
    }

    /// A limiter asked to be called now.
    pub fn limiter_due(&mut self, nth: u32, now: Time, windows: &mut Queued) {
        let Limiter { control, random, wakes_at, .. } = &mut self.hosts.limiters[nth as usize];
        // An event that a later wish has overtaken.
        if *wakes_at != now {
            return;
        }
        *wakes_at = Time::NEVER;
        if control.poll_timeout().is_some_and(|at| at <= now) {
            control.handle_timeout(now, &mut || random.next_u64());
        }
        self.update_limiter(nth, now, windows);
    }

    /// Something has happened to a limiter: sets its timer, and lets it stand in line if it may send.
    pub fn update_limiter(&mut self, nth: u32, now: Time, windows: &mut Queued) {
        self.ask_path(nth, now, windows);
        let place = self.limiter_in_line(nth, now);
        self.wake_limiter(nth, now, windows);
        if let Some((egress, class)) = place {
            self.pull(egress, class, now, windows);
        }
    }

    /// A limiter that is due to asks about the path of its next frame.
    fn ask_path(&mut self, nth: u32, now: Time, windows: &mut Queued) {
        let limiter = &self.hosts.limiters[nth as usize];
        if limiter.control.next_probe().is_none_or(|at| at > now) || !limiter.holds_something() {
            return;
        }
        let Some(next) = self.next_of_limiter(nth) else { return };
        let Some(way) = self.way_of_next(&next) else { return };
        let limiter = &mut self.hosts.limiters[nth as usize];
        let Some(probe) = limiter.control.probe(now) else { return };
        limiter.measured.tags_sent += 1;
        let lowest = limiter.lowest_sent.take().unwrap_or(next.priority);
        let priority = probe.priority.map_or(lowest, Priority);
        self.send_probe(next.path, way, priority, probe.news, now, windows);
    }

    /// Schedules the next call of a limiter, unless one is pending that is not later: then it is looked at anew.
    fn wake_limiter(&mut self, nth: u32, now: Time, windows: &mut Queued) {
        let first = self.links.len() + self.hosts.sources.len() + self.hosts.endpoints.len();
        let limiter = &mut self.hosts.limiters[nth as usize];
        if let Some(rates) = self.probes.limiter_rates.get_mut(nth as usize) {
            rates.set(now, limiter.rate().bps());
        }
        let next = limiter.next_call(now).map(|at| at.max(now));
        if let Some(at) = next.filter(|&at| at < limiter.wakes_at) {
            limiter.wakes_at = at;
            windows.push(Event::bare(Kind::Timeout, at, first as u32 + nth));
        }
    }

    /// Whether a message has stopped a limiter, perhaps while it stood in line.
    fn is_stopped(&self, nth: u32, now: Time) -> bool {
        self.hosts.limiters[nth as usize].stopped_until(now).is_some()
    }

    /// Takes the next frame out of a limiter for a class of a port, and lets it stand in line again if it may: where. No
    /// frame if the limiter is stopped, or if the next one leaves elsewhere: it is not the one any more that the limiter
    /// stood in line for.
    pub fn take_from_limiter(
        &mut self,
        nth: u32,
        (egress, class): (u32, TrafficClass),
        now: Time,
        windows: &mut Queued,
    ) -> (Option<Pulled>, Option<(u32, TrafficClass)>) {
        self.limiter_left_line(nth);
        let stays = |next: &NextFrame| self.leaves_at(next, (egress, class));
        let next = self.next_of_limiter(nth).filter(|_| !self.is_stopped(nth, now)).filter(stays);
        let Some(NextFrame { priority, .. }) = next else { return (None, self.limiter_in_line(nth, now)) };
        let overhead = self.links.ports[egress as usize].overhead;
        let limiter = &mut self.hosts.limiters[nth as usize];
        let mut endpoint = None;
        let pulled = match limiter.line.next() {
            Some(Next::Endpoint(_, from)) => {
                endpoint = Some(from);
                limiter.line.take_endpoint();
                let state: &mut EndpointState = &mut self.hosts.endpoints[from as usize];
                state.in_line = false;
                let marked = limiter.marks(now);
                let tagged = |segment| Pulled::Segment(from, segment, limiter.tag(now), marked);
                state.endpoint.poll_transmit(now).map(tagged)
            }
            _ => self.pop_limited(nth, priority, now).map(|frame| self.tagged_by(nth, frame, now)),
        };
        if let Some(pulled) = &pulled {
            let bytes = pulled.bytes();
            let limiter = &mut self.hosts.limiters[nth as usize];
            limiter.measured.marks += u64::from(pulled.is_marked());
            limiter.sent(priority, now, bytes, bytes.saturating_add(overhead));
        }
        let mut place = None;
        if let Some(endpoint) = endpoint {
            place = self.endpoint_was_pulled(endpoint, now, windows);
        }
        let place = place.or_else(|| self.limiter_in_line(nth, now));
        self.wake_limiter(nth, now, windows);
        (pulled, place)
    }

    /// A frame that leaves a limiter, with the tag that it gets there.
    fn tagged_by(&mut self, nth: u32, mut frame: Frame, now: Time) -> Pulled {
        let limiter = &mut self.hosts.limiters[nth as usize];
        if limiter.marks(now) {
            let _ = frame.flags.mark();
        }
        if let Some((tag, bytes)) = limiter.tag(now) {
            self.headers.tag(&mut frame, tag, bytes);
        }
        Pulled::Frame(frame)
    }

    /// The first frame of a priority that waits in a limiter, on the way that its path takes now.
    fn pop_limited(&mut self, nth: u32, priority: Priority, now: Time) -> Option<Frame> {
        let limiter = &mut self.hosts.limiters[nth as usize];
        if limiter.line.list(priority).is_empty() {
            return None;
        }
        let waiting = limiter.line.take(priority, |list| self.buffers.pool.pop(list));
        let mut frame = waiting.frame;
        limiter.occupancy.remove(frame.bytes);
        limiter.sojourns.leave(frame.bytes, now - waiting.since);
        let start = self.routes.path_start[frame.path.at()];
        // What goes by destination keeps it.
        if frame.route.next_hop().is_some() {
            frame.route = Route::forward(start + 1);
        }
        Some(frame)
    }
}
