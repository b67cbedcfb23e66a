//! The copy of an answer that passes through, on its way to the store.

use bytes::Bytes;
use http::{HeaderMap, header};

use crate::dialect::assemble::{self, Assembler, Expected, NotKept};
use crate::entry::{Answer, TokenUsage};
use crate::http::decode::Decoder;

/// Collects one answer, decoded, within a bound; past it only the bound's breach is remembered.
pub struct Capture {
    decoder: Decoder,
    broken: Option<NotKept>,
    form: Form,
    expected: Expected,
    /// Bytes that passed and were not looked into.
    unread: usize,
}

/// What came of a capture.
pub struct Captured {
    /// The answer, if it proved complete.
    pub answer: Result<Answer, NotKept>,
    /// The tokens that the provider counted, in any case.
    pub usage: Option<TokenUsage>,
    /// Bytes of what the model wrote, as far as that can be told.
    pub written: usize,
}

enum Form {
    Events(Box<Assembler>),
    Whole { body: Vec<u8>, content_type: Option<String> },
}

impl Capture {
    /// For an answer with these headers.
    pub fn new(headers: &HeaderMap, expected: Expected) -> Self {
        let content_type = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).map(str::to_owned);
        let form = if assemble::looks_like_event_stream(content_type.as_deref()) {
            Form::Events(Box::new(Assembler::new(expected)))
        } else {
            Form::Whole { body: Vec::new(), content_type }
        };
        let (decoder, broken) = match Decoder::of(headers) {
            Some(decoder) => (decoder, None),
            None => (Decoder::Identity, Some(NotKept::Unreadable)),
        };
        Self { decoder, broken, form, expected, unread: 0 }
    }

    /// An event stream, sent as it is: an error event may be added to it.
    pub fn is_plain_event_stream(&self) -> bool {
        matches!(self.form, Form::Events(_)) && self.decoder.is_identity()
    }

    /// Takes a piece as upstream sent it.
    pub fn push(&mut self, piece: &Bytes) {
        if self.broken.is_some() {
            self.unread += piece.len();
            return;
        }
        if let Ok(decoded) = self.decoder.push(piece) {
            self.take(&decoded);
        } else {
            self.unread += piece.len();
            self.broken = Some(NotKept::Unreadable);
        }
    }

    fn take(&mut self, decoded: &[u8]) {
        match &mut self.form {
            Form::Events(assembler) => assembler.push(decoded),
            // Room for the envelope around the answer; the answer itself is measured in its stored form.
            Form::Whole { body, .. }
                if body.len() + decoded.len() > self.expected.max_answer_bytes.saturating_add(65_536) =>
            {
                self.unread += body.len() + decoded.len();
                *body = Vec::new();
                self.broken = Some(NotKept::TooLarge);
            }
            Form::Whole { body, .. } => body.extend_from_slice(decoded),
        }
    }

    /// Has the terminal event come?
    pub fn done(&self) -> bool {
        matches!(&self.form, Form::Events(assembler) if assembler.done())
    }

    /// Ends the capture. `clean_end`: the body ended as its transport promised.
    pub fn finish(mut self, clean_end: bool) -> Captured {
        let decoder = std::mem::replace(&mut self.decoder, Decoder::Identity);
        match decoder.finish() {
            Ok(rest) => self.take(&rest),
            Err(_) => self.broken = self.broken.or(Some(NotKept::Incomplete)),
        }
        let (answer, usage, written) = match self.form {
            Form::Events(assembler) => {
                let (usage, written) = (assembler.usage(), assembler.written());
                (assembler.finish(clean_end), usage, written)
            }
            Form::Whole { body, content_type } => {
                let usage = usage_of(&body);
                let answer = if clean_end {
                    assemble::complete(&body, content_type.as_deref(), self.expected)
                } else {
                    Err(NotKept::Incomplete)
                };
                (answer, usage, assemble::written_in(&body).unwrap_or(body.len()))
            }
        };
        Captured { answer: self.broken.map_or(answer, Err), usage, written: written + self.unread }
    }
}

/// The tokens of a whole answer, kept or not: they were paid for.
fn usage_of(body: &[u8]) -> Option<TokenUsage> {
    #[derive(serde::Deserialize)]
    struct Counted {
        usage: Option<Usage>,
    }
    #[derive(serde::Deserialize)]
    struct Usage {
        #[serde(default)]
        prompt_tokens: u64,
        #[serde(default)]
        completion_tokens: u64,
    }
    let usage = serde_json::from_slice::<Counted>(body).ok()?.usage?;
    Some(TokenUsage { input: usage.prompt_tokens, output: usage.completion_tokens })
}
