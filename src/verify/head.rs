//! The small network that compares the two sides of a pair read together: what the reader's encoder is followed by.
//!
//! The mean vectors u and v of the two sides, each of unit length, become the features |u - v|, u * v, their cosine and
//! its complement; a hidden layer with GELU (Hendrycks and Gimpel 2016, arXiv 1606.08415) and a weighted sum give the
//! log-odds. `models/train/net.py` trains the same.

/// Units of the hidden layer.
const HIDDEN: usize = 128;

/// The weights.
pub struct Head {
    width: usize,
    hidden: Vec<f32>,
    bias: Vec<f32>,
    out: Vec<f32>,
    base: f32,
}

impl Head {
    /// Reads little-endian 32-bit floats: the hidden layer row by row, its biases, the weights of the sum, its bias.
    ///
    /// # Errors
    /// When their number fits no width, or one is not finite.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let (words, []) = bytes.as_chunks::<4>() else { return Err(format!("{} bytes", bytes.len())) };
        let mut values: Vec<f32> = words.iter().map(|word| f32::from_le_bytes(*word)).collect();
        let features = values.len().saturating_sub(2 * HIDDEN + 1) / HIDDEN;
        let fits = features >= 4 && features.is_multiple_of(2) && values.len() == HIDDEN * (features + 2) + 1;
        if !fits || values.iter().any(|value| !value.is_finite()) {
            return Err(format!("{} numbers are no head", values.len()));
        }
        let base = values.pop().unwrap_or_default();
        let out = values.split_off(HIDDEN * (features + 1));
        let bias = values.split_off(HIDDEN * features);
        Ok(Self { width: (features - 2) / 2, hidden: values, bias, out, base })
    }

    /// Components of the vectors that it compares.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The log-odds, from the sums or means of each side's token vectors; `None` when their width is another, or one is 0.
    pub fn log_odds(&self, a: &[f32], b: &[f32]) -> Option<f32> {
        let (u, v) = (unit(a)?, unit(b)?);
        if u.len() != self.width || v.len() != self.width {
            return None;
        }
        let pairs = || u.iter().zip(&v);
        let cosine: f32 = pairs().map(|(u, v)| u * v).sum();
        let mut features: Vec<f32> = pairs().map(|(u, v)| (u - v).abs() * 10.0).collect();
        features.extend(pairs().map(|(u, v)| u * v * 50.0));
        features.extend([cosine * 5.0, (1.0 - cosine) * 20.0]);
        let rows = self.hidden.chunks_exact(features.len()).zip(&self.bias);
        let hidden = rows.map(|(row, bias)| gelu(row.iter().zip(&features).map(|(w, x)| w * x).sum::<f32>() + bias));
        Some(hidden.zip(&self.out).map(|(x, w)| x * w).sum::<f32>() + self.base)
    }
}

fn unit(vector: &[f32]) -> Option<Vec<f32>> {
    let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    (norm.is_finite() && norm > 0.0).then(|| vector.iter().map(|x| x / norm).collect())
}

fn gelu(x: f32) -> f32 {
    0.5 * x * (1.0 + erf(x * std::f32::consts::FRAC_1_SQRT_2))
}

/// The error function to 1.5e-7: Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26.
fn erf(x: f32) -> f32 {
    let t = 1.0 / (1.0 + 0.327_591_1 * x.abs());
    let sum = [1.061_405_4, -1.453_152_1, 1.421_413_8, -0.284_496_72, 0.254_829_6];
    let polynomial = sum.iter().fold(0.0, |rest, factor| (rest + factor) * t);
    (1.0 - polynomial * (-x * x).exp()).copysign(x)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A head of width 2 whose log-odds are `5 * cosine`: one unit passes the cosine on.
    pub fn by_cosine() -> Vec<u8> {
        let mut values = vec![0.0_f32; HIDDEN * 8 + 1];
        values[4] = 4.0; // The first unit's weight of the cosine feature (5 * cosine), far into GELU's straight part.
        values[HIDDEN * 6] = 30.0;
        values[HIDDEN * 7] = 0.25;
        values[HIDDEN * 8] = -7.5;
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    #[test]
    fn the_log_odds_follow_the_weights() {
        let head = Head::read(&by_cosine()).unwrap();
        assert_eq!(head.width(), 2);
        for (b, cosine) in [([2.0, 0.0], 1.0), ([0.0, 3.0], 0.0), ([3.0, 4.0], 0.6)] {
            let odds = head.log_odds(&[7.0, 0.0], &b).unwrap();
            assert!((odds - 5.0 * cosine).abs() < 1e-3, "{odds} {cosine}");
        }
        assert!(head.log_odds(&[0.0, 0.0], &[1.0, 0.0]).is_none());
        assert!(head.log_odds(&[1.0, 0.0, 0.0], &[1.0, 0.0, 0.0]).is_none());
    }

    #[test]
    fn the_error_function_is_the_known_one() {
        for (x, y) in [(0.0, 0.0), (0.5, 0.520_499_9), (1.0, 0.842_700_8), (-1.0, -0.842_700_8), (3.0, 0.999_977_9)] {
            assert!((erf(x) - y).abs() < 1e-6, "{x}: {} {y}", erf(x));
        }
    }

    #[test]
    fn what_is_no_head_is_refused() {
        let whole = by_cosine();
        for bytes in [&whole[..whole.len() - 1], &whole[..whole.len() - 4], &[][..]] {
            assert!(Head::read(bytes).is_err());
        }
        let mut broken = whole;
        broken[..4].copy_from_slice(&f32::NAN.to_le_bytes());
        assert!(Head::read(&broken).is_err());
    }
}
