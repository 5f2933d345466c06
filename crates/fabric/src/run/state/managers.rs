//! The queue managers of all ports, in one table. Most managers are in no cache, so the manager of a frame is found in
//! few steps.

use crate::run::state::index::{ManagerIx, QueueIx};
use crate::run::state::managed::Managed;
use crate::run::state::own::NodeLocal;
use crate::run::state::port::Port;
use typed_index_collections::TiVec;

/// Assignment of a manager to a queue.
#[derive(Debug)]
pub(crate) enum Assigned {
    /// A manager of its own.
    Own(Box<Managed>),
    /// The manager of this class of the same port.
    OfClass(usize),
}

/// Managers by queue.
#[derive(Debug, Default)]
pub(crate) struct Managers {
    /// By queue, its manager, if it has one; ends with the last queue that has one.
    of_queue: NodeLocal<QueueIx, Option<ManagerIx>>,
    all: TiVec<ManagerIx, Managed>,
}

impl Managers {
    /// Adds the managers of a port's classes. Ports are added in the order of their queues.
    pub fn add(&mut self, first_queue: QueueIx, of_class: impl Iterator<Item = Option<Assigned>>) {
        for (class, assigned) in (0..).zip(of_class) {
            let Some(assigned) = assigned else { continue };
            let manager = match assigned {
                Assigned::Own(managed) => Some(self.all.push_and_get_key(*managed)),
                Assigned::OfClass(class) => self.of_queue[first_queue.plus(class as u32)],
            };
            self.of_queue.each_mut().resize(first_queue.plus(class).at(), None);
            self.of_queue.add(manager);
        }
    }

    /// Returns true if there is no manager.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns the manager of a queue.
    #[inline(always)]
    pub fn of(&self, queue: QueueIx) -> Option<&Managed> {
        Some(&self.all[(*self.of_queue.get(queue)?)?])
    }
    #[inline(always)]
    pub fn of_mut(&mut self, queue: QueueIx) -> Option<&mut Managed> {
        Some(&mut self.all[(*self.of_queue.get(queue)?)?])
    }

    /// Returns the managers of a port.
    pub fn of_port(&self, port: &Port) -> impl Iterator<Item = &Managed> {
        port.queues().filter_map(|queue| self.of(queue))
    }
    /// Calls a function for each manager of a port.
    pub fn for_port(&mut self, port: &Port, mut act: impl FnMut(&mut Managed)) {
        port.queues().for_each(|queue| self.of_mut(queue).into_iter().for_each(&mut act));
    }

    /// All managers.
    pub fn iter(&self) -> impl Iterator<Item = &Managed> {
        self.all.iter()
    }
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Managed> {
        self.all.iter_mut()
    }

    /// Bytes of the table.
    pub fn memory_bytes(&self) -> usize {
        self.of_queue.memory_bytes()
            + self.all.capacity() * size_of::<Managed>()
            + self.all.iter().map(Managed::memory_bytes).sum::<usize>()
    }
}
