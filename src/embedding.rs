//! A text's place in meaning space.
//!
//! One constructor, so that a vector that is not finite or not of unit length cannot exist behind it.

use crate::error::Invalid;
use crate::types::Similarity;

/// A unit vector of `dimension` f32 components.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedding(Box<[f32]>);

impl Embedding {
    /// Scales `raw` to unit length.
    ///
    /// # Errors
    /// When `raw` has not `dimension` components, or is not finite, or has (nearly) no length.
    pub fn normalise(raw: Vec<f32>, dimension: usize) -> Result<Self, Invalid> {
        if raw.len() != dimension {
            let problem = format!("{} components", raw.len());
            return Err(Invalid::new("embedding", problem, format!("{dimension} components")));
        }
        let norm = raw.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
        if !norm.is_finite() || norm < 1e-6 {
            return Err(Invalid::new("embedding", format!("its length is {norm}"), "a finite length above 0"));
        }
        #[allow(clippy::cast_possible_truncation)]
        let unit = raw.into_iter().map(|x| (f64::from(x) / norm) as f32).collect();
        Ok(Self(unit))
    }

    /// The components, of unit length together.
    pub fn as_slice(&self) -> &[f32] {
        &self.0
    }

    /// How many components.
    pub fn dimension(&self) -> usize {
        self.0.len()
    }

    /// Cosine similarity, clamped. Zero for vectors of different dimension.
    pub fn similarity(&self, other: &Self) -> Similarity {
        if self.dimension() != other.dimension() {
            return Similarity::ZERO;
        }
        Similarity::clamped(self.0.iter().zip(&other.0).map(|(a, b)| a * b).sum())
    }
}
