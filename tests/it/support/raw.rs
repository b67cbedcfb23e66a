//! HTTP/1.1 over a bare socket: what a library would repair is shown as it came.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// An answer, taken apart by hand.
#[derive(Debug)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// Names in lower case, as often as they came.
    pub headers: Vec<(String, String)>,
    /// The body without its framing.
    pub body: Vec<u8>,
    /// The body had its promised length, or its terminating chunk.
    pub ended_well: bool,
}

impl Response {
    /// All values of a header.
    pub fn all(&self, name: &str) -> Vec<&str> {
        self.headers.iter().filter(|(n, _)| n == name).map(|(_, value)| value.as_str()).collect()
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Opens a socket to `base`.
pub async fn connect(base: &str) -> TcpStream {
    TcpStream::connect(base.strip_prefix("http://").expect("an http base")).await.expect("a connection")
}

/// The head of a POST with these further headers.
pub fn head(path: &str, headers: &[(&str, &str)]) -> String {
    let mut head = format!("POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head + "\r\n"
}

/// Posts JSON and reads until the answer is over.
pub async fn post(base: &str, path: &str, headers: &[(&str, &str)], body: &Value) -> Response {
    let body = body.to_string();
    let length = body.len().to_string();
    let mut all = headers.to_vec();
    all.push(("content-length", &length));
    exchange(base, &[head(path, &all).as_bytes(), body.as_bytes()].concat()).await
}

/// Sends these bytes and reads until the answer is over.
pub async fn exchange(base: &str, request: &[u8]) -> Response {
    let mut socket = connect(base).await;
    socket.write_all(request).await.expect("the request is sent");
    read(&mut socket).await
}

/// Reads one answer.
pub async fn read(socket: &mut TcpStream) -> Response {
    let mut bytes = Vec::new();
    let reading = async {
        loop {
            if let Some(response) = parse(&bytes, false) {
                return response;
            }
            match socket.read_buf(&mut bytes).await {
                Ok(n) if n > 0 => {}
                _ => {
                    return parse(&bytes, true)
                        .unwrap_or_else(|| panic!("no answer: {:?}", String::from_utf8_lossy(&bytes)));
                }
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), reading).await.expect("an answer in time")
}

/// The answer in `bytes` if it is whole, or if no more will come.
fn parse(bytes: &[u8], over: bool) -> Option<Response> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let head = std::str::from_utf8(&bytes[..end]).expect("a head of plain text");
    let mut lines = head.lines();
    let status: u16 = lines.next()?.split(' ').nth(1)?.parse().expect("a status");
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    if status == 100 {
        return parse(&bytes[end..], over);
    }
    let value = |name: &str| headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.clone());
    let rest = &bytes[end..];
    let (body, ended_well) = match value("content-length") {
        Some(length) => {
            let length: usize = length.parse().expect("a length");
            (rest[..rest.len().min(length)].to_vec(), rest.len() >= length)
        }
        None => unchunk(rest),
    };
    (ended_well || over).then_some(Response { status, headers, body, ended_well })
}

fn unchunk(mut rest: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|window| window == b"\r\n") {
        let size = std::str::from_utf8(&rest[..end]).ok().and_then(|hex| usize::from_str_radix(hex.trim(), 16).ok());
        let Some(size) = size else { break };
        if size == 0 {
            return (body, true);
        }
        let data = &rest[end + 2..];
        body.extend_from_slice(&data[..data.len().min(size)]);
        if data.len() < size + 2 {
            break;
        }
        rest = &data[size + 2..];
    }
    (body, false)
}
