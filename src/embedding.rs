//! A text's place in meaning space.
//!
//! One constructor, so that a vector that is not finite or not of unit length cannot exist behind it.

use std::sync::Arc;

use crate::error::Invalid;
use crate::tokens::TokenVectors;
use crate::types::Similarity;

/// A unit vector of `dimension` f32 components, and the vectors of the text's tokens where the model gave them.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedding {
    unit: Box<[f32]>,
    tokens: Option<Arc<TokenVectors>>,
}

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
        Ok(Self { unit, tokens: None })
    }

    /// The same vector, with those of the text's tokens.
    #[must_use]
    pub fn with_tokens(mut self, tokens: Option<TokenVectors>) -> Self {
        self.tokens = tokens.map(Arc::new);
        self
    }

    /// The vectors of the text's tokens; `None` when the model does not give them (a remote one never does).
    pub fn tokens(&self) -> Option<&Arc<TokenVectors>> {
        self.tokens.as_ref()
    }

    /// The components, of unit length together.
    pub fn as_slice(&self) -> &[f32] {
        &self.unit
    }

    /// How many components.
    pub fn dimension(&self) -> usize {
        self.unit.len()
    }

    /// Cosine similarity, clamped. Zero for vectors of different dimension.
    pub fn similarity(&self, other: &Self) -> Similarity {
        if self.dimension() != other.dimension() {
            return Similarity::ZERO;
        }
        Similarity::clamped(self.unit.iter().zip(&other.unit).map(|(a, b)| a * b).sum())
    }
}
