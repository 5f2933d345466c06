//! Tables in which a node finds what is its own.
//!
//! A node acts on what is its, and what it does to another one is an event over a link. The other end of a link is a
//! [`PeerIx`](crate::run::across::peer::PeerIx), which is an index of no table. For all other places the table itself looks: while an event runs, in
//! builds with debug assertions, as all tests are, what is not of the event's node is not found. Releases have a plain vector here.

#[cfg(debug_assertions)]
use std::ops::Range;
use std::ops::{Deref, DerefMut, Index, IndexMut};
use std::{fmt, slice};
use typed_index_collections::TiVec;

/// A table of which each node has a range.
pub(crate) struct NodeLocal<I, T> {
    all: TiVec<I, T>,
    /// What the node has whose event runs; `None`: no event runs, and all may be looked at.
    #[cfg(debug_assertions)]
    mine: Option<Range<usize>>,
}

impl<I, T> From<Vec<T>> for NodeLocal<I, T> {
    fn from(all: Vec<T>) -> NodeLocal<I, T> {
        NodeLocal {
            all: all.into(),
            #[cfg(debug_assertions)]
            mine: None,
        }
    }
}

impl<I, T: fmt::Debug> fmt::Debug for NodeLocal<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.all.raw.fmt(f)
    }
}

impl<I, T> Default for NodeLocal<I, T> {
    fn default() -> NodeLocal<I, T> {
        Vec::new().into()
    }
}

impl<I, T> NodeLocal<I, T> {
    /// The entry at the other end of a link: for what is done ahead of its time alone.
    pub fn across(&mut self, place: I) -> &mut T
    where
        usize: From<I>,
    {
        &mut self.all[place]
    }

    #[cfg(debug_assertions)]
    #[expect(dead_code)]
    pub(in crate::run) fn look_only_at(&mut self, mine: Option<Range<usize>>) {
        self.mine = mine;
    }

    #[inline(always)]
    fn is_mine(&self, place: usize) {
        #[cfg(debug_assertions)]
        if let Some(mine) = &self.mine {
            assert!(
                mine.contains(&place),
                "a node that has {mine:?} looks at {place}, which is another's: this is a fault of the simulator"
            );
        }
        let _ = place;
    }
}

impl<I, T> Index<I> for NodeLocal<I, T>
where
    usize: From<I>,
    I: Copy,
{
    type Output = T;
    #[inline(always)]
    fn index(&self, place: I) -> &T {
        self.is_mine(place.into());
        &self.all[place]
    }
}

impl<I, T> IndexMut<I> for NodeLocal<I, T>
where
    usize: From<I>,
    I: Copy,
{
    #[inline(always)]
    fn index_mut(&mut self, place: I) -> &mut T {
        self.is_mine(place.into());
        &mut self.all[place]
    }
}

impl<I, T> Deref for NodeLocal<I, T> {
    type Target = TiVec<I, T>;
    #[inline(always)]
    fn deref(&self) -> &TiVec<I, T> {
        &self.all
    }
}

impl<I, T> DerefMut for NodeLocal<I, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut TiVec<I, T> {
        &mut self.all
    }
}

impl<'a, I, T> IntoIterator for &'a NodeLocal<I, T> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;
    fn into_iter(self) -> slice::Iter<'a, T> {
        self.all.raw.iter()
    }
}

impl<'a, I, T> IntoIterator for &'a mut NodeLocal<I, T> {
    type Item = &'a mut T;
    type IntoIter = slice::IterMut<'a, T>;
    fn into_iter(self) -> slice::IterMut<'a, T> {
        self.all.raw.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::state::index::PortIx;

    #[test]
    #[should_panic = "a node that has 1..3 looks at 3, which is another's"]
    fn a_node_finds_its_own_and_nothing_else() {
        let mut ports: NodeLocal<PortIx, u8> = vec![10, 11, 12, 13].into();
        ports.look_only_at(Some(1..3));
        assert_eq!((ports[PortIx::new(1)], ports[PortIx::new(2)]), (11, 12));
        *ports.across(PortIx::new(0)) += 1;
        ports.look_only_at(None);
        assert_eq!(ports[PortIx::new(0)], 11);
        ports.look_only_at(Some(1..3));
        ports[PortIx::new(3)] = 0;
    }
}
