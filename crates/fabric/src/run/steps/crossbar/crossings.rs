//! Frames that come to a crossbar, are matched and cross.

use crate::run::state::crossbar::Crossbar;
use crate::run::state::event::{Event, Kind, Queued};
use crate::run::state::index::PortIx;
use crate::run::state::losses::Cause;
use crate::run::state::pool::Waiting;
use crate::run::state::port::{HEAD_BYTES, Hooks};
use crate::run::state::world::Fabric;
use flow_control::pfc::Counted;
use frame::{Frame, TrafficClass};
use queueing::Crossing;
use units::Time;

impl Fabric {
    #[inline(always)]
    fn crossbar_mut(&mut self, port: PortIx) -> Option<&mut Crossbar> {
        self.nodes[self.node_of[port]].architecture.crossbar_mut()
    }

    /// A frame has come to a switch with a crossbar, or begins its way there.
    #[inline(never)]
    pub fn enter_crossbar(
        &mut self,
        egress: PortIx,
        class: TrafficClass,
        frame: Frame,
        ingress: Option<PortIx>,
        now: Time,
        windows: &mut Queued,
    ) {
        let Some(ingress) = ingress else {
            if let Some(bar) = self.crossbar_mut(egress) {
                let output = bar.nth(egress);
                bar.hold(output, bar.lane(class, &frame), frame.bytes);
            }
            return self.enqueue_at_output(egress, class, frame, None, now, windows);
        };
        let port = &self.links.ports[egress];
        let (hooks, queue) = (port.hooks, port.queue(class));
        if hooks.has(Hooks::CREDITS) {
            self.credits_arrived(ingress, &frame, Some(queue), now);
        }
        if hooks.has(Hooks::COUNTED) {
            match self.count_in(&frame, Some(ingress), now) {
                Counted::Fits => {}
                Counted::Full => {
                    return self.lose(egress, class, &frame, Some(ingress), Cause::Headroom, now);
                }
                Counted::AtXoff => self.send_xoff(&frame, ingress, Some(queue), now, windows),
            }
        }
        self.tell_root(egress, class, &frame);
        let node = self.node_of[egress];
        let Some(bar) = self.nodes[node].architecture.crossbar_mut() else { return };
        let (input, output) = (bar.nth(ingress), bar.nth(egress));
        // A bypassable frame stands in the ordered list only while others do.
        let mut lane = bar.lane(class, &frame);
        if lane != class.at() && !bar.lists[bar.list(input, output, class.at())].is_empty() {
            lane = class.at();
        }
        let list = bar.list(input, output, lane);
        let is_first = bar.lists[list].is_empty();
        if is_first && bar.crosses_at_once(input, output, lane, frame.bytes, now) && windows.is_last_of(now) {
            // All others that could be matched have been: the match is this frame.
            bar.inputs[input].pass(frame.bytes);
            let crossing = Crossing { input, output, class: lane };
            bar.arbiter.grant_alone(crossing);
            self.set_off(ingress, crossing, &frame, now, now, windows);
            #[cfg(debug_assertions)]
            self.check_matched(egress, now);
            return;
        }
        // Where it came in from the list tells.
        self.buffers.pool.push(&mut bar.lists[list], &frame, now, Some(egress));
        bar.inputs[input].enter(frame.bytes);
        if is_first {
            bar.want(input, output, lane as u8);
            let are_free = bar.busy_until(input, output) <= now;
            if !are_free {
                notice_later(bar, input, output, windows);
            }
            if are_free && bar.outputs[output].roomy >> lane & 1 != 0 || bar.left_over {
                self.match_soon(egress, now, windows);
            }
        }
        #[cfg(debug_assertions)]
        self.check_matched(egress, now);
    }

