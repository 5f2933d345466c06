//! Invariants of a switch's memory when frames enter and leave in any order: its occupancy is the sum of the queues,
//! and no limit is exceeded.

use queueing::{Alpha, Holding, Limit, Part, Pool, Refused, Rules, SharedMemory};

const QUEUES: usize = 6;

/// Checks a memory. The input has pools and rules of queues, then frames of two bytes each, the first of which selects
/// the queue and the direction.
///
/// # Errors
/// The violated invariant.
pub fn check(bytes: &[u8]) -> Result<(), String> {
    let Some((head, steps)) = bytes.split_first_chunk::<32>() else { return Ok(()) };
    let size = |at: usize| u64::from(u16::from_le_bytes([head[at], head[at + 1]]));
    let pools: Vec<Pool> = [0, 4].map(|at| Pool::new(size(at) * 2, size(at + 2))).into();
    let rules: Vec<Rules> = (0..QUEUES)
        .map(|nth| {
            let own = &head[8 + 4 * nth..];
            let alpha = Alpha::new(f64::from(2u32.pow(u32::from(own[2] % 8))) / 16.0);
            let limit = match alpha.filter(|_| own[2] & 128 == 0) {
                Some(alpha) => Limit::Dynamic(alpha),
                None => Limit::Static(u64::from(own[2]) * 300),
            };
            let headroom = u64::from(own[1]) * 64;
            let xon = u64::from(own[3] % 16) * 200;
            let xon_offset = if own[3] & 128 == 0 { u64::MAX } else { u64::from(own[3]) * 10 };
            Rules {
                pool: own[3] >> 6 & 1,
                reserved: u64::from(own[0]) * 20,
                limit,
                headroom,
                xon,
                xon_offset,
            }
        })
        .collect();
    let mut memory = SharedMemory::new(pools, rules.clone());
    let mut held = [Holding::default(); QUEUES];
    let mut frames: [Vec<u16>; QUEUES] = Default::default();
    for step in steps.chunks_exact(2) {
        let (nth, length) = (usize::from(step[0] >> 1) % QUEUES, 64 + u16::from(step[1]) * 6);
        let (of, queue) = (nth as u16, held[nth]);
        if step[0] & 1 == 0 {
            match memory.admit(of, &queue, length) {
                Ok(part) => {
                    let (own, pool) = memory.of(of);
                    let over = match part {
                        Part::Headroom => queue.headroom + u64::from(length) > own.headroom,
                        Part::Own => {
                            let beyond = |holds: u64| holds.saturating_sub(own.reserved);
                            beyond(queue.own + u64::from(length)) - beyond(queue.own) > pool.free()
                        }
                    };
                    if over {
                        return Err(format!("{part:?} takes {length} B beyond its limit"));
                    }
                    memory.add(of, &mut held[nth], length, part);
                    frames[nth].push(length);
                }
                Err(Refused::Limit) if rules[nth].headroom > 0 => {
                    return Err("a queue with headroom is refused by its limit".into());
                }
                Err(_) => {}
            }
        } else if let Some(length) = frames[nth].pop() {
            if !memory.remove(of, &mut held[nth], length) {
                return Err("a frame leaves that was not there".into());
            }
        } else if memory.remove(of, &mut held[nth], 64) {
            return Err("an empty queue gives a frame away".into());
        }
        sums(&memory, &rules, &held)?;
        if held[nth].own + held[nth].headroom
            != frames[nth].iter().map(|&bytes| u64::from(bytes)).sum::<u64>()
        {
            return Err("a queue holds other bytes than its frames have".into());
        }
    }
    for (nth, frames) in frames.iter().enumerate() {
        for &length in frames {
            if !memory.remove(nth as u16, &mut held[nth], length) {
                return Err("a frame leaves that was not there".into());
            }
        }
    }
    let is_empty = memory.pools().iter().all(|pool| pool.used() == 0 && pool.headroom().1 == 0);
    is_empty.then_some(()).ok_or_else(|| "something is left when all queues are empty".into())
}

/// Checks that the occupancy of each pool is the sum of its queues.
fn sums(memory: &SharedMemory, rules: &[Rules], held: &[Holding]) -> Result<(), String> {
    for (number, pool) in memory.pools().iter().enumerate() {
        let own = || rules.iter().zip(held).filter(|(rules, _)| usize::from(rules.pool) == number);
        let used: u64 = own().map(|(rules, queue)| queue.own.saturating_sub(rules.reserved)).sum();
        let headroom: u64 = own().map(|(_, queue)| queue.headroom).sum();
        let (room, taken) = pool.headroom();
        if used != pool.used() || headroom != taken || taken > room {
            return Err(format!(
                "pool {number} counts {} and {taken} B of {used} and {headroom} B",
                pool.used()
            ));
        }
    }
    Ok(())
}
