//! Appends to lists that mostly have a single entry and exist once per queue pair.

use std::collections::VecDeque;

/// Appends with an initial capacity of one; `Vec` starts with four.
pub(crate) trait Append<T> {
    /// Appends an entry.
    fn append_one(&mut self, one: T);
}

impl<T> Append<T> for Vec<T> {
    fn append_one(&mut self, one: T) {
        if self.capacity() == 0 {
            self.reserve_exact(1);
        }
        self.push(one);
    }
}

impl<T> Append<T> for VecDeque<T> {
    fn append_one(&mut self, one: T) {
        if self.capacity() == 0 {
            self.reserve_exact(1);
        }
        self.push_back(one);
    }
}
