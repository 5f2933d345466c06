//! Lists that mostly have one entry, of which there are as many as there are queue pairs.

use std::collections::VecDeque;

/// Room for one at first, where a list begins with four.
pub(crate) trait Append<T> {
    /// One more at the end.
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
