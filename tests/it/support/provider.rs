//! A scripted provider on raw sockets: it sends exactly the bytes it is told to, when it is told to.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use super::completion;

/// A point that a reply waits at until the test opens it.
#[derive(Clone, Default)]
pub struct Gate(Arc<Notify>);

impl Gate {
    /// Lets the reply go on.
    pub fn open(&self) {
        self.0.notify_one();
    }
}

/// One move of a reply.
#[derive(Clone)]
pub enum Step {
    /// These bytes in one write.
    Send(Vec<u8>),
    /// Nothing for a while.
    Pause(Duration),
    /// Nothing until the gate opens.
    Wait(Gate),
    /// A TCP reset.
    Reset,
    /// A plain close.
    Close,
    /// Nothing for ever.
    Hang,
}

/// What the provider does with one request.
#[derive(Clone, Default)]
pub struct Reply(pub Vec<Step>);

impl Reply {
    /// Raw bytes, whatever they are.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self(vec![Step::Send(bytes.into())])
    }

    /// A body with a length, under these headers.
    pub fn body(status: u16, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let mut head = format!("HTTP/1.1 {status} Scripted\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        Self::raw([head.as_bytes(), body].concat())
    }

    /// A JSON body.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::body(status, &[("content-type", "application/json")], body.to_string())
    }

    /// A complete answer.
    pub fn text(text: &str) -> Self {
        Self::json(200, &completion(text))
    }

    /// The head of a chunked event stream; add frames with [`Reply::chunk`], end it with [`Reply::end`].
    pub fn stream() -> Self {
        Self::stream_with(&[])
    }

    /// The same with further headers.
    pub fn stream_with(headers: &[(&str, &str)]) -> Self {
        let mut head =
            String::from("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        Self::raw(head + "\r\n")
    }

    /// One chunk of a chunked body, in one write.
    pub fn chunk(mut self, data: impl AsRef<[u8]>) -> Self {
        let data = data.as_ref();
        let framed = [format!("{:x}\r\n", data.len()).as_bytes(), data, b"\r\n"].concat();
        self.0.push(Step::Send(framed));
        self
    }

    /// The terminating chunk.
    pub fn end(self) -> Self {
        self.then(Step::Send(b"0\r\n\r\n".to_vec()))
    }

    /// Everything of another reply, after this.
    pub fn then_reply(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// One more move.
    pub fn then(mut self, step: Step) -> Self {
        self.0.push(step);
        self
    }

    /// Waits at a gate.
    pub fn wait(self, gate: &Gate) -> Self {
        self.then(Step::Wait(gate.clone()))
    }

    /// A whole event stream that says `pieces`, one event each, and ends well.
    pub fn says(pieces: &[&str]) -> Self {
        let mut reply = Self::stream();
        for piece in pieces {
            reply = reply.chunk(event(&json!({"content": piece}), None));
        }
        reply.chunk(event(&json!({}), Some("stop"))).chunk("data: [DONE]\n\n").end()
    }
}

/// One chunk event of choice 0.
pub fn event(delta: &Value, finish: Option<&str>) -> String {
    let chunk = json!({
        "id": "c1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "alpha-small",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    });
    format!("data: {chunk}\n\n")
}

/// A request as it reached the provider.
#[derive(Clone, Debug)]
pub struct Seen {
    /// `POST /v1/chat/completions`
    pub line: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The bytes of the body.
    pub body: Vec<u8>,
    /// The caller closed the connection while the reply was under way.
    pub closed: bool,
}

impl Seen {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
}

#[derive(Default)]
struct Desk {
    script: VecDeque<Reply>,
    standing: Vec<(String, Reply)>,
    seen: Vec<Seen>,
    connections: usize,
}

impl Desk {
    fn standing_for(&self, request: &Seen) -> Option<Reply> {
        let body = String::from_utf8_lossy(&request.body);
        let fits = |words: &str| request.line.contains(words) || body.contains(words);
        self.standing.iter().find(|(words, _)| fits(words)).map(|(_, reply)| reply.clone())
    }
}

/// A provider under a test's control.
#[derive(Clone)]
pub struct Provider {
    /// Where it listens.
    pub address: SocketAddr,
    desk: Arc<Mutex<Desk>>,
    gone: Arc<Notify>,
}

impl Provider {
    /// Starts it. Without a script it answers `answer 1`, `answer 2`, … as JSON or event stream.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port");
        let address = listener.local_addr().expect("its address");
        let provider = Self { address, desk: Arc::default(), gone: Arc::default() };
        let accepting = provider.clone();
        tokio::spawn(async move {
            loop {
                let socket = tokio::select! {
                    accepted = listener.accept() => accepted.expect("a connection").0,
                    () = accepting.gone.notified() => return,
                };
                let provider = accepting.clone();
                tokio::spawn(async move { provider.serve(socket).await });
            }
        });
        provider
    }

    /// The base URL for Refrain's configuration.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The reply to the next unscripted request.
    pub fn next(&self, reply: Reply) -> &Self {
        self.desk.lock().unwrap().script.push_back(reply);
        self
    }

    /// The reply to every request whose line or body has `words` in it, while the script is empty.
    pub fn when(&self, words: &str, reply: Reply) -> &Self {
        self.desk.lock().unwrap().standing.push((words.to_owned(), reply));
        self
    }

    /// Nobody can connect from now on.
    pub fn stop_listening(&self) {
        self.gone.notify_one();
    }

    /// How many requests have come: the truth about a hit.
    pub fn calls(&self) -> usize {
        self.desk.lock().unwrap().seen.len()
    }

    /// How many connections were made.
    pub fn connections(&self) -> usize {
        self.desk.lock().unwrap().connections
    }

    /// All requests so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.desk.lock().unwrap().seen.clone()
    }

    async fn serve(&self, mut socket: TcpStream) {
        socket.set_nodelay(true).ok();
        self.desk.lock().unwrap().connections += 1;
        let mut buffer = Vec::new();
        while let Some(request) = read_request(&mut socket, &mut buffer).await {
            let (reply, number) = {
                let mut desk = self.desk.lock().unwrap();
                desk.seen.push(request.clone());
                let number = desk.seen.len();
                let next = desk.script.pop_front().or_else(|| desk.standing_for(&request));
                let reply = next.unwrap_or_else(|| default_reply(&request, number));
                (reply, number)
            };
            if !self.play(&mut socket, reply, number).await {
                return;
            }
        }
    }

    /// Plays a reply; false when the connection is over.
    async fn play(&self, socket: &mut TcpStream, reply: Reply, number: usize) -> bool {
        for step in reply.0 {
            match step {
                Step::Send(bytes) => {
                    if socket.write_all(&bytes).await.is_err() {
                        self.mark_closed(number);
                        return false;
                    }
                }
                Step::Pause(time) => {
                    if self.closed_within(socket, tokio::time::sleep(time), number).await {
                        return false;
                    }
                }
                Step::Wait(gate) => {
                    if self.closed_within(socket, gate.0.notified(), number).await {
                        return false;
                    }
                }
                Step::Reset => {
                    socket2_linger_zero(socket);
                    return false;
                }
                Step::Close => return false,
                Step::Hang => {
                    self.closed_within(socket, std::future::pending::<()>(), number).await;
                    return false;
                }
            }
        }
        true
    }

    async fn closed_within(&self, socket: &mut TcpStream, wait: impl Future<Output = ()>, number: usize) -> bool {
        let mut byte = [0];
        tokio::select! {
            () = wait => false,
            read = socket.peek(&mut byte) => {
                let closed = !matches!(read, Ok(1));
                if closed {
                    self.mark_closed(number);
                }
                closed
            }
        }
    }

    fn mark_closed(&self, number: usize) {
        self.desk.lock().unwrap().seen[number - 1].closed = true;
    }
}

#[allow(deprecated)]
fn socket2_linger_zero(socket: &TcpStream) {
    socket.set_linger(Some(Duration::ZERO)).ok();
}

fn default_reply(request: &Seen, number: usize) -> Reply {
    let body: Value = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
    let text = format!("answer {number}");
    if body["stream"] == json!(true) { Reply::says(&["answer ", &number.to_string()]) } else { Reply::text(&text) }
}

async fn read_request(socket: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Seen> {
    let end = loop {
        if let Some(at) = buffer.windows(4).position(|w| w == b"\r\n\r\n") {
            break at + 4;
        }
        if socket.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
    buffer.drain(..end);
    let mut lines = head.lines();
    let line = lines.next()?.rsplit_once(' ')?.0.to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(n, _)| n == "content-length").and_then(|(_, v)| v.parse().ok()).unwrap_or(0);
    while buffer.len() < length {
        if socket.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
    let body = buffer.drain(..length).collect();
    Some(Seen { line, headers, body, closed: false })
}
