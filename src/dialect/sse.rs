//! Event streams (WHATWG HTML, "Server-sent events"), decoded piece by piece from reads that may end anywhere: inside a
//! character, a line, or between CR and LF.
//!
//! Each byte is looked at once, so that a line of megabytes in a thousand reads costs what it costs in one. What is held
//! (the line and the event not yet ended) is bounded; past the bound, or on bytes that are not UTF-8, the decoder lets go
//! of its memory and is done: the copy of the stream is lost, never the stream.

use std::mem;

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The `event:` field, empty when there is none.
    pub event: String,
    /// The `data:` lines, joined by line feeds.
    pub data: String,
}

/// Why a stream cannot be decoded any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// A line or an event is longer than the limit.
    #[error("an event is larger than the limit")]
    Overflow,
    /// The stream is not UTF-8.
    #[error("the event stream is not UTF-8")]
    InvalidUtf8,
}

/// Decodes one stream.
#[derive(Debug)]
pub struct SseDecoder {
    limit: usize,
    failed: Option<SseError>,
    /// The line not yet ended.
    line: Vec<u8>,
    /// The last line ended in CR, and an LF that comes next belongs to it.
    after_cr: bool,
    /// No line has ended yet: a byte order mark may stand before the first.
    at_start: bool,
    pending: SseEvent,
    has_data: bool,
}

