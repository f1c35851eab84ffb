//! Messages on two streams, one a line: every line that asks for an answer has one.
//!
//! The protocol's library leaves what is no JSON without an answer, and ends where something else
//! than a request comes first. Both are settled here, before it sees a line.

use std::io::{self, Read};

use bytes::Bytes;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, CustomRequest, ErrorCode, GetMeta as _,
    InitializeRequestParams, ProtocolVersion,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use skillpkg_schema::diagnostic::escape_whole;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio_util::sync::CancellationToken;

use super::handler::is_served;
use super::stdio::start;
use crate::Error;

/// Most bytes of a message.
const MOST_BYTES: usize = 4 * 1024 * 1024;
/// How much is read at once.
const CHUNK: usize = 64 * 1024;
/// The mark of UTF-8 that some write before the first message.
const MARK: &[u8] = b"\xEF\xBB\xBF";
/// Most characters of a method or a reason that an answer shows.
const MOST_SHOWN: usize = 200;

/// What came in.
#[derive(Debug)]
enum Line {
    /// A line, without its end.
    Whole(Bytes),
    /// One that was longer than any message is.
    TooLong,
}

/// What a line asks for.
#[derive(Debug)]
enum Meant {
    /// That the protocol's library takes it.
    Message(Box<ClientJsonRpcMessage>),
    /// That it is answered here.
    Answer(Value),
    /// Nothing.
    Nothing,
}

/// The messages of one client.
#[derive(Debug)]
pub(super) struct Lines {
    incoming: Receiver<Line>,
    outgoing: Option<Sender<Bytes>>,
    /// An answer of its own that is still to be written.
    answer: Option<Bytes>,
    /// Whether the client has said by what revision it speaks.
    has_begun: bool,
    /// Cancelled where the input ends: whoever asked for what still runs is gone.
    ending: CancellationToken,
}

impl Lines {
    /// Reads messages from `input` on a thread of its own, and writes to `outgoing`.
    pub(super) fn new(
        input: impl Read + Send + 'static,
        outgoing: Sender<Bytes>,
        ending: CancellationToken,
    ) -> Result<Self, Error> {
        let (sender, incoming) = channel(1);
        start("mcp-input", move || read(input, &sender))?;
        Ok(Self { incoming, outgoing: Some(outgoing), answer: None, has_begun: false, ending })
    }
}

/// Reads lines until the input ends or nobody takes them.
fn read(mut input: impl Read, sender: &Sender<Line>) {
    let mut chunk = vec![0; CHUNK];
    let mut line = Vec::new();
    let mut is_too_long = false;
    loop {
        let count = match input.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        let mut rest = chunk.get(..count).unwrap_or_default();
        while !rest.is_empty() {
            let end = rest.iter().position(|byte| *byte == b'\n');
            let (part, after) = rest.split_at(end.unwrap_or(rest.len()));
            rest = after.get(1..).unwrap_or_default();
            is_too_long |= line.len() + part.len() > MOST_BYTES;
            if is_too_long {
                line = Vec::new();
            } else {
                line.extend_from_slice(part);
            }
            if end.is_some() {
                let whole = std::mem::take(&mut line);
                let read = if is_too_long { Line::TooLong } else { Line::Whole(whole.into()) };
                is_too_long = false;
                if sender.blocking_send(read).is_err() {
                    return;
                }
            }
        }
    }
    if !line.is_empty() && !is_too_long {
        let _ = sender.blocking_send(Line::Whole(line.into()));
    }
}

