//! Crossbars at work: from the input of a frame to the queue of its egress port.
//!
//! A frame that comes through a port waits at that input until it is matched with its output (`queueing::Arbiter`). It
//! then crosses; when it has crossed it comes to the queue of its egress port as in a switch without a crossbar, as if it
//! began its way there: what counts where frames came in from has let go of it when it began to cross. A cut-through
//! switch hands it over when it begins to cross, as its latency contains the way of the head; input and output are busy
//! until all of it has come and crossed.
//!
//! Pauses count a frame where it came in until it begins to cross; queue managers, outages and watchdogs meet it at its output.
//!
//! The room of an output counts what crosses and what waits there. A frame that the switch itself sends, or that goes to
//! the link at once, takes room as all others.

use crate::run::architecture::{Architecture, NodeMemory};
use crate::run::event::{Event, Kind, Queued};
use crate::run::losses::Cause;
use crate::run::pool::{List, NIL, Pool, Waiting};
use crate::run::port::{HEAD_BYTES, Hooks};
use crate::run::world::Fabric;
use engine::Timer;
use flow_control::pfc::Counted;
use frame::{Frame, Occupancy, TrafficClass};
use measure::{Latency, Sojourns};
use queueing::{Arbiter, CrossbarKeys, Crossing, Inputs, Room};
use units::{BitRate, Time};

/// The crossbar of a switch, and what waits at its inputs.
#[derive(Debug)]
pub(crate) struct Crossbar {
    /// What is counted of what waits at outputs.
    pub memory: NodeMemory,
    keys: CrossbarKeys,
    ports: usize,
    classes: usize,
    first_port: u32,
    /// Whether a frame is handed over when it begins to cross.
    cuts_through: bool,
    /// The rate of the fastest link of the switch.
    rate: BitRate,
    /// The longest frame of the fabric.
    longest: u64,
    arbiter: Arbiter,
    /// By input, output and class; with FIFO inputs by input and class.
    lists: Vec<List>,
    /// By input and output, the classes whose next frame wants to cross.
    wants: Vec<u32>,
    /// By output, how many inputs have a frame for it.
    wanted: Vec<u32>,
    /// By output, who crosses to it.
    crossing: Vec<Option<Underway>>,
    /// By input, whether it sends.
    sends: Vec<bool>,
    /// By output and class, bytes that cross or wait there.
    held: Vec<u64>,
    pub inputs: Vec<Input>,
    /// The next match.
    matching: Timer,
    /// By input and output, the classes that may cross; by output, whether there are any. Outputs that nobody asks for
    /// have no requests of their own.
    requests: Vec<u32>,
    asked: Vec<bool>,
    matches: Vec<Crossing>,
}

/// What has waited at an input.
#[derive(Clone, Debug, Default)]
pub(crate) struct Input {
    pub occupancy: Occupancy,
    pub sojourns: Sojourns,
    pub waits: Latency,
    pub frames: u64,
}

/// A frame that crosses, unless it has been handed over already.
#[derive(Clone, Copy, Debug)]
struct Underway {
    input: usize,
    frame: Option<(Frame, TrafficClass)>,
}

/// What a crossbar has to know of its switch.
pub(crate) struct SwitchFacts {
    pub ports: usize,
    pub classes: usize,
    pub first_port: u32,
    pub cuts_through: bool,
    pub rate: BitRate,
    pub longest: u64,
}

impl Crossbar {
    /// Nothing waits.
    pub fn new(keys: CrossbarKeys, switch: &SwitchFacts, memory: NodeMemory) -> Crossbar {
        let SwitchFacts { ports, classes, first_port, cuts_through, rate, longest } = *switch;
        let queues = match keys.inputs {
            Inputs::VirtualOutput => ports,
            Inputs::Fifo => 1,
        };
        Crossbar {
            memory,
            ports,
            classes,
            first_port,
            cuts_through,
            rate,
            longest,
            arbiter: Arbiter::new(&keys, ports),
            lists: vec![List::EMPTY; ports * queues * classes],
            wants: vec![0; ports * ports],
            wanted: vec![0; ports],
            crossing: vec![None; ports],
            sends: vec![false; ports],
            held: vec![0; ports * classes],
            inputs: vec![Input::default(); ports],
            matching: Timer::IDLE,
            requests: vec![0; ports * ports],
            asked: vec![false; ports],
            matches: Vec::new(),
            keys,
        }
    }

