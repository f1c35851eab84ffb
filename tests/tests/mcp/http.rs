//! Raw requests over HTTP.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use skillpkg_tests::Machine;

use crate::serving::{active, hello, is_gone, started};

/// A server at a free port.
pub(crate) struct Http {
    process: Child,
    pub(crate) url: String,
    pub(crate) token: String,
}

impl Http {
    pub(crate) fn start(machine: &Machine, arguments: &[&str]) -> Self {
        let mut http = Self::start_with(machine, arguments, None);
        http.token = fs::read_to_string(machine.home.join("mcp-token")).unwrap_or_default();
        http.token.truncate(http.token.trim_end().len());
        http
    }

    /// Starts one with this token in its environment.
    fn start_with(machine: &Machine, arguments: &[&str], token: Option<&str>) -> Self {
        let mut all = vec!["mcp", "--listen", "127.0.0.1:0"];
        all.extend(arguments);
        let mut command = machine.command(&all);
        if let Some(token) = token {
            command.env("SKILLPKG_MCP_TOKEN", token);
        }
        let mut process = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let mut told = process.stderr.take().unwrap();
        thread::spawn(move || std::io::copy(&mut told, &mut std::io::sink()));
        let url = line.trim().strip_prefix("listening on ").unwrap().to_owned();
        Self { process, url, token: token.unwrap_or_default().to_owned() }
    }

    fn authority(&self) -> &str {
        self.url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap()
    }

    /// The headers of an honest client, each of which can be replaced.
    fn post(&self, body: &str, replaced: &[(&str, &str)]) -> (u16, String) {
        self.send("POST", "/mcp", body, replaced)
    }

    /// Sends a request and leaves its answer to be read.
    fn open(&self, method: &str, path: &str, body: &str, replaced: &[(&str, &str)]) -> TcpStream {
        let bearer = format!("Bearer {}", self.token);
        let length = body.len().to_string();
        let mut headers = vec![
            ("Host", self.authority()),
            ("Authorization", &bearer),
            ("Accept", "application/json, text/event-stream"),
            ("Content-Type", "application/json"),
            ("Content-Length", &length),
            ("Connection", "close"),
        ];
        for (name, value) in replaced {
            headers.retain(|(known, _)| known != name);
            if !value.is_empty() {
                headers.push((name, value));
            }
        }
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        for (name, value) in headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        let mut stream = TcpStream::connect(self.authority()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(format!("{head}\r\n").as_bytes()).unwrap();
        // One that is refused early closes before all of it is read.
        let _ = stream.write_all(body.as_bytes());
        stream
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        body: &str,
        replaced: &[(&str, &str)],
    ) -> (u16, String) {
        let mut stream = self.open(method, path, body, replaced);
        let mut answer = Vec::new();
        let mut chunk = [0; 4096];
        // A stream of events stays open: its first message is enough.
        while !String::from_utf8_lossy(&answer).contains("\"jsonrpc\"") {
            match stream.read(&mut chunk) {
                Ok(0) | Err(_) => break,
                Ok(count) => answer.extend_from_slice(&chunk[..count]),
            }
        }
        let text = String::from_utf8_lossy(&answer).into_owned();
        let status = text.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_default();
        (status, text)
    }

    /// Starts a session of the older era and answers with its number.
    fn session(&self) -> String {
        let (status, text) = self.post(&hello().to_string(), &[]);
        assert_eq!(status, 200, "{text}");
        let id = text.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        id.unwrap().trim().to_owned()
    }

    fn list(&self, session: &str) -> u16 {
        let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}).to_string();
        let headers = [("Mcp-Session-Id", session), ("MCP-Protocol-Version", "2025-11-25")];
        self.post(&list, &headers).0
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A request of the newer era that calls a tool.
fn call(word: &str) -> (String, [(&'static str, &'static str); 3]) {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}});
    let body = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {
        "name": "waitlist-go", "arguments": {"word": word}, "_meta": meta}});
    let headers = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "waitlist-go"),
    ];
    (body.to_string(), headers)
}

#[test]
fn whoever_has_no_token_or_comes_from_elsewhere_is_refused() {
    let (_context, machine) = active();
    let http = Http::start(&machine, &[]);
    let kept = machine.home.join("mcp-token");
    assert_eq!(kept.metadata().unwrap().permissions().mode() & 0o7777, 0o600);
    assert_eq!(http.token.len(), 64);
    let port = http.authority().rsplit(':').next().unwrap().to_owned();
    let own = format!("http://{}", http.authority());
    let local = format!("localhost:{port}");
    let other_port = format!("127.0.0.1:{}", port.parse::<u16>().unwrap().wrapping_add(1));
    let short = format!("Bearer {}", &http.token[1..]);
    for (header, value, status) in [
        ("X-None", "1", 200),
        ("Authorization", "", 401),
        ("Authorization", "Bearer", 401),
        ("Authorization", &short, 401),
        ("Authorization", "Basic YTpi", 401),
        ("Host", &local, 200),
        ("Host", "evil.example", 403),
        ("Host", &other_port, 403),
        ("Origin", &own, 200),
        ("Origin", "http://evil.example", 403),
        ("Origin", "https://127.0.0.1", 403),
        ("Origin", "null", 403),
        ("Accept", "text/html", 406),
        ("Content-Type", "text/plain", 415),
    ] {
        let (found, text) = http.post(&hello().to_string(), &[(header, value)]);
        assert_eq!(found, status, "{header}: {value}\n{text}");
        if status == 401 {
            assert!(text.to_lowercase().contains("www-authenticate: bearer"), "{text}");
        }
        assert!(!text.contains(&http.token));
    }
    // Without a token nothing is told of what there is.
    for (path, status) in [("/", 404), ("/mcp/x", 404), ("/health", 404)] {
        assert_eq!(http.send("GET", path, "", &[]).0, status, "{path}");
        assert_eq!(http.send("GET", path, "", &[("Authorization", "")]).0, 401, "{path}");
    }
    assert_eq!(http.post("not json", &[]).0 / 100, 4);
    assert_eq!(http.post("[]", &[]).0 / 100, 4);
    assert_eq!(http.post(&"x".repeat(5 * 1024 * 1024), &[]).0, 413);
    assert_eq!(http.post(&hello().to_string(), &[]).0, 200);
}

