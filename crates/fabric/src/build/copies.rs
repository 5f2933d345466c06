//! Multicast trees: the nodes at which the paths of a flow to several receivers diverge.
//!
//! The branches are the listed paths of the flow. For a broadcast with several shortest paths, the frames follow those
//! of the first receiver as far as these lead to the other receivers too.

use super::BuildError;
use super::paths::Paths;
use crate::run::state::copies::{Branch, Forks};
use crate::run::state::route_table::DELIVER;
use crate::spec::{Spec, Subject, multicast};
use frame::PathId;

/// Returns all forks of a fabric.
pub(crate) fn forks(spec: &Spec, paths: &Paths) -> Result<Forks, BuildError> {
    let mut found: Vec<(u32, Vec<Branch>)> = Vec::new();
    let mut first = 0;
    for (at, flow) in spec.flows.iter().enumerate() {
        let own = first..first + flow.paths() as u32;
        first = own.end;
        if !flow.source.destinations.are_all_meant() {
            continue;
        }
        if let Some(why) = multicast::refusal(spec, flow) {
            return Err(BuildError::new(Subject::Flow(at), why));
        }
        part(&paths.hops, own.map(|path| (PathId(path), paths.starts[path as usize])).collect(), &mut found);
    }
    found.sort_unstable_by_key(|fork| fork.0);
    let mut forks = Forks::default();
    for (hop, branches) in found {
        forks.branches.extend(branches);
        forks.at.push((hop, forks.branches.len() as u32));
    }
    Ok(forks)
}

/// Follows paths from a node that they share, until they end.
fn part(hops: &[u32], mut together: Vec<Branch>, found: &mut Vec<(u32, Vec<Branch>)>) {
    loop {
        let port = |branch: &Branch| hops[branch.1 as usize];
        let leader = together[0];
        if together.iter().all(|branch| port(branch) == port(&leader)) {
            if port(&leader) == DELIVER {
                return;
            }
            together.iter_mut().for_each(|branch| branch.1 += 1);
            continue;
        }
        let mut groups: Vec<Vec<Branch>> = Vec::new();
        for branch in together {
            match groups.iter_mut().find(|group| port(&group[0]) == port(&branch)) {
                Some(group) => group.push(branch),
                None => groups.push(vec![branch]),
            }
        }
        found.push((leader.1, groups.iter().map(|group| group[0]).collect()));
        for mut group in groups {
            group.iter_mut().for_each(|branch| branch.1 += 1);
            part(hops, group, found);
        }
        return;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_part_where_their_ports_differ() {
        // Three receivers, all behind port 1: the first through ports 2 and 3, the second through 2 and 4, the third
        // through 5.
        let hops = [1, 2, 3, DELIVER, 1, 2, 4, DELIVER, 1, 5, DELIVER];
        let mut found = Vec::new();
        let paths = [(0, 0), (1, 4), (2, 8)].map(|(path, start)| (PathId(path), start));
        part(&hops, paths.to_vec(), &mut found);
        let branch = |path, hop| (PathId(path), hop);
        assert_eq!(found[0], (1, vec![branch(0, 1), branch(2, 9)]));
        assert_eq!(found[1], (2, vec![branch(0, 2), branch(1, 6)]));
        assert_eq!(found.len(), 2);
    }
}
