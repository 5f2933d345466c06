//! What was probably meant by an unknown word.

/// The candidate that was probably meant, if one is near: at most a third of the letters differ.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = word.to_lowercase().chars().take(64).collect();
    candidates
        .into_iter()
        .map(|name| (edit_distance(&word, &name.to_lowercase().chars().collect::<Vec<_>>()), name))
        .filter(|&(distance, name)| distance <= (word.len().max(name.chars().count()) / 3).max(1))
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, name)| name)
}

/// Insertions, deletions, substitutions and swaps of neighbours that make `b` of `a` (optimal string
/// alignment).
fn edit_distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let substituted = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = substituted.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_only() {
        assert_eq!(nearest("sw1", ["sw10", "h0", "sw"]), Some("sw10"));
        assert_eq!(nearest("Leaf0", ["leaf0", "leaf1"]), Some("leaf0"));
        assert_eq!(nearest("stra", ["dumbbell", "star"]), Some("star"));
        assert_eq!(nearest("victim", ["h0", "sw"]), None);
    }
}
