//! A registry that has a path of a host, behind a proxy that takes the path away: each client, and the
//! pages, lead nowhere else.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use skillpkg_tests::{Machine, OtherClient, Prefixed, Registry};
use tempfile::TempDir;

use crate::faces::{agent_skill, borrowed};

const PATH: &str = "/some/skills";

/// A registry that is reached by the proxy alone, with `acme/pdf-tools` in it, which was published that
/// way.
struct Behind {
    directory: TempDir,
    registry: Registry,
    front: Prefixed,
    ada: Machine,
}

impl Behind {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let front = Prefixed::new(PATH);
        let arguments = ["--public-url", &front.url()];
        let registry = Registry::start_with(&directory.path().join("registry"), &arguments);
        front.before(&registry.url());
        let mut ada = Machine::new(&directory.path().join("ada"), front.url());
        ada.token = Some(registry.add_user("ada"));
        ada.run(&["keygen"]).succeeded();
        registry.command(&["scope", "add", "acme", "--owner", "ada"]);
        let behind = Self { directory, registry, front, ada };
        behind.publish("1.0.0");
        behind
    }

    fn publish(&self, version: &str) {
        let source = self.directory.path().join(format!("pdf-tools-{version}"));
        let skill = agent_skill(version);
        for (path, text) in borrowed(&skill) {
            let path = source.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let source = source.to_str().unwrap();
        let publish = ["publish", source, "--name", "acme/pdf-tools", "--version", version];
        self.ada.run(&publish).succeeded();
    }
}

/// The head and the text of the answer to a `GET` of a path of the host of a URL.
fn get(url: &str, path: &str) -> (String, String) {
    let host = url.trim_start_matches("http://").split('/').next().unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: {host}\r\naccept: text/html\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, text) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), text.to_owned())
}

/// Every page that a first one leads to, all of which are there and beneath `root`.
fn crawl(url: &str, root: &str) -> BTreeSet<String> {
    let mut open = vec![format!("{root}/")];
    let mut seen = BTreeSet::new();
    while let Some(path) = open.pop() {
        if !seen.insert(path.clone()) {
            continue;
        }
        let (head, text) = get(url, &path);
        assert!(head.starts_with("HTTP/1.1 200"), "{path}: {head}");
        if !head.contains("text/html") {
            continue;
        }
        for attribute in [" href=\"/", " src=\"/", " action=\"/"] {
            for (at, _) in text.match_indices(attribute) {
                let from = at + attribute.len() - 1;
                let to = text.get(from..).unwrap().split('"').next().unwrap();
                let to = to.split('#').next().unwrap().replace("&amp;", "&");
                assert!(to.starts_with(&format!("{root}/")), "{path} leads to {to}");
                // A form is sent by a person.
                if attribute != " action=\"/" {
                    open.push(to);
                }
            }
        }
    }
    seen
}

#[test]
fn the_projects_own_client_uses_a_registry_beneath_a_path() {
    let behind = Behind::new();
    behind.ada.run(&["install", "acme/pdf-tools", "--yes"]).succeeded();
    let found = behind.ada.run(&["search", "pdf"]).succeeded().stdout;
    assert!(found.contains("acme/pdf-tools"), "{found}");
    behind.publish("1.1.0");
    behind.ada.run(&["update", "--yes"]).succeeded();
    behind.ada.run(&["verify"]).succeeded();
    let lock = behind.ada.read("skillpkg.lock");
    assert!(lock.contains(&behind.front.url()) && !lock.contains(&behind.registry.url()), "{lock}");
}

#[test]
fn every_page_beneath_a_path_leads_to_pages_that_are_there() {
    let behind = Behind::new();
    let seen = crawl(&behind.front.url(), PATH);
    for page in ["/", "/log", "/skills/acme/pdf-tools", "/scopes/acme", "/people/ada", "/sign-in"] {
        let page = format!("{PATH}{page}");
        assert!(seen.iter().any(|path| path.split('?').next() == Some(&page)), "{page}: {seen:?}");
    }
    assert!(seen.iter().any(|path| path.starts_with(&format!("{PATH}/static/page.css"))));
}

#[test]
fn every_page_of_a_mirror_leads_to_pages_that_are_there() {
    let behind = Behind::new();
    let upstream = behind.front.url();
    let arguments = ["--mirror", &upstream, "--allow-upstream", "127.0.0.1"];
    let mirror = Registry::start_with(&behind.directory.path().join("mirror"), &arguments);
    let (head, text) = get(&mirror.url(), "/skills/acme/pdf-tools");
    assert!(head.starts_with("HTTP/1.1 200") && text.contains("Reads PDF, 1.0.0."), "{head}{text}");
    let seen = crawl(&mirror.url(), "");
    for page in [
        "/log",
        "/skills/acme/pdf-tools",
        "/skills/acme/pdf-tools/1.0.0/files/SKILL.md",
        "/relayed/log/checkpoint",
    ] {
        assert!(seen.contains(page), "{page}: {seen:?}");
    }
}

#[test]
fn other_peoples_clients_use_a_registry_beneath_a_path() {
    let test = "other_peoples_clients_use_a_registry_beneath_a_path";
    let behind = Behind::new();
    let (directory, url) = (behind.directory.path(), behind.front.url());

    if let Some(client) = OtherClient::skills(test, &directory.join("skills")) {
        for of in ["/s/acme/pdf-tools", "/s/acme", ""] {
            let listed = client.run(&["add", &format!("{url}{of}"), "--list"]).succeeded().stdout;
            assert!(listed.contains("pdf-tools"), "{of}: {listed}");
        }
        let one = format!("{url}/s/acme/pdf-tools");
        client.run(&["add", &one, "-a", "claude-code", "-y"]).succeeded();
        assert!(client.read(".claude/skills/pdf-tools/SKILL.md").contains("# PDF 1.0.0"));
    }

    if let Some(client) = OtherClient::apm(test, &directory.join("apm")) {
        client.write(
            "apm.yml",
            &format!(
                "name: demo\nversion: 1.0.0\nregistries:\n  skillpkg:\n    url: {url}/apm\n  \
                 default: skillpkg\ndependencies:\n  apm:\n    - acme/pdf-tools#^1.0.0\n"
            ),
        );
        client.run(&["install", "--target", "claude"]).succeeded();
        assert!(client.read(".claude/skills/pdf-tools/SKILL.md").contains("# PDF 1.0.0"));
        std::fs::remove_dir_all(client.project.join("apm_modules")).unwrap();
        client.run(&["install", "--frozen", "--target", "claude"]).succeeded();
    }

    if let Some(client) = OtherClient::clawhub(test, &directory.join("clawhub"), &url) {
        client.run(&["install", "@acme/pdf-tools"]).succeeded();
        client.run(&["skill", "verify", "@acme/pdf-tools"]).succeeded();
        let token = behind.registry.add_user("ben");
        let member = ["scope", "member", "add", "acme", "ben", "--role", "publisher"];
        behind.registry.command(&member);
        client.run(&["login", "--token", &token]).succeeded();
        client.write("greeter/SKILL.md", "---\nname: greeter\ndescription: Greets.\n---\n\n# Hi\n");
        client.run(&["publish", "greeter", "--json"]).succeeded();
        client.run(&["install", "@acme/greeter"]).succeeded();
        assert!(client.read("skills/@acme/greeter/SKILL.md").contains("# Hi"));
    }
}
