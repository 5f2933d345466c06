//! Frames of a crossbar by output and class, from their arrival at an input until they leave the switch.

use crate::run::state::crossbar::Crossbar;
use crate::run::state::index::PortIx;
use crate::run::state::losses::Cause;
use frame::{Occupancy, TrafficClass};
use queueing::Refusal;

impl Crossbar {
    /// Returns the occupancy of a class for a port.
    pub fn held_for(&self, egress: PortIx, class: TrafficClass) -> Occupancy {
        self.through[self.nth(egress) * self.classes + class.at()]
    }

    /// Returns the occupancy of a class for a port, mutably; `None` if nothing measures it.
    #[inline(always)]
    pub(in crate::run) fn held_for_mut(
        &mut self,
        egress: PortIx,
        class: TrafficClass,
    ) -> Option<&mut Occupancy> {
        if self.through.is_empty() {
            return None;
        }
        let at = self.nth(egress) * self.classes + class.at();
        Some(&mut self.through[at])
    }

    /// Returns the occupancy of all classes for a port.
    pub fn held_for_port(&self, egress: PortIx) -> Occupancy {
        sum(self.through[self.nth(egress) * self.classes..][..self.classes].iter())
    }

    /// Returns the occupancy of the whole switch.
    pub fn held_in_all(&self) -> Occupancy {
        sum(self.through.iter())
    }

    /// Returns the buffer limit that refuses a frame of a class for a port, if any.
    #[cold]
    pub(in crate::run) fn refusal(&self, egress: PortIx, class: TrafficClass, bytes: u16) -> Option<Cause> {
        let held = |limit| match limit {
            Refusal::Queue => self.held_for(egress, class),
            Refusal::Port => self.held_for_port(egress),
            Refusal::Class => sum(self.through.iter().skip(class.at()).step_by(self.classes)),
            Refusal::Total => self.held_in_all(),
        };
        self.memory.buffer.admit(bytes, held).err().map(|refusal| match refusal {
            Refusal::Queue => Cause::Queue,
            Refusal::Port => Cause::Port,
            Refusal::Class => Cause::Class,
            Refusal::Total => Cause::Total,
        })
    }
}

fn sum<'a>(all: impl Iterator<Item = &'a Occupancy>) -> Occupancy {
    let mut total = Occupancy::default();
    all.for_each(|&one| total.join(one));
    total
}