    fn list(&self, input: usize, output: usize, class: usize) -> usize {
        match self.keys.inputs {
            Inputs::VirtualOutput => (input * self.ports + output) * self.classes + class,
            Inputs::Fifo => input * self.classes + class,
        }
    }

    /// The next frame of a class of an input wants to cross to an output.
    fn want(&mut self, input: usize, output: usize, class: u8) {
        let wants = &mut self.wants[input * self.ports + output];
        self.wanted[output] += u32::from(*wants == 0);
        *wants |= 1 << class;
    }

    /// It crosses.
    fn want_no_more(&mut self, input: usize, output: usize, class: u8) {
        let wants = &mut self.wants[input * self.ports + output];
        *wants &= !(1 << class);
        self.wanted[output] -= u32::from(*wants == 0);
    }

    /// The classes of an output that have room for the longest frame; all, if each frame is looked at.
    fn roomy(&self, output: usize) -> u32 {
        if self.keys.room == Room::Frame {
            return u32::MAX;
        }
        let held = &self.held[output * self.classes..][..self.classes];
        let room = self.keys.output_buffer.get();
        held.iter().rev().fold(0, |set, held| set << 1 | u32::from(held + self.longest <= room))
    }

    /// Those of these classes whose next frame fits into the buffer of the output.
    fn that_fit(&self, mut classes: u32, input: usize, output: usize, pool: &Pool) -> u32 {
        let mut left = classes;
        while left != 0 {
            let class = left.trailing_zeros() as usize;
            left &= left - 1;
            let needs = u64::from(pool.head(&self.lists[self.list(input, output, class)]).bytes);
            if self.held[output * self.classes + class] + needs > self.keys.output_buffer.get() {
                classes &= !(1 << class);
            }
        }
        classes
    }

    /// How long a frame takes to cross.
    fn takes(&self, bytes: u16) -> Time {
        let link = u128::from(bytes) * 8_000_000_000_000;
        Time::from_ps(self.keys.speedup.of(link.div_ceil(u128::from(self.rate.bps())) as u64))
    }

    /// Begins measuring `now`: levels as they are, counts at zero.
    pub fn restart(&mut self, pool: &Pool, now: Time) {
        let each = self.lists.len() / self.ports;
        for (input, lists) in self.inputs.iter_mut().zip(self.lists.chunks(each)) {
            let inside: Vec<_> = of(pool, lists).collect();
            input.sojourns.restart(now, input.occupancy.both(), inside.into_iter());
            input.waits.clear();
            input.frames = 0;
        }
    }

    /// What waits at an input: since when, and how long it is.
    pub fn waiting_at<'a>(&'a self, input: usize, pool: &'a Pool) -> impl Iterator<Item = (Time, u16)> + 'a {
        let each = self.lists.len() / self.ports;
        of(pool, &self.lists[input * each..][..each])
    }

    /// The output and class that most bytes of these classes at an input wait for: who waits behind another frame waits
    /// for its output.
    pub fn most_wanted(&self, ingress: u32, classes: u32, pool: &Pool) -> Option<(u32, TrafficClass)> {
        let each = self.lists.len() / self.ports;
        let own = &self.lists[(ingress - self.first_port) as usize * each..][..each];
        let wanted = own
            .iter()
            .enumerate()
            .filter(|(at, list)| classes >> (at % self.classes) & 1 != 0 && !list.is_empty());
        let bytes = |list: &List| pool.iter(list).map(|one| u64::from(one.frame.bytes)).sum::<u64>();
        let most = wanted.max_by_key(|(at, list)| (bytes(list), std::cmp::Reverse(*at)))?;
        Some((pool.first(most.1).ingress, TrafficClass((most.0 % self.classes) as u8)))
    }

