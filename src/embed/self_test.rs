//! Asks a model, before anyone trusts it, for vectors whose answer is known.
//!
//! A damaged file, a wrong pooling or a processor that rounds another way all give vectors that look like any others.
//! A model folder brings reference vectors and pairs; any other model must at least tell two unlike texts apart.

use serde::Deserialize;

use super::session::Session;
use crate::embedding::Embedding;

/// Two texts with nothing in common but a question mark.
pub const UNLIKE: [&str; 2] = ["How do I reset my password?", "Which bird lays the largest egg?"];
/// Cosine from which a model without references does not tell [`UNLIKE`] texts apart.
pub const TOO_CLOSE: f32 = 0.985;

#[derive(Deserialize)]
struct SelfTest {
    min_vector_cosine: f32,
    vectors: Vec<Reference>,
    paraphrases: Vec<Alike>,
    unrelated: Vec<Unlike>,
}

#[derive(Deserialize)]
struct Reference {
    text: String,
    vector: Vec<f32>,
}

#[derive(Deserialize)]
struct Alike {
    a: String,
    b: String,
    at_least: f32,
}

#[derive(Deserialize)]
struct Unlike {
    a: String,
    b: String,
    at_most: f32,
}

/// Tests `session` and returns the dimension of its vectors, which must be `dimension` if that is known.
///
/// # Errors
/// The first difference, for people.
pub fn run(session: &mut Session, dimension: Option<usize>, references: Option<&[u8]>) -> Result<usize, String> {
    let first = session(UNLIKE[0]).map_err(|error| format!("the model does not run: {error}"))?;
    let dimension = dimension.unwrap_or(first.vector.len());
    let mut embed = |text: &str| -> Result<Embedding, String> {
        let raw = session(text).map_err(|error| format!("the model does not run: {error}"))?;
        Embedding::normalise(raw.vector, dimension)
            .map_err(|invalid| format!("the model's vectors are wrong: {invalid}"))
    };
    match references {
        Some(json) => {
            let test = serde_json::from_slice(json).map_err(|error| format!("self_test.json: {error}"))?;
            compare(&test, dimension, &mut embed)?;
        }
        None => tells_apart(&embed(UNLIKE[0])?, &embed(UNLIKE[1])?)?,
    }
    Ok(dimension)
}

/// Whether the vectors of the [`UNLIKE`] texts differ enough.
///
/// # Errors
/// When they do not.
pub fn tells_apart(one: &Embedding, other: &Embedding) -> Result<(), String> {
    let cosine = one.similarity(other).get();
    if cosine > TOO_CLOSE {
        return Err(format!("unrelated texts are too close (similarity {cosine:.3}): the vectors are degenerate"));
    }
    Ok(())
}

fn compare(
    test: &SelfTest,
    dimension: usize,
    embed: &mut dyn FnMut(&str) -> Result<Embedding, String>,
) -> Result<(), String> {
    for Reference { text, vector } in &test.vectors {
        let reference = Embedding::normalise(vector.clone(), dimension)
            .map_err(|invalid| format!("self_test.json: the vector of {text:?}: {invalid}"))?;
        let cosine = embed(text)?.similarity(&reference).get();
        if cosine < test.min_vector_cosine {
            return Err(format!(
                "self-test: the vector of {text:?} is not the model's (cosine {cosine:.4}, at least {} expected)",
                test.min_vector_cosine
            ));
        }
    }
    for Unlike { a, b, at_most } in &test.unrelated {
        let cosine = embed(a)?.similarity(&embed(b)?).get();
        if cosine > *at_most {
            return Err(format!(
                "self-test: unrelated texts are too close ({a:?}, {b:?}: {cosine:.3}, at most {at_most} expected)"
            ));
        }
    }
    for Alike { a, b, at_least } in &test.paraphrases {
        let cosine = embed(a)?.similarity(&embed(b)?).get();
        if cosine < *at_least {
            return Err(format!(
                "self-test: paraphrases are too far apart ({a:?}, {b:?}: {cosine:.3}, at least {at_least} expected)"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(vector_of: fn(&str) -> Vec<f32>) -> Session {
        Box::new(move |text| Ok(vector_of(text).into()))
    }

    fn by_first_letter(text: &str) -> Vec<f32> {
        if text.starts_with('H') { vec![1.0, 0.0] } else { vec![0.0, 1.0] }
    }

    const REFERENCES: &str = r#"{
        "min_vector_cosine": 0.99,
        "vectors": [{"text": "H", "vector": [1.0, 0.01]}],
        "paraphrases": [{"a": "Ha", "b": "Hb", "at_least": 0.8}],
        "unrelated": [{"a": "Ha", "b": "W", "at_most": 0.3}]
    }"#;

    #[test]
    fn the_dimension_is_the_vectors_own_when_none_is_promised() {
        assert_eq!(run(&mut session(by_first_letter), None, None), Ok(2));
        assert_eq!(run(&mut session(by_first_letter), Some(2), Some(REFERENCES.as_bytes())), Ok(2));
    }

    #[test]
    fn a_wrong_dimension_zeros_nan_and_one_point_for_all_are_found() {
        let failure = |vector_of, dimension| run(&mut session(vector_of), dimension, None).unwrap_err();
        assert!(failure(by_first_letter, Some(3)).contains("3 components"));
        assert!(failure(|_| vec![0.0, 0.0], None).contains("wrong"));
        assert!(failure(|_| vec![f32::NAN, 0.0], None).contains("wrong"));
        assert!(failure(|_| Vec::new(), None).contains("wrong"));
        assert!(failure(|_| vec![1.0, 1.0], None).contains("too close"));
    }

    #[test]
    fn each_kind_of_reference_is_compared() {
        let failure = |vector_of| run(&mut session(vector_of), None, Some(REFERENCES.as_bytes())).unwrap_err();
        assert!(failure(|_| vec![0.0, 1.0]).contains("not the model's"));
        assert!(failure(|_| vec![1.0, 0.0]).contains("unrelated"));
        let far = |text: &str| if text == "Hb" || text == "W" { vec![0.0, 1.0] } else { vec![1.0, 0.0] };
        assert!(failure(far).contains("paraphrases"));
        assert!(run(&mut session(by_first_letter), None, Some(b"{")).unwrap_err().contains("self_test.json"));
    }
}
