//! Lists of weights, one a queue, and what can be wrong with them.

/// The largest weight. Tags keep at least 2^-20 of the precision of the smallest weight.
pub(crate) const LARGEST: u32 = 1_000_000;

/// The weights of all queues; an empty list means equal weights.
pub(crate) fn expand(weights: &[u32], queues: u32) -> Vec<u32> {
    if weights.is_empty() { vec![1; queues as usize] } else { weights.to_vec() }
}

/// Whether `weights` are weights of `queues` queues. `what`: "weight", "quantum".
pub(crate) fn check(what: &str, weights: &[u32], queues: u32, largest: u32) -> Result<(), String> {
    if weights.is_empty() {
        return Ok(());
    }
    check_length(what, weights.len(), queues)?;
    for (queue, &weight) in weights.iter().enumerate() {
        if weight == 0 {
            return Err(format!(
                "the {what} of queue {queue} is 0: the queue would never send; accepted are 1 to {largest}"
            ));
        }
        if weight > largest {
            return Err(format!("the {what} of queue {queue} is {weight}; accepted are 1 to {largest}"));
        }
    }
    Ok(())
}

/// Whether a list has an entry for each queue.
pub(crate) fn check_length(what: &str, length: usize, queues: u32) -> Result<(), String> {
    if length != queues as usize {
        return Err(format!(
            "{length} entries of \"{what}\" for a port of {queues} queues; give one for each queue"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_weights_say_why() {
        assert!(check("weight", &[1, 0], 2, LARGEST).unwrap_err().contains("queue 1 is 0"));
        assert!(
            check("weight", &[1, 2_000_000], 2, LARGEST).unwrap_err().contains("accepted are 1 to 1000000")
        );
        assert!(check("weight", &[1; 9], 8, LARGEST).unwrap_err().contains("9 entries"));
        assert_eq!(check("weight", &[], 8, LARGEST), Ok(()));
        assert_eq!(expand(&[], 2), [1, 1]);
    }
}
