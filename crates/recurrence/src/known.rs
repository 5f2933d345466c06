//! Implementations for types of the standard library and of `units`.

use crate::{Growth, MaybeEmpty, Numbered, Recurs, Walk};
use std::collections::{BTreeMap, VecDeque};
use units::{BitRate, Time, WireClock};

macro_rules! exact {
    ($($number:ty),*) => {$(
        impl Recurs for $number {
            #[inline]
            fn walk(&self, walk: &mut Walk) {
                walk.word(*self as u64);
            }
        }
    )*};
}

exact!(u8, u16, u32, u64, usize, i8, i16, i32, i64, bool);

impl Recurs for f64 {
    fn walk(&self, walk: &mut Walk) {
        walk.word(self.to_bits());
    }
}

impl Recurs for Time {
    #[inline]
    fn walk(&self, walk: &mut Walk) {
        walk.instant(*self);
    }
}

/// The rate is constant except for faults; the state of the clock is the remainder.
impl Recurs for WireClock {
    fn walk(&self, walk: &mut Walk) {
        walk.word(self.remainder().into());
    }
}

impl Recurs for BitRate {
    fn walk(&self, walk: &mut Walk) {
        walk.shown(self);
    }
}

macro_rules! numbered {
    ($($number:ident),*) => {$(
        impl Numbered for $number {
            type Base = $number;
            #[inline]
            fn walk_from(&self, base: $number, walk: &mut Walk) {
                if *self == $number::MAX {
                    walk.word(u64::MAX);
                } else {
                    walk.word(self.wrapping_sub(base).into());
                }
            }
        }
    )*};
}

numbered!(u32, u64);

impl<T: Numbered> Numbered for Option<T> {
    type Base = T::Base;
    fn walk_from(&self, base: T::Base, walk: &mut Walk) {
        walk.word(self.is_some().into());
        if let Some(own) = self {
            own.walk_from(base, walk);
        }
    }
}

impl<T: Numbered<Base: Copy>> Numbered for VecDeque<T> {
    type Base = T::Base;
    fn walk_from(&self, base: T::Base, walk: &mut Walk) {
        walk.word(self.len() as u64);
        self.iter().for_each(|own| own.walk_from(base, walk));
    }
}

impl<T: Recurs> Recurs for Option<T> {
    fn walk(&self, walk: &mut Walk) {
        walk.word(self.is_some().into());
        self.iter().for_each(|own| own.walk(walk));
    }
    fn grow(&mut self, growth: &mut Growth) {
        self.iter_mut().for_each(|own| own.grow(growth));
    }
}

impl<T: Recurs + ?Sized> Recurs for Box<T> {
    fn walk(&self, walk: &mut Walk) {
        (**self).walk(walk);
    }
    fn grow(&mut self, growth: &mut Growth) {
        (**self).grow(growth);
    }
}

impl<T: Recurs> Recurs for [T] {
    fn walk(&self, walk: &mut Walk) {
        walk.list(self.iter());
    }
    fn grow(&mut self, growth: &mut Growth) {
        self.iter_mut().for_each(|own| own.grow(growth));
    }
}

impl<T: Recurs> Recurs for Vec<T> {
    fn walk(&self, walk: &mut Walk) {
        walk.list(self.iter());
    }
    fn grow(&mut self, growth: &mut Growth) {
        self.iter_mut().for_each(|own| own.grow(growth));
    }
}

impl<T: Recurs> Recurs for VecDeque<T> {
    fn walk(&self, walk: &mut Walk) {
        walk.list(self.iter());
    }
    fn grow(&mut self, growth: &mut Growth) {
        self.iter_mut().for_each(|own| own.grow(growth));
    }
}

impl<T: Recurs, const N: usize> Recurs for [T; N] {
    fn walk(&self, walk: &mut Walk) {
        self.iter().for_each(|own| own.walk(walk));
    }
    fn grow(&mut self, growth: &mut Growth) {
        self.iter_mut().for_each(|own| own.grow(growth));
    }
}

impl<K: Recurs, V: Recurs> Recurs for BTreeMap<K, V> {
    fn walk(&self, walk: &mut Walk) {
        walk.word(self.len() as u64);
        for (key, value) in self {
            key.walk(walk);
            value.walk(walk);
        }
    }
    fn grow(&mut self, growth: &mut Growth) {
        self.values_mut().for_each(|own| own.grow(growth));
    }
}

impl<A: Recurs, B: Recurs> Recurs for (A, B) {
    fn walk(&self, walk: &mut Walk) {
        self.0.walk(walk);
        self.1.walk(walk);
    }
    fn grow(&mut self, growth: &mut Growth) {
        self.0.grow(growth);
        self.1.grow(growth);
    }
}

impl<A: Recurs, B: Recurs, C: Recurs> Recurs for (A, B, C) {
    fn walk(&self, walk: &mut Walk) {
        self.0.walk(walk);
        self.1.walk(walk);
        self.2.walk(walk);
    }
    fn grow(&mut self, growth: &mut Growth) {
        self.0.grow(growth);
        self.1.grow(growth);
        self.2.grow(growth);
    }
}

impl<T> MaybeEmpty for Option<T> {
    fn holds_nothing(&self) -> bool {
        self.is_none()
    }
}

macro_rules! containers {
    ($($container:ident),*) => {$(
        impl<T> MaybeEmpty for $container<T> {
            fn holds_nothing(&self) -> bool {
                self.is_empty()
            }
        }
    )*};
}

containers!(Vec, VecDeque);

impl<T> MaybeEmpty for Box<[T]> {
    fn holds_nothing(&self) -> bool {
        self.is_empty()
    }
}

impl<K, V> MaybeEmpty for BTreeMap<K, V> {
    fn holds_nothing(&self) -> bool {
        self.is_empty()
    }
}
