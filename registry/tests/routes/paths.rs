//! What is written in the place of a part of a path reaches nothing beyond its route.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use skillpkg_schema::wire::Document;

use crate::commands::{self, Serving, author, registry_in};
use crate::skips::skipped;
use crate::support::{Author, Skill, TestRegistry, client};

/// What is written in the place of one part.
fn evil() -> Vec<String> {
    let mut all: Vec<String> = [
        "..",
        "%2e%2e",
        "%252e%252e",
        "%252e",
        "..%2f",
        "..%2f..%2f..%2f..%2fetc%2fpasswd",
        "%2e%2e%2f%2e%2e%2fregistry.db",
        "..%5c",
        "..%5c..%5cregistry.db",
        "%00",
        "..%00",
        "//",
        "%2f%2f",
        "%2fetc%2fpasswd",
        "",
        "%e2%80%ae",
        "%ff",
        ".",
        "%2f",
        "file:%2f%2f%2fetc%2fpasswd",
    ]
    .map(str::to_owned)
    .into();
    all.push("a".repeat(5_000));
    all
}

/// What each part may be, in the place of which something else is written.
fn good<'t>(part: &str, token: &'t str) -> &'t str {
    match part {
        "{token}" => token,
        "{scope}" => "_",
        "{name}" => "open",
        "{version}" => "1.0.0",
        "{address}" => "sha256:0000000000000000000000000000000000000000000000000000000000000000",
        "{digest}" | "{id}" | "{ticket}" => {
            "0000000000000000000000000000000000000000000000000000000000000000"
        }
        "{advisory}" => "SKA-2026-0001",
        "{*path}" => "0/000.p/1",
        other => panic!("a part of a path that no test knows: {other}"),
    }
}

/// Every route of the router with a part in its path, with each of its parts in turn written
/// otherwise: a new route is among them by itself. `token` is one that a path may hold.
fn requests(registry: &TestRegistry, token: &str) -> Vec<(String, String)> {
    let (_, document) = skillpkg_registry::routes::router(&registry.registry);
    let document = serde_json::to_value(&document).unwrap();
    let mut requests = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        let parts: Vec<&str> = path.split('/').collect();
        for at in (0..parts.len()).filter(|at| parts[*at].starts_with('{')) {
            for evil in evil() {
                let mut filled: Vec<&str> = parts
                    .iter()
                    .map(|part| if part.starts_with('{') { good(part, token) } else { part })
                    .collect();
                filled[at] = &evil;
                let filled = filled.join("/");
                for method in methods.as_object().unwrap().keys().filter(|key| *key != "parameters")
                {
                    requests.push((method.to_uppercase(), filled.clone()));
                }
            }
        }
    }
    assert!(requests.len() > 500, "the document is not read as it is written");
    requests
}

/// Written by hand: a client's library would tidy the path up.
fn head(method: &str, path: &str, author: &Author) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\nauthorization: Bearer {}\r\n\r\n",
        author.token
    )
}

#[tokio::test]
async fn no_part_of_a_path_reaches_beyond_its_route() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "open", "1.0.0").await;
    let token = registry.token(&ana, &["read"]).await;
    for (method, path) in requests(&registry, &token) {
        let answer = registry.raw(&head(&method, &path, &ana), b"").await;
        let status = answer.get(9..12).unwrap_or_default();
        let shown = path.get(..80).unwrap_or(&path);
        // Something else in the place of a token is none.
        let is_no_token = path.starts_with("/t/") && !path.contains(&token) && status == "401";
        let is_refused = ["400", "404", "405"].contains(&status) || is_no_token;
        assert!(is_refused, "{method} {shown}: {answer}");
        let has_code = answer.contains("\"code\":\"") || answer.contains("skillpkg-code: ");
        assert!(method == "HEAD" || has_code, "{method} {shown}: {answer}");
        for told in ["\u{202e}", "\u{0}", "root:"] {
            assert!(!answer.contains(told), "{method} {shown}: {answer}");
        }
    }
}

/// The calls that the lines of a trace tell of, each with the path that it is about, made absolute by
/// its directory.
fn opened(trace: &str) -> Vec<(String, String)> {
    trace
        .lines()
        .filter_map(|line| {
            let (call, rest) = line.split_once('(')?;
            let call = call.rsplit(' ').next()?.to_owned();
            let path = rest.split('"').nth(1)?;
            if path.starts_with('/') {
                return Some((call, path.to_owned()));
            }
            // `openat(7</directory>, "name", …)`: below the directory that the descriptor is of.
            let directory = rest.split('"').next()?.split_once('<')?.1.split_once('>')?.0;
            Some((call, format!("{directory}/{path}")))
        })
        .collect()
}

/// Whether a call stays in the data directory.
///
/// Each connection to the database makes its path absolute by a look at every directory above it, which
/// opens nothing. The C library's allocator reads two files, each once, when it needs to: the processors
/// for a further arena, and how memory is promised before it first gives some of an arena back. When that
/// is depends on how threads take turns, so that it may be after the first request.
fn stays_in(data: &Path, (call, path): &(String, String)) -> bool {
    let looks = ["lstat", "newfstatat", "readlink", "readlinkat", "stat", "statx"];
    let is_above = looks.contains(&call.as_str()) && data.starts_with(path);
    let is_within = Path::new(path).starts_with(data) && !path.split('/').any(|part| part == "..");
    let allocator = ["/sys/devices/system/cpu/online", "/proc/sys/vm/overcommit_memory"];
    is_within || is_above || (call == "openat" && allocator.contains(&path.as_str()))
}

