//! A circular list of queues, stored in arrays, with constant-time operations.

const OUT: u32 = u32::MAX;

/// A circular list of some of the queues 0 to n - 1, one of which is at the front.
#[derive(Clone, Debug)]
pub(crate) struct Ring {
    links: Vec<Link>,
    front: u32,
    len: u32,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    after: u32,
}

impl Ring {
    pub fn new(queues: u32) -> Ring {
        Ring { links: vec![Link { before: OUT, after: OUT }; queues as usize], front: OUT, len: 0 }
    }
    #[inline]
    pub fn len(&self) -> u32 {
        self.len
    }
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    #[inline]
    pub fn front(&self) -> Option<u32> {
        (self.len > 0).then_some(self.front)
    }
    #[inline]
    pub fn contains(&self, queue: u32) -> bool {
        self.links[queue as usize].after != OUT
    }
    /// Adds a queue that is not in the list at the back.
    #[inline]
    pub fn push_back(&mut self, queue: u32) {
        debug_assert!(!self.contains(queue));
        if self.len == 0 {
            self.links[queue as usize] = Link { before: queue, after: queue };
            self.front = queue;
        } else {
            let last = self.links[self.front as usize].before;
            self.links[queue as usize] = Link { before: last, after: self.front };
            self.links[last as usize].after = queue;
            self.links[self.front as usize].before = queue;
        }
        self.len += 1;
    }
    /// Removes a queue. Returns true if it was present.
    #[inline]
    pub fn remove(&mut self, queue: u32) -> bool {
        let Link { before, after } = self.links[queue as usize];
        if after == OUT {
            return false;
        }
        self.links[before as usize].after = after;
        self.links[after as usize].before = before;
        self.links[queue as usize] = Link { before: OUT, after: OUT };
        if self.front == queue {
            self.front = after;
        }
        self.len -= 1;
        true
    }
    /// Moves the queue at the front to the back.
    #[inline]
    pub fn rotate(&mut self) {
        self.front = self.links[self.front as usize].after;
    }
    /// Iterates over all members, from the front.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.front(), |&queue| Some(self.links[queue as usize].after))
            .take(self.len as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn agrees_with_a_list(steps in proptest::collection::vec((0u32..6, 0u8..3), 0..100)) {
            let (mut ring, mut list) = (Ring::new(6), Vec::new());
            for (queue, step) in steps {
                match step {
                    0 if !list.contains(&queue) => {
                        ring.push_back(queue);
                        list.push(queue);
                    }
                    1 => {
                        proptest::prop_assert_eq!(ring.remove(queue), list.contains(&queue));
                        list.retain(|&member| member != queue);
                    }
                    2 if !list.is_empty() => {
                        ring.rotate();
                        list.rotate_left(1);
                    }
                    _ => {}
                }
                proptest::prop_assert_eq!(ring.iter().collect::<Vec<_>>(), list.clone());
                proptest::prop_assert_eq!((ring.front(), ring.len()), (list.first().copied(), list.len() as u32));
            }
        }
    }
}