impl Transport<RoleServer> for Lines {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let outgoing = self.outgoing.clone();
        async move {
            let outgoing = outgoing.ok_or(io::ErrorKind::NotConnected)?;
            let line = line_of(&message)?;
            outgoing.send(line).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
        }
    }

    /// Given up anywhere, it goes on there the next time: nothing that came in is lost.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if self.answer.is_some() {
                let place = self.outgoing.as_ref()?.reserve().await.ok()?;
                if let Some(answer) = self.answer.take() {
                    place.send(answer);
                }
            }
            let Some(line) = self.incoming.recv().await else {
                self.ending.cancel();
                return None;
            };
            match self.meant(&line) {
                Meant::Message(message) => return Some(*message),
                Meant::Answer(answer) => self.answer = Some(line_of(&answer).ok()?),
                Meant::Nothing => {}
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.outgoing = None;
        Ok(())
    }
}

fn line_of(message: &impl serde::Serialize) -> io::Result<Bytes> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line.into())
}

impl Lines {
    fn meant(&mut self, line: &Line) -> Meant {
        let Line::Whole(line) = line else {
            let message = format!("a message has at most {MOST_BYTES} bytes");
            return refused(ErrorCode::INVALID_REQUEST, &Value::Null, &message);
        };
        let line = line.strip_prefix(MARK).unwrap_or(line).trim_ascii();
        if line.is_empty() {
            return Meant::Nothing;
        }
        match serde_json::from_slice::<ClientJsonRpcMessage>(line) {
            Ok(message) => self.in_its_turn(message),
            Err(_) => not_understood(line),
        }
    }

    /// What a message asks for where it comes: first is a request that says by what revision.
    fn in_its_turn(&mut self, message: ClientJsonRpcMessage) -> Meant {
        if let ClientJsonRpcMessage::Request(asked) = &message {
            let id = json!(asked.id);
            match &asked.request {
                ClientRequest::CustomRequest(request) if request.method == "initialize" => {
                    return refused(ErrorCode::INVALID_PARAMS, &id, &unfit(request));
                }
                ClientRequest::InitializeRequest(_) => self.has_begun = true,
                ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => {}
                request if !self.has_begun => {
                    let meta = request.get_meta();
                    let missing = meta.missing_required_keys(&ProtocolVersion::V_2026_07_28);
                    if !missing.is_empty() {
                        return too_early(request, &id, &missing);
                    }
                    let version = meta.protocol_version();
                    self.has_begun = version
                        .is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version));
                }
                _ => {}
            }
        } else if !self.has_begun {
            // Neither a notification nor an answer is about anything yet.
            return Meant::Nothing;
        }
        Meant::Message(Box::new(message))
    }
}

/// Why the parameters of `initialize` do not fit.
fn unfit(request: &CustomRequest) -> String {
    let params = request.params.clone().unwrap_or_else(|| json!({}));
    let reason = match serde_json::from_value::<InitializeRequestParams>(params) {
        Err(error) => shown(&error.to_string()),
        Ok(_) => "they are not of the expected shape".to_owned(),
    };
    format!(
        "the parameters of initialize do not fit: {reason}; it takes protocolVersion, capabilities \
         and clientInfo"
    )
}

/// The answer to a request before `initialize` that does not say by what revision it speaks.
fn too_early(request: &ClientRequest, id: &Value, missing: &[&str]) -> Meant {
    let method = request.method();
    if matches!(request, ClientRequest::CustomRequest(_)) && !is_served(method) {
        return refused(ErrorCode::METHOD_NOT_FOUND, id, &unknown_method(method));
    }
    let message = format!(
        "{} came before initialize, and without what a request of revision 2026-07-28 says \
         instead in its _meta: {}",
        shown(method),
        missing.join(", ")
    );
    refused(ErrorCode::INVALID_PARAMS, id, &message)
}

/// What is said of a method that is not served.
pub(super) fn unknown_method(method: &str) -> String {
    format!("there is no method {} here", shown(method))
}