#[test]
fn a_flood_of_sessions_takes_no_more_than_there_may_be() {
    let (_context, machine) = active();
    let http = Http::start(&machine, &[]);
    let first = http.session();
    assert_eq!(http.list(&first), 200);
    let sessions: Vec<String> = (0..100).map(|_| http.session()).collect();
    assert_eq!(http.list(&first), 404);
    assert_eq!(http.list(&sessions[0]), 404);
    assert_eq!(http.list(sessions.last().unwrap()), 200);
    assert_eq!(http.list("invented"), 404);
}

#[test]
fn the_token_is_the_one_given_and_no_tool_sees_it() {
    let (_context, machine) = active();
    let given = "a-token-of-the-environment";
    let http = Http::start_with(&machine, &[], Some(given));
    assert!(!machine.home.join("mcp-token").exists());
    let (body, headers) = call("secrets");
    let (status, text) = http.post(&body, &headers);
    assert_eq!(status, 200);
    assert!(text.contains("SKILLPKG_PROJECT=") && !text.contains(given), "{text}");
    drop(http);

    let file = machine.project.join("token");
    fs::write(&file, "a-token-of-a-file-of-the-project\n").unwrap();
    let mut http = Http::start(&machine, &["--token-file", file.to_str().unwrap()]);
    "a-token-of-a-file-of-the-project".clone_into(&mut http.token);
    assert_eq!(http.post(&hello().to_string(), &[]).0, 200);
    assert_eq!(
        http.post(&hello().to_string(), &[("Authorization", &format!("Bearer {given}"))]).0,
        401
    );
    drop(http);

    let short = machine
        .command(&["mcp", "--listen", "127.0.0.1:0"])
        .env("SKILLPKG_MCP_TOKEN", "short")
        .output();
    assert_eq!(short.unwrap().status.code(), Some(2));
}

#[test]
fn without_a_token_this_machine_is_served_and_no_other() {
    let (_context, machine) = active();
    let http = Http::start(&machine, &["--no-token"]);
    assert_eq!(http.post(&hello().to_string(), &[("Authorization", "")]).0, 200);
    // A page in a browser can reach it, and is told from a client by what it must send.
    assert_eq!(
        http.post(
            &hello().to_string(),
            &[("Authorization", ""), ("Origin", "http://evil.example")]
        )
        .0,
        403
    );
    assert_eq!(
        http.post(&hello().to_string(), &[("Authorization", ""), ("Host", "evil.example")]).0,
        403
    );
    for address in ["0.0.0.0:0", "[::]:0"] {
        let answer =
            machine.run(&["mcp", "--listen", address, "--no-token", "--json"]).ended_with(2);
        assert_eq!(answer.error_code(), "token_required");
    }
    machine.run(&["mcp", "--no-token"]).ended_with(2);
}

#[test]
fn names_and_origins_that_are_allowed_are_let_in() {
    let (_context, machine) = active();
    let http =
        Http::start(&machine, &["--allow-host", "mcp.test", "--allow-origin", "https://app.test"]);
    assert_eq!(http.post(&hello().to_string(), &[("Host", "mcp.test")]).0, 200);
    assert_eq!(http.post(&hello().to_string(), &[("Origin", "https://app.test")]).0, 200);
    assert_eq!(http.post(&hello().to_string(), &[("Origin", "http://app.test")]).0, 403);
    machine.run(&["mcp", "--listen", "127.0.0.1:0", "--allow-origin", "app.test"]).ended_with(2);
}

#[test]
fn a_signal_ends_the_server_and_what_runs_though_streams_are_open() {
    let (_context, machine) = active();
    let mut http = Http::start(&machine, &[]);
    let session = http.session();
    let own = [("Mcp-Session-Id", session.as_str()), ("MCP-Protocol-Version", "2025-11-25")];
    let _events = http.open("GET", "/mcp", "", &own);
    let (body, headers) = call("slow");
    let _running = http.open("POST", "/mcp", &body, &headers);
    let process = started(&machine);
    let at = Instant::now();
    let number = http.process.id().to_string();
    assert!(std::process::Command::new("kill").arg(&number).status().unwrap().success());
    assert!(http.process.wait().unwrap().success());
    assert!(at.elapsed() < Duration::from_secs(6));
    assert!(is_gone(&process));
}

#[test]
fn a_client_that_goes_away_takes_its_call_with_it() {
    let (_context, machine) = active();
    let http = Http::start(&machine, &[]);
    let (body, headers) = call("slow");
    let stream = http.open("POST", "/mcp", &body, &headers);
    let process = started(&machine);
    drop(stream);
    assert!(is_gone(&process));
}