    /// Whether the longest frame of a class would find room at an output.
    pub fn has_room(&self, egress: u32, class: TrafficClass) -> bool {
        let held = self.held[(egress - self.first_port) as usize * self.classes + class.at()];
        held + self.longest <= self.keys.output_buffer.get()
    }

    /// What waits at inputs for a class of an output.
    pub fn waiting_for<'a>(
        &'a self,
        egress: u32,
        class: TrafficClass,
        pool: &'a Pool,
    ) -> impl Iterator<Item = &'a Waiting> {
        let output = (egress - self.first_port) as usize;
        let lists = (0..self.ports).map(move |input| &self.lists[self.list(input, output, class.at())]);
        lists.flat_map(|list| pool.iter(list)).filter(move |one| one.ingress == egress)
    }

    /// What waits at inputs, or behind frames that wait, for an output without room: each with the port it came through.
    pub fn stuck_behind<'a>(
        &'a self,
        egress: u32,
        class: TrafficClass,
        pool: &'a Pool,
    ) -> impl Iterator<Item = (u32, &'a Waiting)> {
        let output = (egress - self.first_port) as usize;
        let held = self.held[output * self.classes + class.at()];
        let stuck = move |list: &List| {
            let needs = match self.keys.room {
                Room::Frame => u64::from(pool.head(list).bytes),
                Room::Longest => self.longest,
            };
            pool.first(list).ingress == egress && held + needs > self.keys.output_buffer.get()
        };
        let lists =
            (0..self.ports).map(move |input| (input, &self.lists[self.list(input, output, class.at())]));
        let stuck = lists.filter(move |(_, list)| !list.is_empty() && stuck(list));
        stuck.flat_map(move |(input, list)| {
            pool.iter(list).map(move |one| (self.first_port + input as u32, one))
        })
    }

    /// The lists of what waits at its inputs.
    pub fn lists(&self) -> &[List] {
        &self.lists
    }

    /// Frames that cross and are nowhere else.
    pub fn frames_underway(&self) -> impl Iterator<Item = &Frame> {
        self.crossing.iter().flatten().filter_map(|underway| underway.frame.as_ref()).map(|(frame, _)| frame)
    }

    /// Frames that wait at inputs.
    pub fn frames_waiting(&self) -> u64 {
        self.inputs.iter().map(|input| input.occupancy.frames).sum()
    }

    /// Frames that wait at inputs or cross.
    pub fn frames_inside(&self) -> u64 {
        self.frames_waiting() + self.frames_underway().count() as u64
    }

    /// Bytes of its tables and histograms.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Crossbar>()
            + self.arbiter.memory_bytes()
            + self.lists.capacity() * size_of::<List>()
            + (self.wants.capacity() + self.wanted.capacity() + self.requests.capacity()) * size_of::<u32>()
            + self.asked.capacity()
            + self.crossing.capacity() * size_of::<Option<Underway>>()
            + self.held.capacity() * size_of::<u64>()
            + self.inputs.capacity() * size_of::<Input>()
            + self.inputs.iter().map(|input| input.waits.memory_bytes()).sum::<usize>()
    }
}

/// What waits in some lists: since when, and how long it is.
fn of<'a>(pool: &'a Pool, lists: &'a [List]) -> impl Iterator<Item = (Time, u16)> + 'a {
    lists.iter().flat_map(|list| pool.iter(list)).map(|waiting| (waiting.since, waiting.frame.bytes))
}

impl Fabric {
    fn crossbar_mut(&mut self, port: u32) -> Option<&mut Crossbar> {
        self.nodes[self.node_of[port as usize] as usize].architecture.crossbar_mut()
    }

