//! Frames that come to a crossbar, are matched and cross.

use super::{Crossbar, Underway};
use crate::run::event::{Event, Kind, Queued};
use crate::run::losses::Cause;
use crate::run::pool::{NIL, Waiting};
use crate::run::port::{HEAD_BYTES, Hooks};
use crate::run::world::Fabric;
use flow_control::pfc::Counted;
use frame::{Frame, TrafficClass};
use queueing::Crossing;
use units::Time;

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
                bar.hold(output, class.at(), frame.bytes);
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
        if is_first && bar.crosses_at_once(input, output, class, frame.bytes) && windows.is_last_of(now) {
            // All others that could be matched have been: the match is this frame.
            bar.inputs[input].enter(frame.bytes);
            let crossing = Crossing { input, output, class: class.at() };
            bar.arbiter.grant_alone(crossing);
            self.set_off(ingress, crossing, frame, now, now, windows);
            #[cfg(debug_assertions)]
            self.check_matched(egress, now);
            return;
        }
        // In place of where it came in from, which the list tells: where it goes, which a FIFO does not.
        self.buffers.pool.push(&mut bar.lists[list], &frame, now, egress);
        bar.inputs[input].enter(frame.bytes);
        if is_first {
            bar.want(input, output, class.0);
            let may_cross = bar.are_free(input, output) && bar.roomy[output] >> class.0 & 1 != 0;
            if may_cross || bar.left_over {
                self.match_soon(egress, now, windows);
            }
        }
        #[cfg(debug_assertions)]
        self.check_matched(egress, now);
    }

    /// What is not going to be matched now could not be: found by looking at every queue.
    #[cfg(debug_assertions)]
    fn check_matched(&self, port: u32, now: Time) {
        let Some(bar) = self.nodes[self.node_of[port as usize] as usize].architecture.crossbar() else {
            return;
        };
        if bar.matching.due() == now || bar.left_over {
            return;
        }
        for (at, list) in bar.lists.iter().enumerate().filter(|it| !it.1.is_empty()) {
            let (input, class) = (at / (bar.lists.len() / bar.ports), at % bar.classes);
            let first = self.buffers.pool.first(list);
            let output = (first.ingress - bar.first_port) as usize;
            let needs = match bar.keys.room {
                queueing::Room::Frame => u64::from(first.frame.bytes),
                queueing::Room::Longest => bar.longest,
            };
            let fits = bar.held[output * bar.classes + class] + needs <= bar.keys.output_buffer.get();
            assert!(!(fits && bar.are_free(input, output)), "a frame that may cross does not");
        }
    }

    /// Inputs and outputs are matched after all that happens now; the event that is handled ends with this.
    fn match_soon(&mut self, port: u32, now: Time, windows: &mut Queued) {
        if windows.is_last_of(now) {
            self.match_now(port, windows, now);
        } else if let Some(bar) = self.crossbar_mut(port) {
            match_later(bar, now, windows);
        }
    }

    /// The time of a match has come.
    pub fn match_due(&mut self, port: u32, now: Time, windows: &mut Queued) {
        let node = self.node_of[port as usize] as usize;
        let Some(bar) = self.nodes[node].architecture.crossbar_mut() else { return };
        if bar.matching.fires(now) {
            self.match_now(port, windows, now);
        }
    }

    /// Matches inputs and outputs.
    fn match_now(&mut self, port: u32, windows: &mut Queued, now: Time) {
        let node = self.node_of[port as usize] as usize;
        let Some(bar) = self.nodes[node].architecture.crossbar_mut() else { return };
        bar.request(&self.buffers.pool);
        if bar.requests.is_empty() {
            bar.left_over = false;
            return;
        }
        let mut matches = std::mem::take(&mut bar.matches);
        bar.left_over = bar.arbiter.pick(&bar.requests, &mut matches);
        for crossing in matches.drain(..) {
            self.cross(port, crossing, now, windows);
        }
        if let Some(bar) = self.crossbar_mut(port) {
            bar.matches = matches;
        }
    }

    /// A frame begins to cross.
    fn cross(&mut self, port: u32, crossing: Crossing, now: Time, windows: &mut Queued) {
        let Crossing { input, output, class } = crossing;
        let node = self.node_of[port as usize] as usize;
        let Some(bar) = self.nodes[node].architecture.crossbar_mut() else { return };
        let list = bar.list(input, output, class);
        let waiting = self.buffers.pool.pop(&mut bar.lists[list]);
        let left = &bar.lists[list];
        let next =
            (!left.is_empty()).then(|| (self.buffers.pool.first(left).ingress - bar.first_port) as usize);
        if next != Some(output) {
            bar.want_no_more(input, output, class as u8);
            if let Some(next) = next {
                bar.want(input, next, class as u8);
            }
        }
        self.set_off(port, crossing, waiting.frame, waiting.since, now, windows);
    }

    /// A frame that has come at a time leaves its input.
    fn set_off(
        &mut self,
        port: u32,
        crossing: Crossing,
        frame: Frame,
        since: Time,
        now: Time,
        windows: &mut Queued,
    ) {
        let Crossing { input, output, class } = crossing;
        let node = self.node_of[port as usize] as usize;
        let Some(bar) = self.nodes[node].architecture.crossbar_mut() else { return };
        bar.inputs[input].leave(frame.bytes, now - since);
        bar.hold(output, class, frame.bytes);
        let (ingress, egress) = (bar.first_port + input as u32, bar.first_port + output as u32);
        let (mut ends, early, class) =
            (now + bar.takes(frame.bytes), bar.cuts_through, TrafficClass(class as u8));
        if early {
            // The last bit cannot cross before it has come. A frame of which all had come first is held no longer than
            // it takes to come.
            let rest = u64::from(frame.bytes - frame.bytes.min(HEAD_BYTES));
            let held_back = self.links.cold[egress as usize].rate > self.links.cold[ingress as usize].rate;
            let rest = if held_back { 0 } else { rest };
            ends = ends.max(since + self.links.ports[ingress as usize].clock.span_floor(rest));
        }
        bar.free_inputs &= !(1 << input);
        bar.free_outputs &= !(1 << output);
        bar.crossing[output] = Underway { input, frame: (!early).then_some((frame, class)) };
        windows.push(Event::bare(Kind::Crossed, ends, egress));
        let hooks = self.links.ports[egress as usize].hooks;
        if hooks.has(Hooks::CREDITS) {
            self.credits_free_alone(ingress, &frame, now, windows);
        }
        if hooks.has(Hooks::COUNTED) {
            let mut waiting = Waiting::default();
            (waiting.frame, waiting.since, waiting.ingress) = (frame, since, ingress);
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
        let Underway { input, frame } = std::mem::take(&mut bar.crossing[output]);
        let may_match = bar.frees(input, output);
        if let Some((frame, class)) = frame {
            self.enqueue_at_output(egress, class, frame, NIL, now, windows);
        }
        if may_match {
            self.match_soon(egress, now, windows);
        }
        #[cfg(debug_assertions)]
        self.check_matched(egress, now);
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
        let more = bar.let_go(output, class.at(), bytes) && bar.is_wanted(output) || bar.left_over;
        if more && bar.free_outputs >> output & 1 != 0 {
            match_later(bar, now, windows);
        }
    }
}

/// Inputs and outputs are matched after all that happens now.
fn match_later(bar: &mut Crossbar, now: Time, windows: &mut Queued) {
    if bar.matching.arm(now) {
        windows.push(Event::bare(Kind::Match, now, bar.first_port));
    }
}
