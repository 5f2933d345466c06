//! Finite fields of a few elements, for the construction of graphs.
//!
//! An element of GF(p^n) is the number whose digits to base p are the coefficients of its polynomial. Products are
//! taken modulo the first monic irreducible polynomial, in the order of these numbers.

use std::collections::BTreeSet;

/// The finite field GF(q).
#[derive(Clone, Debug)]
pub struct Galois {
    /// The characteristic p, a prime.
    prime: u64,
    /// Coefficients of the modulus of products, without its leading 1; a single one for a prime field.
    modulus: Vec<u64>,
}

impl Galois {
    /// Creates the field of `q` elements; `None` if `q` is not a power of a prime.
    pub fn new(q: u64) -> Option<Galois> {
        let prime = (2..=q).find(|&divisor| q.is_multiple_of(divisor))?;
        let mut degree = 0;
        let mut rest = q;
        while rest.is_multiple_of(prime) {
            (rest, degree) = (rest / prime, degree + 1);
        }
        if rest != 1 {
            return None;
        }
        if degree == 1 {
            return Some(Galois { prime, modulus: vec![0] });
        }
        // The first modulus for which a generator exists yields a field; there are few polynomials to try.
        let fields = (0..q).map(|number| Galois { prime, modulus: digits(number, prime, degree) });
        fields.into_iter().find(|field| field.primitive(q).is_some())
    }
    fn degree(&self) -> usize {
        self.modulus.len()
    }
    fn number(&self, coefficients: &[u64]) -> u64 {
        coefficients.iter().rev().fold(0, |number, &digit| number * self.prime + digit)
    }
    /// The sum.
    pub fn add(&self, a: u64, b: u64) -> u64 {
        let (a, b) = (digits(a, self.prime, self.degree()), digits(b, self.prime, self.degree()));
        let sum: Vec<u64> = a.iter().zip(&b).map(|(a, b)| (a + b) % self.prime).collect();
        self.number(&sum)
    }
    /// The difference.
    pub fn subtract(&self, a: u64, b: u64) -> u64 {
        let (a, b) = (digits(a, self.prime, self.degree()), digits(b, self.prime, self.degree()));
        let difference: Vec<u64> = a.iter().zip(&b).map(|(a, b)| (a + self.prime - b) % self.prime).collect();
        self.number(&difference)
    }
    /// The product.
    pub fn multiply(&self, a: u64, b: u64) -> u64 {
        let (degree, prime) = (self.degree(), self.prime);
        if degree == 1 {
            return a * b % prime;
        }
        let (a, b) = (digits(a, prime, degree), digits(b, prime, degree));
        let mut product = vec![0; 2 * degree - 1];
        for (i, x) in a.iter().enumerate() {
            for (j, y) in b.iter().enumerate() {
                product[i + j] = (product[i + j] + x * y) % prime;
            }
        }
        for high in (degree..product.len()).rev() {
            let leading = std::mem::take(&mut product[high]);
            for (low, coefficient) in self.modulus.iter().enumerate() {
                let at = high - degree + low;
                product[at] = (product[at] + (prime - coefficient) % prime * leading) % prime;
            }
        }
        self.number(&product[..degree])
    }
    /// The powers of an element from 1 on, up to the first repetition.
    pub fn powers(&self, of: u64) -> Vec<u64> {
        let (mut powers, mut seen) = (Vec::new(), BTreeSet::new());
        let mut next = 1;
        while seen.insert(next) {
            powers.push(next);
            next = self.multiply(next, of);
        }
        powers
    }
    /// The first primitive element, whose powers are all elements but 0; `q` is the number of elements.
    pub fn primitive(&self, q: u64) -> Option<u64> {
        (1..q).find(|&element| {
            let powers = self.powers(element);
            powers.len() as u64 == q - 1 && !powers.contains(&0)
        })
    }
}

fn digits(mut number: u64, base: u64, count: usize) -> Vec<u64> {
    let next = |_| {
        let digit = number % base;
        number /= base;
        digit
    };
    (0..count).map(next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_the_laws_of_fields() {
        for q in [2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 25, 27] {
            let field = Galois::new(q).unwrap();
            for a in 0..q {
                assert_eq!((field.add(a, 0), field.multiply(a, 1)), (a, a));
                for b in 0..q {
                    assert_eq!(field.subtract(field.add(a, b), b), a);
                    assert_eq!(field.multiply(a, b), field.multiply(b, a));
                    assert_eq!(field.multiply(a, b) == 0, a == 0 || b == 0, "{a} x {b} in GF({q})");
                    let c = (a + 2 * b) % q;
                    let apart = field.add(field.multiply(a, c), field.multiply(b, c));
                    assert_eq!(field.multiply(field.add(a, b), c), apart);
                }
            }
        }
    }

    #[test]
    fn others_are_none() {
        assert!([0, 1, 6, 10, 12, 15, 24].into_iter().all(|q| Galois::new(q).is_none()));
    }
}
