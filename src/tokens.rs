//! The vectors of one text's tokens, small enough to be kept with an entry.
//!
//! Each is scaled to unit length and rounded to 8 bits a component: with 384 components a token takes 392 bytes. What
//! is lost is below 0.005 in a cosine of two tokens, far less than any decision turns on.

/// Unit vectors of a text's tokens in their order, special tokens left out.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenVectors {
    dimension: usize,
    ids: Box<[u32]>,
    /// What one step of a code stands for, per token.
    steps: Box<[f32]>,
    codes: Box<[i8]>,
}

/// The largest code; symmetric, so that a code's negative is a code.
const TOP: f32 = 127.0;

impl TokenVectors {
    /// Rounds token vectors of any length; `None` when there is none, or one is not finite, or they differ in dimension.
    pub fn of<'a>(tokens: impl IntoIterator<Item = (u32, &'a [f32])>) -> Option<Self> {
        let (mut ids, mut steps, mut codes) = (Vec::new(), Vec::new(), Vec::new());
        let mut dimension = 0;
        for (id, vector) in tokens {
            if ids.is_empty() {
                dimension = vector.len();
            }
            if vector.len() != dimension || dimension == 0 {
                return None;
            }
            let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
            let top = vector.iter().fold(0.0_f32, |top, x| top.max(x.abs()));
            if !norm.is_finite() || norm <= 0.0 || top <= 0.0 {
                return None;
            }
            ids.push(id);
            steps.push(top / (TOP * norm));
            codes.extend(vector.iter().map(|x| code(x / top)));
        }
        (!ids.is_empty()).then(|| Self { dimension, ids: ids.into(), steps: steps.into(), codes: codes.into() })
    }

    /// Puts parts together that were taken apart by the accessors; `None` when their lengths do not belong together.
    pub fn from_parts(dimension: usize, ids: Vec<u32>, steps: Vec<f32>, codes: Vec<i8>) -> Option<Self> {
        let fits = dimension > 0 && !ids.is_empty() && ids.len() == steps.len();
        let fits = fits && ids.len().checked_mul(dimension) == Some(codes.len());
        let sane = steps.iter().all(|step| step.is_finite() && *step > 0.0);
        (fits && sane).then(|| Self { dimension, ids: ids.into(), steps: steps.into(), codes: codes.into() })
    }

    /// How many tokens; at least one.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Components of a token's vector.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The tokenizer's ids.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// What one step of a code stands for, per token.
    pub fn steps(&self) -> &[f32] {
        &self.steps
    }

    /// All codes, token by token.
    pub fn codes(&self) -> &[i8] {
        &self.codes
    }

    /// Memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        self.codes.len() + self.ids.len() * 8
    }

    fn vector(&self, token: usize) -> &[i8] {
        &self.codes[token * self.dimension..(token + 1) * self.dimension]
    }

    /// Cosines of all tokens with all tokens of `other`, row by row, -1 to 1; `None` for different dimensions.
    pub fn cosines(&self, other: &Self) -> Option<Vec<f32>> {
        if self.dimension != other.dimension {
            return None;
        }
        let mut cosines = Vec::with_capacity(self.len() * other.len());
        for (i, step) in self.steps.iter().enumerate() {
            let row = self.vector(i);
            let others = other.steps.iter().enumerate();
            cosines.extend(others.map(|(j, other_step)| {
                #[allow(clippy::cast_precision_loss)]
                let dot = dot(row, other.vector(j)) as f32;
                (dot * step * other_step).clamp(-1.0, 1.0)
            }));
        }
        Some(cosines)
    }
}

#[allow(clippy::cast_possible_truncation)]
fn code(share: f32) -> i8 {
    (share * TOP).round() as i8
}

/// Sums of products of two codes stay below 2^31 for any dimension under 133,000.
fn dot(a: &[i8], b: &[i8]) -> i32 {
    a.iter().zip(b).map(|(x, y)| i32::from(i16::from(*x) * i16::from(*y))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(seed: u32) -> Vec<f32> {
        (0..384_u16).map(|i| (f32::from(i) * 0.7 + f32::from(u16::try_from(seed).unwrap()) * 1.3).sin()).collect()
    }

    #[test]
    fn cosines_are_kept_within_half_a_percent() {
        let vectors: Vec<Vec<f32>> = (0..6).map(wave).collect();
        let tokens =
            TokenVectors::of(vectors.iter().enumerate().map(|(i, v)| (u32::try_from(i).unwrap(), &v[..]))).unwrap();
        let cosines = tokens.cosines(&tokens).unwrap();
        for (i, a) in vectors.iter().enumerate() {
            for (j, b) in vectors.iter().enumerate() {
                let norm = |v: &[f32]| v.iter().map(|x| x * x).sum::<f32>().sqrt();
                let exact = a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>() / (norm(a) * norm(b));
                assert!((cosines[i * 6 + j] - exact).abs() < 0.005, "{i} {j}: {} {exact}", cosines[i * 6 + j]);
            }
        }
    }

    #[test]
    fn what_is_not_finite_or_of_another_dimension_is_refused() {
        assert!(TokenVectors::of([(1, &[f32::NAN, 1.0][..])]).is_none());
        assert!(TokenVectors::of([(1, &[0.0, 0.0][..])]).is_none());
        assert!(TokenVectors::of([(1, &[1.0][..]), (2, &[1.0, 2.0][..])]).is_none());
        assert!(TokenVectors::of([]).is_none());
    }

    #[test]
    fn parts_make_the_whole_again_and_wrong_parts_do_not() {
        let tokens = TokenVectors::of([(7, &[1.0, -2.0][..]), (9, &[0.5, 0.5][..])]).unwrap();
        let again =
            TokenVectors::from_parts(2, tokens.ids().to_vec(), tokens.steps().to_vec(), tokens.codes().to_vec());
        assert_eq!(again.as_ref(), Some(&tokens));
        assert!(TokenVectors::from_parts(2, vec![1], vec![1.0], vec![1, 2, 3]).is_none());
        assert!(TokenVectors::from_parts(0, vec![], vec![], vec![]).is_none());
    }
}
