//! Texts that would cost their reader more than they cost whoever sends them: refused at once, and
//! within little memory.
#![cfg(target_os = "linux")]

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use reqwest::{Method, RequestBuilder, StatusCode};
use skillpkg_schema::address::Digests;
use skillpkg_schema::manifest::{FileEntry, Mode};
use skillpkg_schema::signature::SigningKey;
use skillpkg_store::attacks::{self, SIGNING_KEY, Sample};

use crate::commands::{Serving, author, command, registry_in};
use crate::support::{Author, Packed, Skill, TestRegistry, client};

const MIB: u64 = 1024 * 1024;

/// The most memory that a process ever had, in bytes.
pub(crate) fn high_water_mark(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() * 1024
}

/// So many pieces, one behind the other.
fn each(count: usize, piece: impl Fn(&mut String, usize) -> std::fmt::Result) -> String {
    let mut text = String::new();
    for at in 0..count {
        piece(&mut text, at).unwrap();
    }
    text
}

/// A serving process, and what it may cost.
struct Watched {
    serving: Serving,
    author: Author,
    /// Its memory before anything hostile came.
    before: u64,
    _directory: tempfile::TempDir,
}

impl Watched {
    async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        registry_in(directory.path()).await;
        let author = author(directory.path(), "ana");
        // With every route that there can be. Nobody is at the issuer's, and nobody asks there.
        let serving = Serving::of(&mut command(
            directory.path(),
            &[
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--public-url",
                "https://skills.example",
                "--oidc-issuer",
                "http://127.0.0.1:9",
                "--allow-upstream",
                "127.0.0.1",
            ],
        ));
        let watched = Self { serving, author, before: 0, _directory: directory };
        // What a publish takes is taken before it is counted.
        let packed = Skill::new("waitlist", "1.0.0").pack(&watched.author);
        assert_eq!(watched.publish(&packed.path(), packed.archive).await, StatusCode::CREATED);
        let before = high_water_mark(watched.serving.process.id());
        Self { before, ..watched }
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        client()
            .request(method, format!("{}{path}", self.serving.url))
            .bearer_auth(&self.author.token)
    }

    async fn publish(&self, path: &str, archive: Vec<u8>) -> StatusCode {
        let request = self.author.offer(self.request(Method::PUT, path));
        request.body(archive).send().await.unwrap().status()
    }

    /// The status of an answer that came quickly.
    #[track_caller]
    fn quickly(start: Instant, what: &str) {
        // A debug build on a busy machine: hostile work would take minutes.
        assert!(start.elapsed() < Duration::from_secs(10), "{what}: {:?}", start.elapsed());
    }

    #[track_caller]
    fn took_little(&self, what: &str) {
        let grown = high_water_mark(self.serving.process.id()) - self.before;
        assert!(grown < 64 * MIB, "{what}: {} KiB", grown / 1024);
    }
}

/// The routes of the router that take a JSON document, by method.
async fn taking_json() -> Vec<(Method, String)> {
    let registry = TestRegistry::start().await;
    let (_, document) = skillpkg_registry::routes::router(&registry.registry);
    let document = serde_json::to_value(&document).unwrap();
    let mut routes = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            if operation["requestBody"]["content"].get("application/json").is_some() {
                let path = path
                    .replace("{scope}", if path.contains("{name}") { "_" } else { "acme" })
                    .replace("{name}", "waitlist")
                    .replace("{version}", "1.0.0")
                    .replace("{id}", &"0".repeat(64))
                    .replace("{advisory}", "SKA-1");
                routes.push((method.to_uppercase().parse().unwrap(), path));
            }
        }
    }
    assert!(routes.len() > 8, "{routes:?}");
    routes
}