    /// A frame has come to a switch with a crossbar, or begins its way there.
    #[inline(never)]
    pub fn enter_crossbar(
        &mut self,
        egress: u32,
        class: TrafficClass,
        frame: Frame,
        ingress: u32,
        now: Time,
        windows: &mut Queued,
    ) {
        if ingress == NIL {
            if let Some(bar) = self.crossbar_mut(egress) {
                let output = (egress - bar.first_port) as usize;
                bar.held[output * bar.classes + class.at()] += u64::from(frame.bytes);
            }
            return self.enqueue_at_output(egress, class, frame, NIL, now, windows);
        }
        let (hooks, first_queue) =
            (self.links.ports[egress as usize].hooks, self.links.ports[egress as usize].first_queue);
        let queue = first_queue + u32::from(class.0);
        if hooks.has(Hooks::CREDITS) {
            self.credits_arrived(ingress, &frame, queue, now);
        }
        if hooks.has(Hooks::COUNTED) {
            match self.count_in(&frame, ingress, now) {
                Counted::Fits => {}
                Counted::Full => return self.lose(egress, class, &frame, ingress, Cause::Headroom, now),
                Counted::AtXoff => self.send_xoff(&frame, ingress, queue, now, windows),
            }
        }
        self.tell_root(egress, class, &frame);
        let node = self.node_of[egress as usize] as usize;
        let Some(bar) = self.nodes[node].architecture.crossbar_mut() else { return };
        let (input, output) = ((ingress - bar.first_port) as usize, (egress - bar.first_port) as usize);
        let list = bar.list(input, output, class.at());
        let is_first = bar.lists[list].is_empty();
        // In place of where it came in from, which the list tells: where it goes, which a FIFO does not.
        self.buffers.pool.push(&mut bar.lists[list], &frame, now, egress);
        let at = &mut bar.inputs[input];
        at.occupancy.add(frame.bytes);
        at.sojourns.enter(at.occupancy.both());
        if is_first {
            bar.want(input, output, class.0);
            self.match_soon(egress, now, windows);
        }
    }

    /// Inputs and outputs are matched after all that happens now.
    fn match_soon(&mut self, port: u32, now: Time, windows: &mut Queued) {
        let Some(bar) = self.crossbar_mut(port) else { return };
        let first_port = bar.first_port;
        if bar.matching.arm(now) {
            windows.push(Event::bare(Kind::Match, now, first_port));
        }
    }

    /// The time of a match has come.
    pub fn match_due(&mut self, port: u32, now: Time, windows: &mut Queued) {
        let Some(bar) = self.crossbar_mut(port) else { return };
        if !bar.matching.fires(now) {
            return;
        }
        let mut matches = std::mem::take(&mut bar.matches);
        if self.request(port)
            && let Some(bar) = self.crossbar_mut(port)
        {
            bar.arbiter.pick(&bar.requests, &bar.asked, &mut matches);
        }
        for crossing in matches.drain(..) {
            self.cross(port, crossing, now, windows);
        }
        if let Some(bar) = self.crossbar_mut(port) {
            bar.matches = matches;
        }
    }

    /// Writes down which frames may cross; false: none.
    fn request(&mut self, port: u32) -> bool {
        let pool = &self.buffers.pool;
        let node = self.node_of[port as usize] as usize;
        let Some(bar) = self.nodes[node].architecture.crossbar_mut() else { return false };
        for output in 0..bar.ports {
            bar.asked[output] = false;
            if bar.wanted[output] == 0 || bar.crossing[output].is_some() {
                continue;
            }
            let roomy = bar.roomy(output);
            for input in 0..bar.ports {
                let pair = input * bar.ports + output;
                let mut may = if bar.sends[input] { 0 } else { bar.wants[pair] & roomy };
                if bar.keys.room == Room::Frame {
                    may = bar.that_fit(may, input, output, pool);
                }
                bar.requests[pair] = may;
                bar.asked[output] |= may != 0;
            }
        }
        bar.asked.contains(&true)
    }

