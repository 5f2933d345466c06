//! Tables of which each node owns a range.
//!
//! A step finds an entry by an index. Outside `run/state`, indices of nodes, ports, queues, sources, endpoints and
//! limiters cannot be made from numbers: they come from the event of the node, from the state of the node, or from the
//! route of a frame at the node. A step therefore cannot name another node's entry. The other end of a link is a
//! [`PeerIx`](crate::run::across::peer::PeerIx), which indexes no table. Code for all nodes, such as the builder and
//! the results, passes a [`Whole`].

use crate::Whole;
use crate::run::state::index::{Ix, Seal};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A table of which each node owns a range.
pub(crate) struct NodeLocal<I, T> {
    all: Vec<T>,
    by: PhantomData<I>,
}

impl<I, T> From<Vec<T>> for NodeLocal<I, T> {
    fn from(all: Vec<T>) -> NodeLocal<I, T> {
        NodeLocal { all, by: PhantomData }
    }
}

impl<I: Ix, T> FromIterator<T> for NodeLocal<I, T> {
    fn from_iter<A: IntoIterator<Item = T>>(all: A) -> NodeLocal<I, T> {
        Vec::from_iter(all).into()
    }
}

impl<I, T: fmt::Debug> fmt::Debug for NodeLocal<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.all.fmt(f)
    }
}

impl<I, T> Default for NodeLocal<I, T> {
    fn default() -> NodeLocal<I, T> {
        Vec::new().into()
    }
}

impl<I: Ix, T> NodeLocal<I, T> {
    /// The entry, unless the table is empty: some tables are, if no node needs them.
    #[inline(always)]
    pub fn get(&self, own: I) -> Option<&T> {
        self.all.get(own.at())
    }
    /// The entry, mutably, unless the table is empty.
    #[inline(always)]
    pub fn get_mut(&mut self, own: I) -> Option<&mut T> {
        self.all.get_mut(own.at())
    }
    /// The entry, in a table that grows up to the last entry in use.
    pub fn or_default(&mut self, own: I) -> &mut T
    where
        T: Default + Clone,
    {
        if self.all.len() <= own.at() {
            self.all.resize(own.at() + 1, T::default());
        }
        &mut self.all[own.at()]
    }
    /// Returns true if no node has an entry.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
    /// Number of entries of all nodes.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.all.len()
    }
    /// Bytes of memory, excluding heap memory of the entries.
    pub fn memory_bytes(&self) -> usize {
        self.all.capacity() * size_of::<T>()
    }

    /// Entries of all nodes.
    #[inline(always)]
    pub fn all(&self, _: Whole) -> &[T] {
        &self.all
    }
    /// Entries of all nodes, mutably.
    #[inline(always)]
    pub fn all_mut(&mut self, _: Whole) -> &mut Vec<T> {
        &mut self.all
    }
    /// Indices of all nodes.
    pub fn keys(
        &self,
        _: Whole,
    ) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + Clone + use<I, T> {
        (0..self.all.len()).map(|number| I::sealed(number, Seal::new()))
    }
    /// Entries of all nodes with their indices.
    pub fn enumerated(&self, _: Whole) -> impl Iterator<Item = (I, &T)> {
        self.all.iter().enumerate().map(|(number, entry)| (I::sealed(number, Seal::new()), entry))
    }
    /// The index that the next entry will have.
    pub fn next_key(&self, _: Whole) -> I {
        I::sealed(self.all.len(), Seal::new())
    }
    /// Adds an entry.
    pub fn push(&mut self, entry: T, _: Whole) -> I {
        self.all.push(entry);
        I::sealed(self.all.len() - 1, Seal::new())
    }

    /// Indices of all nodes, for methods of the state that cover the whole fabric.
    pub(in crate::run::state) fn indices(&self) -> impl DoubleEndedIterator<Item = I> + Clone + use<I, T> {
        (0..self.all.len()).map(|number| I::sealed(number, Seal::new()))
    }
    /// Entries of all nodes with their indices, for methods of the state that cover the whole fabric.
    pub(in crate::run::state) fn pairs(&self) -> impl Iterator<Item = (I, &T)> {
        self.all.iter().enumerate().map(|(number, entry)| (I::sealed(number, Seal::new()), entry))
    }
    /// Adds an entry, for methods of the state that cover the whole fabric.
    pub(in crate::run::state) fn add(&mut self, entry: T) {
        self.all.push(entry);
    }
    /// Entries of all nodes, for methods of the state that cover the whole fabric.
    #[inline(always)]
    pub(in crate::run::state) fn each(&self) -> &[T] {
        &self.all
    }
    /// Entries of all nodes, mutably, for methods of the state that cover the whole fabric.
    #[inline(always)]
    pub(in crate::run::state) fn each_mut(&mut self) -> &mut Vec<T> {
        &mut self.all
    }
}

impl<I: Ix, T> Index<I> for NodeLocal<I, T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, own: I) -> &T {
        &self.all[own.at()]
    }
}

impl<I: Ix, T> IndexMut<I> for NodeLocal<I, T> {
    #[inline(always)]
    fn index_mut(&mut self, own: I) -> &mut T {
        &mut self.all[own.at()]
    }
}
