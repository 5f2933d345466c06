//! Cycles among the dependencies of a rank.

use crate::Rank;

/// Returns the operations of a cycle, each of which depends on the previous one, and the first on the last; `None` if
/// there is no cycle. Time and memory are linear in the number of operations and dependencies.
pub(crate) fn find(rank: &Rank) -> Option<Vec<u32>> {
    let mut waits: Vec<u32> = rank.operations().iter().map(|one| one.waits()).collect();
    let mut ready: Vec<u32> = rank.roots().collect();
    let mut done = 0;
    while let Some(one) = ready.pop() {
        done += 1;
        for &next in rank.after_end(one).iter().chain(rank.after_start(one)) {
            waits[next as usize] -= 1;
            if waits[next as usize] == 0 {
                ready.push(next);
            }
        }
    }
    if done == rank.operations().len() { None } else { Some(trace(rank, &waits)) }
}

/// Returns a cycle among the operations that still wait. Each of these has a predecessor that still waits, so that
/// following predecessors eventually repeats an operation.
fn trace(rank: &Rank, waits: &[u32]) -> Vec<u32> {
    let blocked = |one: &u32| waits[*one as usize] > 0;
    let mut before = vec![None; waits.len()];
    for one in (0..waits.len() as u32).filter(blocked) {
        for next in rank.after_end(one).iter().chain(rank.after_start(one)) {
            before[*next as usize] = Some(one);
        }
    }
    let mut order = vec![None; waits.len()];
    let mut path = Vec::new();
    let mut at = (0..waits.len() as u32).find(blocked);
    while let Some(one) = at {
        if let Some(first) = order[one as usize] {
            let mut cycle = path.split_off(first);
            cycle.reverse();
            return cycle;
        }
        order[one as usize] = Some(path.len());
        path.push(one);
        at = before[one as usize];
    }
    path
}