impl SseDecoder {
    /// A decoder that holds at most `limit` bytes of unfinished line and event.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            failed: None,
            line: Vec::new(),
            after_cr: false,
            at_start: true,
            pending: SseEvent::default(),
            has_data: false,
        }
    }

    /// Takes the next bytes and gives the events that they end.
    ///
    /// Fails once for all: the same error comes for every later call.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, SseError> {
        let mut events = Vec::new();
        if let Some(error) = self.failed {
            return Err(error);
        }
        match self.lines(bytes, &mut events) {
            Ok(()) => Ok(events),
            Err(error) => Err(self.fail(error)),
        }
    }

    /// Ends the stream: a last line without an end, and a last event without a blank line after it, count.
    pub fn finish(&mut self) -> Result<Vec<SseEvent>, SseError> {
        let mut events = self.push(b"")?;
        let line = mem::take(&mut self.line);
        if !line.is_empty() {
            self.line(&line, &mut events).map_err(|error| self.fail(error))?;
        }
        self.dispatch(&mut events);
        Ok(events)
    }

    fn fail(&mut self, error: SseError) -> SseError {
        self.failed = Some(error);
        self.line = Vec::new();
        self.pending = SseEvent::default();
        error
    }

    fn lines(&mut self, mut bytes: &[u8], events: &mut Vec<SseEvent>) -> Result<(), SseError> {
        if let (true, Some((&first, rest))) = (self.after_cr, bytes.split_first()) {
            self.after_cr = false;
            if first == b'\n' {
                bytes = rest;
            }
        }
        while let Some(end) = bytes.iter().position(|&byte| byte == b'\n' || byte == b'\r') {
            self.ended_line(&bytes[..end], events)?;
            let is_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            match bytes.first() {
                Some(b'\n') if is_cr => bytes = &bytes[1..],
                None => self.after_cr = is_cr,
                _ => {}
            }
        }
        self.room_for(bytes.len())?;
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn room_for(&self, more: usize) -> Result<(), SseError> {
        let held = self.line.len() + self.pending.data.len() + self.pending.event.len();
        if held.saturating_add(more) > self.limit { Err(SseError::Overflow) } else { Ok(()) }
    }

    fn ended_line(&mut self, tail: &[u8], events: &mut Vec<SseEvent>) -> Result<(), SseError> {
        self.room_for(tail.len())?;
        if self.line.is_empty() {
            return self.line(tail, events);
        }
        let mut line = mem::take(&mut self.line);
        line.extend_from_slice(tail);
        self.line(&line, events)?;
        line.clear();
        // Keeps the allocation of ordinary lines and gives back that of a huge one.
        if line.capacity() <= 4096 {
            self.line = line;
        }
        Ok(())
    }

    fn line(&mut self, line: &[u8], events: &mut Vec<SseEvent>) -> Result<(), SseError> {
        let mut line = std::str::from_utf8(line).map_err(|_| SseError::InvalidUtf8)?;
        if mem::take(&mut self.at_start) {
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        if line.is_empty() {
            self.dispatch(events);
            return Ok(());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if mem::replace(&mut self.has_data, true) {
                    self.pending.data.push('\n');
                }
                self.pending.data.push_str(value);
            }
            "event" => value.clone_into(&mut self.pending.event),
            _ => {}
        }
        Ok(())
    }

    /// An event without a data line is none, and its name is forgotten.
    fn dispatch(&mut self, events: &mut Vec<SseEvent>) {
        let event = mem::take(&mut self.pending);
        if mem::take(&mut self.has_data) {
            events.push(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn event(name: &str, data: &str) -> SseEvent {
        SseEvent { event: name.to_owned(), data: data.to_owned() }
    }

    fn decode(reads: &[&[u8]]) -> Result<Vec<SseEvent>, SseError> {
        let mut decoder = SseDecoder::new(1 << 20);
        let mut events = Vec::new();
        for read in reads {
            events.extend(decoder.push(read)?);
        }
        events.extend(decoder.finish()?);
        Ok(events)
    }

    #[test]
    fn every_line_end_and_spelling_of_the_standard_is_read() {
        let wanted = vec![event("", "{\"a\":\n1}"), event("", "[DONE]")];
        for stream in [
            "data: {\"a\":\ndata: 1}\n\ndata: [DONE]\n\n",
            "data: {\"a\":\r\ndata: 1}\r\n\r\ndata: [DONE]\r\n\r\n",
            "data: {\"a\":\rdata: 1}\r\rdata: [DONE]\r\r",
            "data: {\"a\":\r\ndata: 1}\n\rdata: [DONE]\r\n\n",
            "data:{\"a\":\ndata:1}\n\ndata:[DONE]\n\n",
            "\u{feff}data: {\"a\":\ndata: 1}\n\ndata: [DONE]\n\n",
            ": hello\nid: 7\nretry: 100\ndata: {\"a\":\n: ping\ndata: 1}\n\n\n\ndata: [DONE]\n\n",
            "data: {\"a\":\ndata: 1}\n\ndata: [DONE]",
            "data: {\"a\":\ndata: 1}\n\ndata: [DONE]\n",
        ] {
            assert_eq!(decode(&[stream.as_bytes()]).unwrap(), wanted, "{stream:?} in one read");
            let single: Vec<&[u8]> = stream.as_bytes().chunks(1).collect();
            assert_eq!(decode(&single).unwrap(), wanted, "{stream:?} byte by byte");
        }
    }

    #[test]
    fn names_data_and_blanks_follow_the_standard() {
        let stream = b"event: error\ndata:  two spaces \n\nevent: lost\n\ndata\n\nnonsense\ndata: x\n\n";
        let wanted = vec![event("error", " two spaces "), event("", ""), event("", "x")];
        assert_eq!(decode(&[stream]).unwrap(), wanted);
    }

    #[test]
    fn a_line_feed_after_a_cut_carriage_return_ends_no_second_line() {
        assert_eq!(decode(&[b"data: a\r", b"\ndata: b\r", b"\n\r", b"\n"]).unwrap(), vec![event("", "a\nb")]);
        assert_eq!(decode(&[b"data: a\r", b"", b"\ndata: b\r\r"]).unwrap(), vec![event("", "a\nb")]);
    }

    #[test]
    fn a_character_cut_by_reads_is_whole_again() {
        let bytes = "data: 北🙂é\n\n".as_bytes();
        for cut in 0..bytes.len() {
            assert_eq!(decode(&[&bytes[..cut], &bytes[cut..]]).unwrap(), vec![event("", "北🙂é")]);
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_are_an_error_from_then_on() {
        let mut decoder = SseDecoder::new(100);
        assert_eq!(decoder.push(b"data: \xff\n\n"), Err(SseError::InvalidUtf8));
        assert_eq!(decoder.push(b"data: a\n\n"), Err(SseError::InvalidUtf8));
        assert_eq!(decoder.finish(), Err(SseError::InvalidUtf8));
        assert_eq!(decode(&[b"data: \xe5\x8c"]), Err(SseError::InvalidUtf8));
    }

    #[test]
    fn past_the_limit_the_decoder_gives_up_and_holds_nothing() {
        let mut long_line = SseDecoder::new(100);
        assert!((0..10).all(|_| long_line.push(b"0123456789").is_ok()));
        assert_eq!(long_line.push(b"x"), Err(SseError::Overflow));
        assert_eq!(long_line.line.capacity(), 0);
        assert_eq!(long_line.push(b"\n\ndata: a\n\n"), Err(SseError::Overflow));
        let mut long_event = SseDecoder::new(100);
        let grown = (0..100).map(|_| long_event.push(b"data: 0123456789\n")).find(Result::is_err);
        assert_eq!(grown, Some(Err(SseError::Overflow)));
        let mut many_events = SseDecoder::new(100);
        assert!((0..100).all(|_| many_events.push(b"data: 0123456789\n\n").is_ok()));
    }

    #[test]
    fn a_huge_line_in_small_reads_is_read_once() {
        let line = [b"data: ".to_vec(), vec![b'x'; 3_000_000], b"\n\n".to_vec()].concat();
        let mut decoder = SseDecoder::new(4_000_000);
        let events: Vec<_> = line.chunks(7).flat_map(|read| decoder.push(read).unwrap()).collect();
        assert_eq!(events.len(), 1);
        assert_eq!(events[0].data.len(), 3_000_000);
    }

    proptest! {
        #[test]
        fn any_split_of_any_bytes_gives_the_same_events(
            stream in "(data: ?|event:|:|id:|\r|\n|\r\n|\n\n|[a-z北🙂é]|\u{feff}){0,40}",
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let bytes = stream.as_bytes();
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            at.extend([0, bytes.len()]);
            at.sort_unstable();
            let reads: Vec<&[u8]> = at.windows(2).map(|ends| &bytes[ends[0]..ends[1]]).collect();
            prop_assert_eq!(decode(&reads).unwrap(), decode(&[bytes]).unwrap());
        }

        #[test]
        fn arbitrary_bytes_never_panic(reads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..8)) {
            let reads: Vec<&[u8]> = reads.iter().map(Vec::as_slice).collect();
            let _ = decode(&reads);
        }
    }
}
