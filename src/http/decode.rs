//! Content codings (RFC 9110, 8.4.1): the stored form of an answer is decoded, whatever the transport was.

use std::io::{self, Read, Write};

use bytes::Bytes;
use http::{HeaderMap, header};

/// An incremental decoder of one body.
pub enum Decoder {
    /// No coding.
    Identity,
    /// `gzip`, `x-gzip`
    Gzip(Box<flate2::write::MultiGzDecoder<Vec<u8>>>),
    /// `deflate`: zlib by the RFC.
    Deflate(Box<flate2::write::ZlibDecoder<Vec<u8>>>),
    /// `br`
    Brotli(Box<brotli::DecompressorWriter<Vec<u8>>>),
    /// `zstd`
    Zstd(Box<zstd::stream::write::Decoder<'static, Vec<u8>>>),
}

impl Decoder {
    /// The decoder for a body with these headers; `None` for a coding that Refrain does not know.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let mut codings = headers.get_all(header::CONTENT_ENCODING).iter();
        let coding = match (codings.next(), codings.next()) {
            (None, _) => return Some(Self::Identity),
            (Some(one), None) => one.to_str().ok()?.trim().to_ascii_lowercase(),
            _ => return None,
        };
        Some(match coding.as_str() {
            "" | "identity" => Self::Identity,
            "gzip" | "x-gzip" => Self::Gzip(Box::new(flate2::write::MultiGzDecoder::new(Vec::new()))),
            "deflate" => Self::Deflate(Box::new(flate2::write::ZlibDecoder::new(Vec::new()))),
            "br" => Self::Brotli(Box::new(brotli::DecompressorWriter::new(Vec::new(), 4096))),
            "zstd" => Self::Zstd(Box::new(zstd::stream::write::Decoder::new(Vec::new()).ok()?)),
            _ => return None,
        })
    }

    /// Is the body sent as it is?
    pub fn is_identity(&self) -> bool {
        matches!(self, Self::Identity)
    }

    /// Takes a piece of the coded body, gives what can be decoded so far.
    ///
    /// # Errors
    /// When the coded bytes are malformed.
    pub fn push(&mut self, piece: &Bytes) -> io::Result<Bytes> {
        match self {
            Self::Identity => Ok(piece.clone()),
            Self::Gzip(decoder) => step(decoder.as_mut(), piece, |d| d.get_mut()),
            Self::Deflate(decoder) => step(decoder.as_mut(), piece, |d| d.get_mut()),
            Self::Brotli(decoder) => step(decoder.as_mut(), piece, |d| d.get_mut()),
            Self::Zstd(decoder) => step(decoder.as_mut(), piece, |d| d.get_mut()),
        }
    }

    /// Ends the body: the rest, if the coded form was whole.
    ///
    /// # Errors
    /// When the coded body is cut short.
    pub fn finish(self) -> io::Result<Bytes> {
        match self {
            Self::Identity => Ok(Bytes::new()),
            Self::Gzip(decoder) => decoder.finish().map(Bytes::from),
            Self::Deflate(decoder) => decoder.finish().map(Bytes::from),
            Self::Brotli(mut decoder) => {
                decoder.close()?;
                Ok(std::mem::take(decoder.get_mut()).into())
            }
            Self::Zstd(mut decoder) => {
                decoder.flush()?;
                Ok(std::mem::take(decoder.get_mut()).into())
            }
        }
    }
}

fn step<D: Write>(decoder: &mut D, piece: &[u8], output: impl FnOnce(&mut D) -> &mut Vec<u8>) -> io::Result<Bytes> {
    decoder.write_all(piece)?;
    decoder.flush()?;
    Ok(std::mem::take(output(decoder)).into())
}

/// A request body's decoded copy, at most `limit` bytes of it; `None` when it cannot be decoded.
pub fn whole(headers: &HeaderMap, body: &Bytes, limit: u64) -> Option<Bytes> {
    if Decoder::of(headers)?.is_identity() {
        return Some(body.clone());
    }
    let coding = headers.get(header::CONTENT_ENCODING)?.to_str().ok()?.trim().to_ascii_lowercase();
    let reader: Box<dyn Read> = match coding.as_str() {
        "gzip" | "x-gzip" => Box::new(flate2::read::MultiGzDecoder::new(body.as_ref())),
        "deflate" => Box::new(flate2::read::ZlibDecoder::new(body.as_ref())),
        "br" => Box::new(brotli::Decompressor::new(body.as_ref(), 4096)),
        "zstd" => Box::new(zstd::stream::read::Decoder::new(body.as_ref()).ok()?),
        _ => return None,
    };
    let mut decoded = Vec::new();
    reader.take(limit.saturating_add(1)).read_to_end(&mut decoded).ok()?;
    (decoded.len() as u64 <= limit).then(|| decoded.into())
}
