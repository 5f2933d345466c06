//! Crossbars at work: from the input of a frame to the queue of its egress port.
//!
//! A frame that comes through a port waits at that input until it is matched with its output (`queueing::Arbiter`). It
//! then crosses; when it has crossed it comes to the queue of its egress port as in a switch without a crossbar, as if it
//! began its way there: what counts where frames came in from has let go of it when it began to cross. A cut-through
//! switch hands it over when it begins to cross, as its latency contains the way of the head; input and output are busy
//! until all of it has come and crossed.
//!
//! The room of an output counts what crosses and what waits there. A frame that the switch itself sends, or that goes to
//! the link at once, takes room as all others.

use crate::run::architecture::{Architecture, NodeMemory};
use crate::run::event::{Event, Kind, Queued};
use crate::run::pool::{List, NIL, Pool};
use crate::run::port::{HEAD_BYTES, Hooks};
use crate::run::world::Fabric;
use engine::Timer;
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
    /// By output, who crosses to it.
    crossing: Vec<Option<Underway>>,
    /// By input, whether it sends.
    sends: Vec<bool>,
    /// By output and class, bytes that cross or wait there.
    held: Vec<u64>,
    pub inputs: Vec<Input>,
    /// The next match.
    matching: Timer,
    requests: Vec<u32>,
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
            crossing: vec![None; ports],
            sends: vec![false; ports],
            held: vec![0; ports * classes],
            inputs: vec![Input::default(); ports],
            matching: Timer::IDLE,
            requests: vec![0; ports * ports],
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
            + (self.wants.capacity() + self.requests.capacity()) * size_of::<u32>()
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
        if self.links.ports[egress as usize].hooks.has(Hooks::CREDITS) {
            self.credits_arrived(ingress, &frame, now);
        }
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
            bar.wants[input * bar.ports + output] |= 1 << class.0;
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
        self.request(port);
        if let Some(bar) = self.crossbar_mut(port) {
            bar.arbiter.pick(&bar.requests, &mut matches);
        }
        for crossing in matches.drain(..) {
            self.cross(port, crossing, now, windows);
        }
        if let Some(bar) = self.crossbar_mut(port) {
            bar.matches = matches;
        }
    }

    /// Writes down which frames may cross.
    fn request(&mut self, port: u32) {
        let pool = &self.buffers.pool;
        let node = self.node_of[port as usize] as usize;
        let Some(bar) = self.nodes[node].architecture.crossbar_mut() else { return };
        let room = bar.keys.output_buffer.get();
        for output in 0..bar.ports {
            let held = &bar.held[output * bar.classes..][..bar.classes];
            for input in 0..bar.ports {
                let pair = input * bar.ports + output;
                let mut may =
                    if bar.crossing[output].is_some() || bar.sends[input] { 0 } else { bar.wants[pair] };
                let mut left = may;
                while left != 0 {
                    let class = left.trailing_zeros() as usize;
                    left &= left - 1;
                    let needs = match bar.keys.room {
                        Room::Longest => bar.longest,
                        Room::Frame => u64::from(pool.head(&bar.lists[bar.list(input, output, class)]).bytes),
                    };
                    if held[class] + needs > room {
                        may &= !(1 << class);
                    }
                }
                bar.requests[pair] = may;
            }
        }
    }

    /// A frame begins to cross.
    fn cross(&mut self, port: u32, crossing: Crossing, now: Time, windows: &mut Queued) {
        let Crossing { input, output, class } = crossing;
        let node = self.node_of[port as usize] as usize;
        let Some(bar) = self.nodes[node].architecture.crossbar_mut() else { return };
        let list = bar.list(input, output, class);
        let waiting = self.buffers.pool.pop(&mut bar.lists[list]);
        bar.wants[input * bar.ports + output] &= !(1 << class);
        if !bar.lists[list].is_empty() {
            let next = (self.buffers.pool.first(&bar.lists[list]).ingress - bar.first_port) as usize;
            bar.wants[input * bar.ports + next] |= 1 << class;
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
        if self.links.ports[egress as usize].hooks.has(Hooks::CREDITS) {
            self.credits_free(ingress, &frame, now, windows);
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

    /// A frame has begun to leave the switch: its output has more room.
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