#[test]
fn a_look_at_what_is_above_is_told_from_what_leads_outside() {
    let trace = "7 openat(AT_FDCWD</srv>, \"/srv/data/a\", O_RDONLY) = 3</srv/data/a>\n\
                 7 newfstatat(AT_FDCWD</srv>, \"/srv\", {st_mode=…}, 0) = 0\n\
                 8 openat(AT_FDCWD</srv>, \"/srv\", O_RDONLY) = 4</srv>\n\
                 8 openat(4</srv>, \"other\", O_RDONLY) = -1 ENOENT\n\
                 8 openat(5</srv/data>, \"../x\", O_RDONLY) = -1 ENOENT\n\
                 9 lstat(\"/srv/other\", 0x1) = -1 ENOENT\n\
                 9 lstat(\"/srv/data/b\", 0x1) = 0\n\
                 9 openat(AT_FDCWD</srv>, \"/proc/sys/vm/overcommit_memory\", O_RDONLY) = 5\n\
                 9 openat(AT_FDCWD</srv>, \"/proc/self/environ\", O_RDONLY) = 5\n";
    let stays: Vec<bool> =
        opened(trace).iter().map(|seen| stays_in(Path::new("/srv/data"), seen)).collect();
    assert_eq!(stays, [true, true, false, false, false, false, true, true, false]);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn no_path_makes_the_server_open_a_file_outside_its_directory() {
    let test = "no_path_makes_the_server_open_a_file_outside_its_directory";
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().canonicalize().unwrap();
    let (data, trace) = (place.join("data"), place.join("trace"));
    match std::process::Command::new("strace").args(["-qq", "-o"]).arg(&trace).arg("true").output()
    {
        Err(_) => return skipped(test, "`strace`", true),
        Ok(output) if !output.status.success() => {
            return skipped(test, "the privilege to trace", false);
        }
        Ok(_) => {}
    }
    registry_in(&data).await;
    let ana = author(&data, "ana");
    let packed = Skill::new("open", "1.0.0").pack(&ana);
    let serving = Serving::start(&data);
    let publish = client().put(format!("{}{}", serving.url, packed.path()));
    let publish = ana.offer(publish.bearer_auth(&ana.token)).body(packed.archive.clone());
    assert_eq!(publish.send().await.unwrap().status(), 201);
    serving.kill();

    // The tracer runs beside the server, which is the process that was started.
    let serve = commands::command(&data, &["serve", "--listen", "127.0.0.1:0"]);
    let mut traced = std::process::Command::new("strace");
    traced.args(["-D", "-f", "-qq", "-y", "-s", "8192", "-e", "trace=%file", "-o"]).arg(&trace);
    traced.arg(serve.get_program()).args(serve.get_args()).env_remove("RUST_LOG");
    let serving = Serving::of(&mut traced);
    let read = async |url: String| {
        let answer = client().get(url).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        answer.bytes().await.unwrap()
    };
    let known = read(format!("{}/v1/skills/_/open", serving.url)).await;
    assert_eq!(serde_json::from_slice::<Document>(&known).unwrap().versions.len(), 1);
    let before = std::fs::read_to_string(&trace).unwrap().len();
    let routes = TestRegistry::start().await;
    let token = commands::done(&data, &["token", "mint", "ana", "--grant", "read"]);
    let requests = requests(&routes, token.trim());
    let address = serving.url.strip_prefix("http://").unwrap().to_owned();
    // Some at once, so that the database is opened anew while what is opened is noted: the path to it
    // is then looked at from its root, which opens nothing.
    let at_once = (0..32).map(|number| {
        let url = format!("{}/v1/skills/_/absent-{number}", serving.url);
        tokio::spawn(async move { client().get(url).send().await.unwrap().status() })
    });
    for asked in at_once.collect::<Vec<_>>() {
        assert_eq!(asked.await.unwrap(), 404);
    }
    for (method, path) in &requests {
        let mut stream = TcpStream::connect(&address).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        stream.write_all(head(method, path, &ana).as_bytes()).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let told = String::from_utf8_lossy(&answer);
        assert!(told.starts_with("HTTP/1.1 4"), "{method} {path}: {told}");
    }
    // What it does open is seen: an archive, at the end of all that was asked.
    let archive = read(format!("{}/v1/archives/{}", serving.url, packed.digests.sha256)).await;
    assert_eq!(archive, packed.archive);
    let digest = packed.digests.sha256.to_string();
    let mut seen = Vec::new();
    for _ in 0..100 {
        let told = std::fs::read_to_string(&trace).unwrap();
        seen = opened(&told[before..]);
        if seen.iter().any(|(_, path)| path.contains(&digest)) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    serving.kill();
    assert!(seen.iter().any(|(_, path)| path.contains(&digest)), "{seen:?}");
    let outside: Vec<_> = seen.iter().filter(|seen| !stays_in(&data, seen)).collect();
    assert!(outside.is_empty(), "{outside:?}");
}
