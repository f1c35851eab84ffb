//! No skill makes a page that is long or slow.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use super::Browser;
use crate::support::{Skill, TestRegistry};

/// Most bytes of a first view: the page and all that it loads.
const FIRST_VIEW: usize = 100_000;

/// A skill with much of everything.
fn fat(version: &str, seed: usize) -> Skill {
    let mut text = String::from("---\nskill: fat\nincludes: .\ndescription: '");
    text.push_str(&"d<&>\"".repeat(200));
    text.push_str("'\nlicense: MIT\n---\n\n");
    for at in 0..2_000 {
        let _ = writeln!(
            text,
            "Line {at} of {version} <b>with</b> *much* [to](https://a.example/{at}) `read` {}.\n",
            at * seed
        );
    }
    for at in 0..300 {
        let _ = write!(
            text,
            "```tool\nid: tool-{at}\ndescription: does {at}\nparams:\n  user:\n    type: string\nrun: sh run.sh {} --a={at} $user {}\n```\n\n",
            seed,
            "word ".repeat(20)
        );
    }
    let mut skill = Skill::new("fat", version);
    skill.files[0].2 = text.into_bytes();
    skill = skill.with_file("run.sh", "#!/bin/sh\n");
    for at in 0..1_500 {
        skill = skill.with_file(
            &format!("references/a-rather-long-name-of-a-file-{at}.md"),
            format!("{at} {seed}\n"),
        );
    }
    let lines: String = (0..20_000).fold(String::new(), |mut all, at| {
        let _ = writeln!(all, "{} <{at}>", at * seed);
        all
    });
    skill
        .with_file("long.md", lines)
        .with_file("wide.md", "a\u{200b}b ".to_owned() + &"<".repeat(200_000))
}

#[tokio::test]
async fn a_first_view_of_any_page_is_below_its_bound() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    for (version, seed) in [("1.0.0", 3), ("2.0.0", 7)] {
        let packed = fat(version, seed).pack(&ana);
        let answer = registry.publish(&ana, &packed).await;
        let status = answer.status();
        assert_eq!(status, 201, "{}", answer.text().await.unwrap());
    }
    for minor in 1..40 {
        registry.published(&ana, "many", &format!("1.{minor}.0")).await;
    }
    let browser = Browser::new(&registry);
    let mut assets = 0;
    for name in ["page.css", "page.js", "theme.js", "mark.svg", "mono.woff2"] {
        assets += browser.get(&format!("/static/{name}")).await.headers["content-length"]
            .to_str()
            .unwrap()
            .parse::<usize>()
            .unwrap();
    }
    for path in [
        "/",
        "/?q=",
        "/skills/_/fat",
        "/skills/_/many",
        "/skills/_/many/versions",
        "/skills/_/fat/2.0.0/files",
        "/skills/_/fat/2.0.0/files/SKILL.md",
        "/skills/_/fat/2.0.0/files/long.md",
        "/skills/_/fat/2.0.0/files/wide.md",
        "/skills/_/fat/diff/1.0.0/2.0.0",
        "/log",
        "/log/entries/1",
        "/people/ana",
    ] {
        let started = Instant::now();
        let got = browser.get(path).await;
        let took = started.elapsed();
        assert_eq!(got.status, 200, "{path}");
        let weight = got.text.len() + assets;
        assert!(weight < FIRST_VIEW, "{path}: {} bytes and {assets} of assets", got.text.len());
        assert!(took < Duration::from_secs(20), "{path}: {took:?}");
    }
    // What does not fit is told, and where it is.
    let page = browser.get("/skills/_/fat").await.text;
    assert!(page.contains("more that it can run or read: see all"), "{page}");
    assert!(
        page.contains("It goes on: read the whole file") && page.contains("All 1504 files"),
        "{page}"
    );
    let all = browser.get("/skills/_/fat/2.0.0/runs").await.text;
    assert!(all.contains("tool-299") && all.contains("--a=299"));
    let rest = browser.get("/skills/_/fat/2.0.0/files/long.md?from=19990").await.text;
    assert!(rest.contains("id=\"L20000\""), "{rest}");
}
