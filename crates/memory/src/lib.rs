//! Hints to processor and kernel about memory: prefetches, and large pages for large arrays.
//!
//! Both are advice: they change how fast memory is, never what it holds. The unsafe code of
//! Penstock is here and in the border of `capi` with C, beside that of its tests.
//!
//! ```
//! let counters: Vec<u64> = memory::filled(0, 1_000);
//! memory::fetch_at(&counters, 500); // is in the caches by the time it is read
//! assert_eq!(counters[500], 0);
//! ```

#![warn(clippy::too_many_lines)]

/// Bytes of a line of the caches.
pub const LINE: usize = 64;

/// Fetches the first line of a value into the caches, if it is not there. The value is needed soon, but not at once.
#[inline(always)]
pub fn fetch<T>(value: &T) {
    fetch_line(std::ptr::from_ref(value).cast());
}

/// Fetches all lines of a value.
#[inline(always)]
pub fn fetch_all<T>(value: &T) {
    let first = std::ptr::from_ref(value).cast::<u8>();
    (0..size_of::<T>()).step_by(LINE).for_each(|at| fetch_line(first.wrapping_add(at)));
    // One that is not aligned may end in a line more.
    if align_of::<T>() < LINE && size_of::<T>() > 1 {
        fetch_line(first.wrapping_add(size_of::<T>() - 1));
    }
}

/// Fetches all lines of an element; nothing if there is none.
#[inline(always)]
pub fn fetch_all_at<T>(values: &[T], at: usize) {
    if let Some(value) = values.get(at) {
        fetch_all(value);
    }
}

/// Fetches the first line of an element; nothing if there is none.
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
    // SAFETY: a prefetch reads nothing and never faults, whatever the address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Size in bytes from which arrays get large pages.
const LARGE: usize = 4 << 20;

/// An empty array with room for this number of values, in large pages if that is large: data that is far apart in it
/// is then accessed without page table walks.
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

/// Reserves room for this number of further values, which may move the array.
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

/// Merges the small pages of the filled part into large ones; the rest gets large pages when it is filled.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn advise(first: *const u8, filled: usize, whole: usize) {
    /// A multiple of the size of small pages, whatever that is.
    const PAGE: usize = 1 << 16;
    let skipped = first.align_offset(PAGE);
    let from = first.wrapping_add(skipped).cast_mut().cast();
    let pages = |bytes: usize| bytes.saturating_sub(skipped) / PAGE * PAGE;
    // SAFETY: the pages lie within the array, and both calls change how they are mapped, not what they hold. If a kernel
    // refuses, all stays as it is.
    unsafe {
        libc::madvise(from, pages(whole), libc::MADV_HUGEPAGE);
        libc::madvise(from, pages(filled), libc::MADV_COLLAPSE);
    }
}

/// Nothing on other systems.
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
