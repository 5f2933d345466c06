//! Memory hints to processor and kernel: prefetches, and large pages for large arrays.
//!
//! Both affect only the speed of memory accesses, never the contents. All unsafe code of Penstock is in this crate and
//! in the C interface `capi`, including its tests.
//!
//! ```
//! let counters: Vec<u64> = memory::filled(0, 1_000);
//! memory::fetch_at(&counters, 500); // in the caches by the time it is read
//! assert_eq!(counters[500], 0);
//! ```

#![warn(clippy::too_many_lines)]

/// Size of a cache line in bytes.
pub const LINE: usize = 64;

/// Prefetches the first cache line of a value that is needed soon, but not immediately.
#[inline(always)]
pub fn fetch<T>(value: &T) {
    fetch_line(std::ptr::from_ref(value).cast());
}

/// Prefetches all cache lines of a value.
#[inline(always)]
pub fn fetch_all<T>(value: &T) {
    let first = std::ptr::from_ref(value).cast::<u8>();
    (0..size_of::<T>()).step_by(LINE).for_each(|at| fetch_line(first.wrapping_add(at)));
    // A value that is not aligned to cache lines may extend into one more.
    if align_of::<T>() < LINE && size_of::<T>() > 1 {
        fetch_line(first.wrapping_add(size_of::<T>() - 1));
    }
}

/// Prefetches all cache lines of an element, if it exists.
#[inline(always)]
pub fn fetch_all_at<T>(values: &[T], at: usize) {
    if let Some(value) = values.get(at) {
        fetch_all(value);
    }
}

/// Prefetches the first cache line of an element, if it exists.
#[inline(always)]
pub fn fetch_at<T>(values: &[T], at: usize) {
    if let Some(value) = values.get(at) {
        fetch(value);
    }
}

#[inline(always)]
#[allow(unsafe_code)]
fn fetch_line(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch has no architectural effect and never faults, whatever the address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Size in bytes from which on arrays use large pages.
const LARGE: usize = 4 << 20;

/// Creates an empty vector with capacity for this number of values. A large one uses large pages, so that accesses to
/// distant elements do not cause page table walks.
pub fn with_room<T>(values: usize) -> Vec<T> {
    let array = Vec::with_capacity(values);
    use_large_pages(&array);
    array
}

/// Returns a vector with this number of copies of a value.
pub fn filled<T: Clone>(value: T, values: usize) -> Vec<T> {
    let mut array = with_room(values);
    array.resize(values, value);
    array
}

/// Reserves capacity for this number of additional values. May reallocate the vector.
pub fn make_room<T>(array: &mut Vec<T>, more: usize) {
    array.reserve_exact(more);
    use_large_pages(array);
}

fn use_large_pages<T>(array: &Vec<T>) {
    let (filled, whole) = (array.len() * size_of::<T>(), array.capacity() * size_of::<T>());
    if whole >= LARGE {
        advise(array.as_ptr().cast(), filled, whole);
    }
}

/// Merges the small pages of the filled part into large ones. The rest gets large pages when it is filled.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn advise(first: *const u8, filled: usize, whole: usize) {
    /// A multiple of the size of small pages on all supported systems.
    const PAGE: usize = 1 << 16;
    let skipped = first.align_offset(PAGE);
    let from = first.wrapping_add(skipped).cast_mut().cast();
    let pages = |bytes: usize| bytes.saturating_sub(skipped) / PAGE * PAGE;
    // SAFETY: the pages lie within the array, and both calls change only their mapping, not their contents. If the
    // kernel rejects a call, nothing changes.
    unsafe {
        libc::madvise(from, pages(whole), libc::MADV_HUGEPAGE);
        libc::madvise(from, pages(filled), libc::MADV_COLLAPSE);
    }
}

/// No effect on other systems.
#[cfg(not(target_os = "linux"))]
fn advise(_first: *const u8, _filled: usize, _whole: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_changes_nothing() {
        let mut array = with_room(LARGE / 8);
        array.extend(0..LARGE as u64 / 8);
        make_room(&mut array, LARGE);
        array.iter().for_each(fetch);
        fetch_all(&[0_u64; 100]);
        fetch_at(&array, array.len());
        fetch_all_at(&array, array.len() - 1);
        assert!(array.iter().copied().eq(0..LARGE as u64 / 8));
        assert!(array.capacity() >= array.len() + LARGE);
    }
}
