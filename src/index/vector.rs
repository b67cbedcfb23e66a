//! Arithmetic on vectors: f32 as it is, and 8-bit codes that are four times smaller and faster to compare.
//!
//! A code stands for `scale * code`, and its `error` bounds how far that is from the vector, so that a scan over
//! codes can prove which vectors it need not look at.

use simsimd::SpatialSimilarity;

/// The inner product, 0 when the lengths differ. Never NaN for finite input.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    #[allow(clippy::cast_possible_truncation)]
    f32::dot(a, b).map_or(0.0, |product| product as f32)
}

/// The inner product of two codes, exact.
pub(super) fn dot_codes(a: &[i8], b: &[i8]) -> f32 {
    #[allow(clippy::cast_possible_truncation)]
    i8::dot(a, b).map_or(0.0, |product| product as f32)
}

/// A vector in 8 bits a component.
#[derive(Clone, Debug)]
pub(super) struct Code {
    pub(super) values: Vec<i8>,
    pub(super) scale: f32,
    /// The length of the difference between the vector and `scale * code`.
    pub(super) error: f32,
}

impl Code {
    /// The nearest code of `vector`.
    pub(super) fn of(vector: &[f32]) -> Self {
        let largest = vector.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
        let scale = if largest > 0.0 { largest / 127.0 } else { 1.0 };
        #[allow(clippy::cast_possible_truncation)]
        let code: Vec<i8> = vector.iter().map(|x| (x / scale).round().clamp(-127.0, 127.0) as i8).collect();
        let squares: f32 = vector.iter().zip(&code).map(|(x, c)| (x - f32::from(*c) * scale).powi(2)).sum();
        Self { values: code, scale, error: squares.sqrt() }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A reproducible stream of numbers in [-1, 1).
    pub(in crate::index) struct Noise(pub(in crate::index) u64);

    impl Noise {
        pub(in crate::index) fn next(&mut self) -> f32 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
        }

        pub(in crate::index) fn unit(&mut self, dimension: usize) -> Vec<f32> {
            let raw: Vec<f32> = (0..dimension).map(|_| self.next()).collect();
            scaled(raw)
        }

        pub(in crate::index) fn near(&mut self, centre: &[f32], spread: f32) -> Vec<f32> {
            let spread = spread / (centre.len() as f32).sqrt();
            scaled(centre.iter().map(|x| x + spread * self.next()).collect())
        }
    }

    pub(in crate::index) fn scaled(mut raw: Vec<f32>) -> Vec<f32> {
        let norm = raw.iter().map(|x| x * x).sum::<f32>().sqrt();
        for x in &mut raw {
            *x /= norm;
        }
        raw
    }

    #[test]
    fn the_error_of_a_code_bounds_the_error_of_a_product() {
        let mut noise = Noise(7);
        for _ in 0..200 {
            let (a, b) = (noise.unit(384), noise.unit(384));
            let (x, y) = (Code::of(&a), Code::of(&b));
            let product = dot_codes(&x.values, &y.values) * x.scale * y.scale;
            assert!((product - dot(&a, &b)).abs() <= x.error + y.error + x.error * y.error + 1e-5);
        }
    }

    #[test]
    fn vectors_of_different_length_have_nothing_in_common() {
        assert_eq!(dot(&[1.0], &[1.0, 0.0]).to_bits(), 0.0_f32.to_bits());
        assert_eq!(dot_codes(&[1], &[1, 0]).to_bits(), 0.0_f32.to_bits());
    }
}
