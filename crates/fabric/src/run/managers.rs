//! The queue managers of all ports, in one table: one that hears of a frame is found in few steps, as most of them are in no
//! cache.

use crate::run::managed::Managed;
use crate::run::pool::NIL;
use crate::run::port::Port;

/// What manages a queue.
#[derive(Debug)]
pub(crate) enum Assigned {
    /// One of its own.
    Own(Box<Managed>),
    /// That of this class of the same port.
    OfClass(usize),
}

/// Managers by queue.
#[derive(Debug, Default)]
pub(crate) struct Managers {
    /// By queue, the place of its manager in the table; [`NIL`], or nothing behind the last: none.
    of_queue: Vec<u32>,
    all: Vec<Managed>,
}

impl Managers {
    /// Adds those of a port's classes; no queue behind them has any yet.
    pub fn add(&mut self, first_queue: u32, of_class: impl Iterator<Item = Option<Assigned>>) {
        for (queue, assigned) in (first_queue as usize..).zip(of_class) {
            let Some(assigned) = assigned else { continue };
            self.of_queue.resize(queue, NIL);
            self.of_queue.push(match &assigned {
                Assigned::Own(_) => self.all.len() as u32,
                Assigned::OfClass(class) => self.of_queue[first_queue as usize + class],
            });
            if let Assigned::Own(managed) = assigned {
                self.all.push(*managed);
            }
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// That of a queue.
    #[inline(always)]
    pub fn of(&self, queue: usize) -> Option<&Managed> {
        self.all.get(*self.of_queue.get(queue)? as usize)
    }
    #[inline(always)]
    pub fn of_mut(&mut self, queue: usize) -> Option<&mut Managed> {
        self.all.get_mut(*self.of_queue.get(queue)? as usize)
    }

    /// Those of a port.
    pub fn of_port(&self, port: &Port) -> impl Iterator<Item = &Managed> {
        queues(port).filter_map(|queue| self.of(queue))
    }
    /// Acts on each of them.
    pub fn for_port(&mut self, port: &Port, mut act: impl FnMut(&mut Managed)) {
        queues(port).for_each(|queue| self.of_mut(queue).into_iter().for_each(&mut act));
    }

    /// All.
    pub fn iter(&self) -> impl Iterator<Item = &Managed> {
        self.all.iter()
    }
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Managed> {
        self.all.iter_mut()
    }

    /// Bytes of the table.
    pub fn memory_bytes(&self) -> usize {
        self.of_queue.capacity() * size_of::<u32>()
            + self.all.capacity() * size_of::<Managed>()
            + self.all.iter().map(Managed::memory_bytes).sum::<usize>()
    }
}

/// The queues of a port.
fn queues(port: &Port) -> std::ops::Range<usize> {
    let first = port.first_queue as usize;
    first..first + port.classes.classes()
}
