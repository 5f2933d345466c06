//! Suggestions for unknown words.

/// Returns the most similar candidate, if it differs in at most a third of the letters.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: String = word.to_lowercase().chars().take(64).collect();
    let letters = word.chars().count();
    candidates
        .into_iter()
        .map(|name| (strsim::osa_distance(&word, &name.to_lowercase()), name))
        .filter(|&(distance, name)| distance <= (letters.max(name.chars().count()) / 3).max(1))
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, name)| name)
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