#[tokio::test]
async fn a_body_that_is_deep_or_wide_is_refused_at_once_on_every_route_that_takes_json() {
    let watched = Watched::start().await;
    let object = |depth: usize| format!("{}0{}", "{\"a\":".repeat(depth), "}".repeat(depth));
    let keys = each(1_000_000, |text, at| write!(text, "\"{at}\":0,"));
    let bodies = [
        ("10,000 arrays", "[".repeat(10_000)),
        ("10,000 objects", object(10_000)),
        ("10,000 objects in a field", format!("{{\"label\":{}}}", object(10_000))),
        ("as many keys as fit", format!("{{{}\"a\":0}}", keys.get(..500_000).unwrap())),
        ("one key again and again", format!("{{{}\"a\":0}}", "\"a\":0,".repeat(80_000))),
        ("a million keys", format!("{{{keys}\"a\":0}}")),
        ("50 MB", format!("{{\"a\":\"{}\"}}", "a".repeat(50_000_000))),
    ];
    for (method, path) in taking_json().await {
        for (what, body) in &bodies {
            let what = format!("{method} {path}: {what}");
            // The largest on one route: the bound stands before all of them.
            if body.len() > 20_000_000 && path != "/v1/index" {
                continue;
            }
            let start = Instant::now();
            let sent = watched.request(method.clone(), &path).body(body.clone()).send().await;
            // The answer comes, or the connection ends while the body is still being sent.
            if let Ok(answer) = sent {
                let status = answer.status().as_u16();
                let expected: &[u16] =
                    if body.len() > 1_000_000 { &[413] } else { &[400, 403, 404, 413] };
                assert!(expected.contains(&status), "{what}: {status}");
            }
            Watched::quickly(start, &what);
        }
    }
    watched.took_little("bodies of JSON");
    watched.serving.kill();
}

/// A skill whose `SKILL.md` is another text than its manifest was made of: what the manifest says
/// of the file is true, and the rest is not.
fn posing(author: &Author, at: usize, text: String) -> Packed {
    let mut skill = Skill::new("waitlist", &format!("2.{at}.0"));
    let mut manifest = skill.manifest();
    skill.files[0].2 = text.into_bytes();
    let path = manifest.files[0].path.clone();
    manifest.files[0] = FileEntry::new(path, Mode::Regular, Digests::of(&skill.files[0].2));
    skill.pack_as(manifest, author)
}

#[tokio::test]
async fn frontmatter_that_would_grow_without_bound_is_refused_at_once() {
    let watched = Watched::start().await;
    let front = |yaml: &str| format!("---\nname: waitlist\ndescription: d\n{yaml}\n---\nAsk.\n");
    let mut laughs = "a: &a [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (letter, before) in ('b'..='z').zip('a'..) {
        let again = vec![format!("*{before}"); 10].join(", ");
        writeln!(laughs, "{letter}: &{letter} [{again}]").unwrap();
    }
    let indented = each(2_000, |text, depth| writeln!(text, "{}a:", " ".repeat(depth)));
    let keys = each(100_000, |text, at| writeln!(text, "k{at}: 1"));
    let texts = [
        ("aliases of aliases", front(&laughs)),
        ("itself", front("a: &a [*a]")),
        ("merged", front("a: &a {x: 1}\nb: {<<: *a}")),
        ("10,000 lists", front(&format!("a: {}{}", "[".repeat(10_000), "]".repeat(10_000)))),
        ("10,000 lists in blocks", front(&format!("a:\n  {}x", "- ".repeat(10_000)))),
        ("2,000 indents", front(&indented)),
        ("100,000 keys", front(&keys)),
        ("over a megabyte", front(&format!("a: {}", "x".repeat(2_000_000)))),
    ];
    for (at, (what, text)) in texts.into_iter().enumerate() {
        let packed = posing(&watched.author, at, text);
        let start = Instant::now();
        let status = watched.publish(&packed.path(), packed.archive).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{what}");
        Watched::quickly(start, what);
    }
    watched.took_little("frontmatter");
    watched.serving.kill();
}

#[tokio::test]
async fn a_manifest_of_gigabytes_of_depth_or_of_millions_of_values_is_refused_at_once() {
    let watched = Watched::start().await;
    let manifest = Sample::small().unwrap().manifest;
    assert!(manifest.name.scope().is_some());
    let (name, version) = (&manifest.name, &manifest.version);
    let path = format!("/v1/skills/_/{}/{version}", name.name());
    let key = SigningKey::from_pem(SIGNING_KEY).unwrap();
    let author = watched.author.with_key(key);
    let costly = ["bomb-in-manifest/", "amplified/", "manifest-shape/deep", "many-files/"];
    let mut tried = 0;
    for attack in attacks::all().unwrap() {
        if !costly.iter().any(|start| attack.name.starts_with(start)) {
            continue;
        }
        let start = Instant::now();
        let request = author.offer(watched.request(Method::PUT, &path));
        let status = request.body(attack.archive).send().await.unwrap().status();
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{}", attack.name);
        Watched::quickly(start, &attack.name);
        tried += 1;
    }
    assert!(tried >= 8, "{tried}");
    watched.took_little("manifests");
    watched.serving.kill();
}