    /// What is not going to be matched now could not be: found by looking at every queue.
    #[cfg(debug_assertions)]
    fn check_matched(&self, port: PortIx, now: Time) {
        let Some(bar) = self.nodes[self.node_of[port]].architecture.crossbar() else {
            return;
        };
        if bar.matching.due() == now || bar.left_over {
            return;
        }
        for (at, list) in bar.lists.iter().enumerate().filter(|it| !it.1.is_empty()) {
            let (input, lane) = (at / (bar.lists.len() / bar.ports), at % bar.lanes);
            let first = self.buffers.pool.first(list);
            let output = bar.output_of(first);
            let needs = match bar.keys.room {
                queueing::Room::Frame => u64::from(first.frame.bytes),
                queueing::Room::Longest => bar.longest,
            };
            assert!(
                bar.lane(bar.class_at(lane), &first.frame) == lane,
                "a bypassable frame stands first among ordered ones"
            );
            let fits = bar.held[output * bar.lanes + lane] + needs <= bar.keys.output_buffer.get();
            // What ends now may have an event that is still to come.
            assert!(!fits || bar.busy_until(input, output) >= now, "a frame that may cross does not");
            let later = bar.busy_until(input, output) > now;
            let noticed = bar.outputs[bar.busy_longer(input, output)].noticed;
            assert!(!later || noticed, "nobody will see that a frame may cross");
        }
    }

    /// Inputs and outputs are matched after all that happens now; the event that is handled ends with this.
    fn match_soon(&mut self, port: PortIx, now: Time, windows: &mut Queued) {
        if windows.is_last_of(now) {
            self.match_now(port, windows, now);
        } else if let Some(bar) = self.crossbar_mut(port) {
            match_later(bar, now, windows);
        }
    }

    /// The time of a match has come.
    pub fn match_due(&mut self, port: PortIx, now: Time, windows: &mut Queued) {
        let node = self.node_of[port];
        let Some(bar) = self.nodes[node].architecture.crossbar_mut() else { return };
        if bar.matching.fires(now) {
            self.match_now(port, windows, now);
        }
    }

    /// Matches inputs and outputs.
    fn match_now(&mut self, port: PortIx, windows: &mut Queued, now: Time) {
        let node = self.node_of[port];
        let Some(bar) = self.nodes[node].architecture.crossbar_mut() else { return };
        bar.request(&self.buffers.pool, now);
        bar.left_over = false;
        if bar.requests.is_empty() {
            return;
        }
        if let Some(crossing) = bar.arbiter.pick_for_one(&bar.requests) {
            return self.cross(port, crossing, now, windows);
        }
        let mut matches = std::mem::take(&mut bar.matches);
        bar.left_over = bar.arbiter.pick(&bar.requests, &mut matches);
        if bar.left_over {
            // Any end may find what was left out.
            let first_port = bar.first_port;
            let busy = bar.outputs.iter_mut().enumerate().filter(|(_, output)| output.busy_until > now);
            busy.for_each(|(nth, output)| output.notice(first_port.plus(nth as u32), windows));
        }
        for crossing in matches.drain(..) {
            self.cross(port, crossing, now, windows);
        }
        if let Some(bar) = self.crossbar_mut(port) {
            bar.matches = matches;
        }
    }

    /// A frame begins to cross.
    #[inline(always)]
    fn cross(&mut self, port: PortIx, crossing: Crossing, now: Time, windows: &mut Queued) {
        let Crossing { input, output, class: lane } = crossing;
        let node = self.node_of[port];
        let Some(bar) = self.nodes[node].architecture.crossbar_mut() else { return };
        let list = bar.list(input, output, lane);
        let waiting = self.buffers.pool.pop(&mut bar.lists[list]);
        bar.inputs[input].leave(waiting.frame.bytes, now - waiting.since);
        let moved = (bar.bypasses >> lane & 1 != 0)
            .then(|| bar.move_bypassable(input, output, lane, &mut self.buffers.pool))
            .flatten();
        let left = &bar.lists[list];
        let next = (!left.is_empty()).then(|| bar.output_of(self.buffers.pool.first(left)));
        if next != Some(output) {
            bar.want_no_more(input, output, lane as u8);
            if let Some(next) = next {
                bar.want(input, next, lane as u8);
            }
        }
        self.set_off(port, crossing, &waiting.frame, waiting.since, now, windows);
        for next in [next, moved].into_iter().flatten().filter(|&next| next != output) {
            if let Some(bar) = self.crossbar_mut(port) {
                notice_later(bar, input, next, windows);
            }
        }
    }