/// The answer to a line that is no message of the protocol.
fn not_understood(line: &[u8]) -> Meant {
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => {
            let message = format!("the line is not JSON: {error}");
            return refused(ErrorCode::PARSE_ERROR, &Value::Null, &message);
        }
    };
    let field = |name: &str| value.get(name);
    let is_request = field("method").is_some() && field("id").is_some();
    let is_answered = is_request
        || (field("method").is_none() && field("result").is_none() && field("error").is_none());
    // Answers to what is none would be answered in turn.
    if !is_answered {
        return Meant::Nothing;
    }
    let id = field("id").filter(|id| id.is_i64() || id.is_string()).unwrap_or(&Value::Null);
    let message = "a message is one object with jsonrpc \"2.0\", a method that is a text, an id that \
                   is a number or a text, and params that are an object";
    refused(ErrorCode::INVALID_REQUEST, id, message)
}

fn refused(code: ErrorCode, id: &Value, message: &str) -> Meant {
    let error = json!({ "code": code.0, "message": message });
    Meant::Answer(json!({ "jsonrpc": "2.0", "id": id, "error": error }))
}

/// A text of the other side's, bounded and safe to show.
fn shown(text: &str) -> String {
    escape_whole(&text.chars().take(MOST_SHOWN).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> Lines {
        let (outgoing, _) = channel(1);
        Lines::new(io::empty(), outgoing, CancellationToken::new()).unwrap()
    }

    fn answer(lines: &mut Lines, line: &str) -> Option<(i64, Value)> {
        match lines.meant(&Line::Whole(Bytes::copy_from_slice(line.as_bytes()))) {
            Meant::Answer(answer) => {
                Some((answer["error"]["code"].as_i64().unwrap(), answer["id"].clone()))
            }
            Meant::Message(_) => Some((0, Value::Null)),
            Meant::Nothing => None,
        }
    }

    #[test]
    fn every_line_is_answered_that_asks_for_it_and_no_other() {
        let mut lines = lines();
        for (line, expected) in [
            ("not JSON", Some((-32700, json!(null)))),
            ("{\"jsonrpc\":\"2.0\",", Some((-32700, json!(null)))),
            ("[]", Some((-32600, json!(null)))),
            ("null", Some((-32600, json!(null)))),
            ("{}", Some((-32600, json!(null)))),
            (r#"{"jsonrpc":"1.0","id":4,"method":"ping"}"#, Some((-32600, json!(4)))),
            (r#"{"jsonrpc":"2.0","id":"a","method":5}"#, Some((-32600, json!("a")))),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, Some((-32600, json!(null)))),
            // What would be answered in turn, or asks for nothing.
            (r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}"#, None),
            (r#"{"jsonrpc":"2.0","error":5}"#, None),
            (r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, None),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, None),
            (" \r", None),
            // Before anything was agreed on.
            (r#"{"jsonrpc":"2.0","id":5,"method":"tools/list"}"#, Some((-32602, json!(5)))),
            (r#"{"jsonrpc":"2.0","id":6,"method":"nothing"}"#, Some((-32601, json!(6)))),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{}}"#,
                Some((-32602, json!(7))),
            ),
            (r#"{"jsonrpc":"2.0","id":8,"method":"initialize"}"#, Some((-32602, json!(8)))),
            (r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#, Some((0, json!(null)))),
        ] {
            assert_eq!(answer(&mut lines, line), expected, "{line}");
        }
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "a", "version": "1"}}});
        assert_eq!(answer(&mut lines, &hello.to_string()), Some((0, json!(null))));
        let told = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(answer(&mut lines, told), Some((0, json!(null))));
    }

    #[test]
    fn lines_are_read_whole_and_a_long_one_is_dropped() {
        let (sender, mut lines) = channel(16);
        let input = format!("one\n\ntwo\r\n{}\nthree", "x".repeat(MOST_BYTES + 1));
        read(input.as_bytes(), &sender);
        drop(sender);
        let mut seen = Vec::new();
        while let Some(line) = lines.blocking_recv() {
            seen.push(match line {
                Line::Whole(line) => String::from_utf8_lossy(&line).into_owned(),
                Line::TooLong => "too long".to_owned(),
            });
        }
        assert_eq!(seen, ["one", "", "two\r", "too long", "three"]);
    }
}
