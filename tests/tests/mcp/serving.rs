//! A machine on which skills are active, and a server of them.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use skillpkg_tests::{Machine, TestContext};

/// What `handle.sh` of `waitlist` does with its word.
const HANDLE: &str = r#"echo "got $1"; echo talk >&2
case $1 in
  fail) exit 3 ;;
  slow) echo $$ > "$SKILLPKG_PROJECT/pid"; sleep 60 & wait ;;
  noise) printf '{"jsonrpc":"2.0","id":1,"result":{}}\nnot JSON\n\000\377'; printf 'not JSON\n' >&2 ;;
  much) yes | head -c 3000000 ;;
  secrets) env ;;
esac
"#;

/// A registry, and a machine with four active skills: `waitlist` with a tool, a script and a
/// resource, `acme/reports` with a tool, `guide` as Agent Skills have it, and `wait_list`, whose
/// name they do not take.
pub(crate) fn active() -> (TestContext, Machine) {
    let context = TestContext::new();
    let author = context.author("ada");
    context.registry.command(&["scope", "add", "acme", "--owner", "ada"]);
    let publish = |name: &str, files: &[(&str, &[u8])]| {
        let source = context.path(name.replace('/', "-"));
        for (path, bytes) in files {
            let path = source.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        author.run(&["publish", source.to_str().unwrap(), "--name", name]).succeeded();
    };
    let capabilities = json!({
        "resources": {"references/notes.md": "The notes."},
        "scripts": {"scripts/normalize.sh": {
            "description": "Normalizes.", "runtime": "shell",
            "parameters": {"type": "object", "properties": {
                "file": {"type": "string"},
                "rows": {"type": "integer", "maximum": 9, "default": 5}},
                "required": ["file"], "additionalProperties": false}}}
    });
    publish(
        "waitlist",
        &[
            (
                "SKILL.md",
                b"---\nskill: waitlist\nname: waitlist\nversion: 1.2.0\ndescription: Manages signups.\n\
                  includes: handle.sh, scripts, references, skill.json\n---\n\nManage it.\n\n```tool\n\
                  id: go\ndescription: goes\nparams:\n  word:\n    type: string\n\
                  run: sh handle.sh $word\n```\n",
            ),
            ("handle.sh", HANDLE.as_bytes()),
            ("references/notes.md", b"Every row has an id.\n"),
            ("references/a b.bin", b"\x00\x01\xff"),
            ("scripts/normalize.sh", b"cat"),
            ("skill.json", capabilities.to_string().as_bytes()),
        ],
    );
    publish(
        "acme/reports",
        &[(
            "SKILL.md",
            b"---\nskill: reports\nversion: 0.1.0\ndescription: Reports.\n---\n\nReport.\n\n```tool\n\
              id: go\ndescription: goes\nrun: echo report\n```\n",
        )],
    );
    publish(
        "guide",
        &[(
            "SKILL.md",
            b"---\nname: guide\ndescription: Tells how.\nmetadata:\n  version: 1.0.0\n  level: 2\n  \
              beta: true\n  ratio: 0.5\n  author: ~\n---\n\nDo it.\n",
        )],
    );
    publish(
        "wait_list",
        &[(
            "SKILL.md",
            b"---\nname: wait_list\ndescription: Waits.\nmetadata:\n  version: 1.0.0\n---\n\nWait.\n",
        )],
    );
    let machine = context.machine("reader");
    machine.run(&["install", "waitlist", "acme/reports", "guide", "wait_list", "-y"]).succeeded();
    (context, machine)
}

/// The request that opens a session of the older era.
pub(crate) fn hello() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}})
}

/// The notice that follows its answer.
pub(crate) fn initialized() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
}

/// A server on two pipes.
pub(crate) struct Lines {
    pub(crate) process: Child,
    input: Option<ChildStdin>,
    output: Receiver<String>,
    next: u64,
}

impl Lines {
    /// Starts one in the machine's project; no session is started.
    pub(crate) fn start(machine: &Machine, arguments: &[&str]) -> Self {
        let mut all = vec!["mcp"];
        all.extend(arguments);
        let mut process = machine.command(&all).stdin(Stdio::piped()).spawn().unwrap();
        let input = process.stdin.take();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let (sender, output) = channel();
        thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
        // Nobody reads what it tells; a full pipe would hold it up.
        let mut told = process.stderr.take().unwrap();
        thread::spawn(move || std::io::copy(&mut told, &mut std::io::sink()));
        Self { process, input, output, next: 1 }
    }

    /// Starts one, and a session of the older era.
    pub(crate) fn session(machine: &Machine, arguments: &[&str]) -> Self {
        let mut lines = Self::start(machine, arguments);
        let answer = lines.ask("initialize", &hello()["params"]);
        assert_eq!(answer["result"]["serverInfo"]["name"], "skillpkg");
        lines.say(&initialized().to_string());
        lines
    }

    pub(crate) fn say(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{line}").and_then(|()| input.flush()).unwrap();
    }

    /// The next line, which must be a message.
    pub(crate) fn hear(&self) -> Value {
        let line = self.output.recv_timeout(Duration::from_secs(20)).unwrap();
        let message: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        message
    }

    /// Sends a request and answers with its number.
    pub(crate) fn send(&mut self, method: &str, params: &Value) -> u64 {
        let id = self.next;
        self.next += 1;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.say(&request.to_string());
        id
    }

    /// Sends a request and waits for its answer; what comes in between is left aside.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        loop {
            let message = self.hear();
            if message["id"] == id {
                return message;
            }
        }
    }

    /// Calls a tool.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))["result"].clone()
    }

    /// Closes its input, and answers with how long it took to end well.
    pub(crate) fn close(mut self) -> Duration {
        self.input = None;
        let started = Instant::now();
        assert!(self.process.wait().unwrap().success());
        started.elapsed()
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The process that the tool `slow` wrote down, once it did.
pub(crate) fn started(machine: &Machine) -> String {
    let place = machine.project.join("pid");
    let ready = || fs::read_to_string(&place).ok().filter(|text| text.ends_with('\n'));
    for _ in 0..400 {
        if let Some(text) = ready() {
            return text.trim().to_owned();
        }
        thread::sleep(Duration::from_millis(25));
    }
    panic!("it never started");
}

/// Whether a process is gone within a moment.
pub(crate) fn is_gone(process: &str) -> bool {
    let place = Path::new("/proc").join(process);
    // One that nobody waited for is gone too.
    let runs = || fs::read_to_string(place.join("stat")).is_ok_and(|stat| !stat.contains(") Z "));
    (0..80).any(|_| {
        !runs() || {
            thread::sleep(Duration::from_millis(25));
            false
        }
    })
}