    /// A frame that has come at a time leaves its input.
    fn set_off(
        &mut self,
        port: PortIx,
        crossing: Crossing,
        frame: &Frame,
        since: Time,
        now: Time,
        windows: &mut Queued,
    ) {
        let Crossing { input, output, class: lane } = crossing;
        let node = self.node_of[port];
        let Some(bar) = self.nodes[node].architecture.crossbar_mut() else { return };
        bar.hold(output, lane, frame.bytes);
        let (ingress, egress) = (bar.port(input), bar.port(output));
        let (mut ends, early, class) = (now + bar.takes(frame.bytes), bar.cuts_through, bar.class_at(lane));
        if early {
            // The last bit cannot cross before it has come. A frame of which all had come first is held no longer than
            // it takes to come.
            let rest = u64::from(frame.bytes - frame.bytes.min(HEAD_BYTES));
            let rest = if self.links.is_faster(egress, ingress) { 0 } else { rest };
            ends = ends.max(since + self.links.ports[ingress].clock.span_floor(rest));
        }
        (bar.inputs[input].busy_until, bar.inputs[input].to) = (ends, output);
        let awaited = bar.is_awaited(input, output);
        let state = &mut bar.outputs[output];
        (state.busy_until, state.from) = (ends, input);
        if !early {
            state.underway = Some((*frame, class));
        }
        if awaited || !early {
            state.notice(egress, windows);
        }
        let hooks = self.links.ports[egress].hooks;
        if hooks.has(Hooks::CREDITS) {
            self.credits_free_last(ingress, frame, now, windows);
        }
        if hooks.has(Hooks::COUNTED) {
            let mut waiting = Waiting::default();
            (waiting.frame, waiting.since, waiting.across) = (*frame, since, Some(ingress));
            self.count_out(&waiting, now, windows);
        }
        if early {
            self.enqueue_at_output(egress, class, *frame, None, now, windows);
        }
    }

    /// A frame has crossed to a port.
    #[inline]
    pub fn crossed(&mut self, egress: PortIx, now: Time, windows: &mut Queued) {
        let Some(bar) = self.crossbar_mut(egress) else { return };
        let output = bar.nth(egress);
        let (frame, may_match) = bar.ended(output);
        if let Some((frame, class)) = frame {
            self.enqueue_at_output(egress, class, frame, None, now, windows);
        }
        if may_match {
            self.match_soon(egress, now, windows);
        }
        #[cfg(debug_assertions)]
        self.check_matched(egress, now);
    }

    /// A frame has begun to leave the switch, or is lost at its output, which has more room. Nothing, without a crossbar.
    #[inline(always)]
    pub fn output_left(
        &mut self,
        egress: PortIx,
        class: TrafficClass,
        frame: &Frame,
        now: Time,
        windows: &mut Queued,
    ) {
        let Some(bar) = self.crossbar_mut(egress) else { return };
        let output = bar.nth(egress);
        let more = bar.let_go(output, bar.lane(class, frame), frame.bytes) && bar.is_wanted(output, now)
            || bar.left_over;
        if more && bar.outputs[output].busy_until <= now {
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

/// A frame waits for an input and an output that are not both free: the end of what lasts longer will be noticed.
fn notice_later(bar: &mut Crossbar, input: usize, output: usize, windows: &mut Queued) {
    let longer = bar.busy_longer(input, output);
    let port = bar.port(longer);
    bar.outputs[longer].notice(port, windows);
}