    /// A frame begins to cross.
    fn cross(&mut self, port: u32, crossing: Crossing, now: Time, windows: &mut Queued) {
        let Crossing { input, output, class } = crossing;
        let node = self.node_of[port as usize] as usize;
        let Some(bar) = self.nodes[node].architecture.crossbar_mut() else { return };
        let list = bar.list(input, output, class);
        let mut waiting = self.buffers.pool.pop(&mut bar.lists[list]);
        bar.want_no_more(input, output, class as u8);
        if !bar.lists[list].is_empty() {
            let next = (self.buffers.pool.first(&bar.lists[list]).ingress - bar.first_port) as usize;
            bar.want(input, next, class as u8);
        }
        let (frame, waited) = (waiting.frame, now - waiting.since);
        let at = &mut bar.inputs[input];
        at.occupancy.remove(frame.bytes);
        at.sojourns.leave(frame.bytes, waited);
        at.waits.record(waited);
        at.frames += 1;
        bar.held[output * bar.classes + class] += u64::from(frame.bytes);
        let (ingress, egress) = (bar.first_port + input as u32, bar.first_port + output as u32);
        let (mut ends, early, class) =
            (now + bar.takes(frame.bytes), bar.cuts_through, TrafficClass(class as u8));
        bar.sends[input] = true;
        bar.crossing[output] = Some(Underway { input, frame: (!early).then_some((frame, class)) });
        if early {
            // The last bit cannot cross before it has come. A frame of which all had come first is held no longer than
            // it takes to come.
            let rest = u64::from(frame.bytes - frame.bytes.min(HEAD_BYTES));
            let held_back = self.links.cold[egress as usize].rate > self.links.cold[ingress as usize].rate;
            let rest = if held_back { 0 } else { rest };
            ends = ends.max(waiting.since + self.links.ports[ingress as usize].clock.span_floor(rest));
        }
        windows.push(Event::bare(Kind::Crossed, ends, egress));
        let hooks = self.links.ports[egress as usize].hooks;
        if hooks.has(Hooks::CREDITS) {
            self.credits_free(ingress, &frame, now, windows);
        }
        if hooks.has(Hooks::COUNTED) {
            waiting.ingress = ingress;
            self.count_out(&waiting, now, windows);
        }
        if early {
            self.enqueue_at_output(egress, class, frame, NIL, now, windows);
        }
    }

    /// A frame has crossed to a port.
    pub fn crossed(&mut self, egress: u32, now: Time, windows: &mut Queued) {
        let Some(bar) = self.crossbar_mut(egress) else { return };
        let output = (egress - bar.first_port) as usize;
        let Some(Underway { input, frame }) = bar.crossing[output].take() else { return };
        bar.sends[input] = false;
        if let Some((frame, class)) = frame {
            self.enqueue_at_output(egress, class, frame, NIL, now, windows);
        }
        self.match_soon(egress, now, windows);
    }

    /// A frame has begun to leave the switch, or is lost at its output, which has more room. Nothing, without a crossbar.
    #[inline(never)]
    pub fn output_left(
        &mut self,
        egress: u32,
        class: TrafficClass,
        bytes: u16,
        now: Time,
        windows: &mut Queued,
    ) {
        let Some(bar) = self.crossbar_mut(egress) else { return };
        let output = (egress - bar.first_port) as usize;
        let held = &mut bar.held[output * bar.classes + class.at()];
        let left = held.checked_sub(u64::from(bytes));
        *held = left.expect("an output holds what leaves it: this is a fault of the simulator");
        if bar.crossing[output].is_none() {
            self.match_soon(egress, now, windows);
        }
    }
}

impl Architecture {
    /// The crossbar, if it has one.
    pub fn crossbar(&self) -> Option<&Crossbar> {
        match self {
            Architecture::OutputQueued(_) => None,
            Architecture::Crossbar(bar) => Some(bar),
        }
    }
    pub fn crossbar_mut(&mut self) -> Option<&mut Crossbar> {
        match self {
            Architecture::OutputQueued(_) => None,
            Architecture::Crossbar(bar) => Some(bar),
        }
    }
}
