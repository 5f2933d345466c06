//! A counting allocator. It counts for the whole process, so a test file that uses it has only one test.

#![allow(dead_code)] // each file of tests uses some of it

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

static CALLS: AtomicU64 = AtomicU64::new(0);
static ASKED: AtomicU64 = AtomicU64::new(0);
static IN_USE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

/// Number of allocations, and bytes allocated.
pub fn allocated() -> (u64, u64) {
    (CALLS.load(Ordering::Relaxed), ASKED.load(Ordering::Relaxed))
}

/// Bytes in use.
pub fn in_use() -> usize {
    IN_USE.load(Ordering::Relaxed)
}

/// Returns the result of `work`, and the maximum growth of the memory in use meanwhile, in bytes.
pub fn most_in_use<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = in_use();
    MOST.store(before, Ordering::Relaxed);
    let done = work();
    (done, MOST.load(Ordering::Relaxed) - before)
}

struct Counting;

// This is the only way to observe allocations; every call is passed on unchanged. Growing a vector is an allocation of
// its new length (the default of `realloc`).
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Ordering::Relaxed);
        ASKED.fetch_add(layout.size() as u64, Ordering::Relaxed);
        let before = IN_USE.fetch_add(layout.size(), Ordering::Relaxed);
        MOST.fetch_max(before + layout.size(), Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;
