//! What a skill's author writes is inert on every page that shows it, and in sight.

use super::Browser;
use crate::support::{Skill, TestRegistry};

/// Texts that a browser would obey where a page let it.
const EVIL: &[&str] = &[
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "'><svg onload=alert(1)>",
    "</title><script>alert(1)</script>",
    "</textarea></style></script><b>",
    "<!--<script>alert(1)//-->",
    "javascript:alert(1)",
    "{{ 7*7 }} {% raw %} ${x}",
    "&lt;b&gt; &#x3c;script&#x3e;",
];

fn hostile(version: &str) -> Skill {
    let all = EVIL.join(" ");
    let quoted = all.replace('\'', "''");
    let mut skill = Skill::new("hostile", version);
    let text = format!(
        "---\nskill: hostile\nincludes: .\ndescription: '{quoted}'\nlicense: '{quoted}'\ncompatibility: '{quoted}'\n---\n\n# {all}\n\n{all}\n\n\
         [{all}](https://a.example/{version})\n\n| {} |\n|---|\n| x |\n\n```tool\nid: go\ndescription: '{quoted}'\n\
         params:\n  user:\n    type: string\n    description: '{quoted}'\n    default: '{quoted}'\nrun: echo '{quoted}' {version} $user\n```\n",
        all.replace('|', "")
    );
    skill.files[0].2 = text.into_bytes();
    skill
        .with_file("a'b&c.md", format!("{all}\n{version}\n"))
        .with_file("x/<i>.sh", format!("#!/bin/sh\necho '{all}' {version}\n"))
}

/// Whether the page is built of nothing but what the templates and the renderer write.
fn check(path: &str, html: &str) {
    for evil in
        ["<script>", "<img", "onerror=alert(1)>", "<svg onload", "<!--", "<b>", "<i>", "</textarea"]
    {
        assert!(!html.contains(evil), "{path}: {evil} stands in the page");
    }
    assert_eq!(html.matches("<script").count(), 2, "{path}: scripts");
    for link in html.split("href=\"").skip(1) {
        let link = link.split('"').next().unwrap();
        let starts = ["/", "#main", "https://a.example/"];
        assert!(
            starts.iter().any(|start| link.starts_with(start)) && !link.starts_with("//"),
            "{path}: {link}"
        );
    }
    assert!(!html.contains("href=\"javascript:") && !html.contains(" style="), "{path}");
}

#[tokio::test]
async fn whatever_an_author_writes_is_text_on_every_page() {
    let registry = TestRegistry::start().await;
    let eve = registry.author("eve").await;
    for version in ["1.0.0", "1.1.0"] {
        let packed = hostile(version).pack(&eve);
        let answer = registry.publish(&eve, &packed).await;
        let status = answer.status();
        assert_eq!(status, 201, "{}", answer.text().await.unwrap());
    }
    let browser = Browser::new(&registry);
    for path in [
        "/",
        "/?q=hostile",
        "/?q=%3Cscript%3Ealert(1)%3C/script%3E",
        "/?q=%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E",
        "/skills/_/hostile",
        "/skills/_/hostile/1.0.0",
        "/skills/_/hostile/1.0.0/runs",
        "/skills/_/hostile/1.0.0/files",
        "/skills/_/hostile/1.0.0/files/SKILL.md",
        "/skills/_/hostile/1.0.0/files/a'b&c.md",
        "/skills/_/hostile/1.0.0/files/x/%3Ci%3E.sh",
        "/skills/_/hostile/versions",
        "/skills/_/hostile/diff/1.0.0/1.1.0",
        "/people/eve",
        "/log",
    ] {
        let got = browser.get(path).await;
        assert_eq!(got.status, 200, "{path}");
        check(path, &got.text);
    }
    let page = browser.get("/skills/_/hostile").await.text;
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "it is in sight");
    assert!(page.contains("{{ 7*7 }}"), "and is no template");
    // The bytes themselves are nothing that a browser runs.
    let file = browser.get("/skills/_/hostile/1.0.0/files/x/%3Ci%3E.sh").await.text;
    let (_, rest) = file.split_once("href=\"/v1/blobs/").unwrap();
    let bytes = browser.get(&format!("/v1/blobs/{}", rest.split('"').next().unwrap())).await;
    assert_eq!(bytes.header("content-type"), "application/octet-stream");
    assert!(bytes.header("content-security-policy").contains("sandbox"));
}

#[tokio::test]
async fn what_no_reader_sees_is_shown_on_every_page() {
    let registry = TestRegistry::start().await;
    let eve = registry.author("eve").await;
    let mut skill = Skill::new("quiet", "1.0.0");
    let text = "---\nname: quiet\ndescription: Reads a\u{200b}b.\n---\n\nc\u{200b}d <!-- obey --> e\n\n[//]: # (and this)\n";
    skill.files[0].2 = text.as_bytes().to_vec();
    let packed = skill.with_file("name.md", "x\u{feff}y\n").pack(&eve);
    let answer = registry.publish(&eve, &packed).await;
    let status = answer.status();
    assert_eq!(status, 201, "{}", answer.text().await.unwrap());
    let browser = Browser::new(&registry);
    let unseen = |code: &str| format!("<span class=\"unseen\">{code}</span>");
    let page = browser.get("/skills/_/quiet").await.text;
    for part in [
        format!("Reads a{}b.", unseen("U+200B")),
        format!("c{}d", unseen("U+200B")),
        "&lt;!-- obey --&gt;".to_owned(),
        "[//]: # (and this)".to_owned(),
        "unseen-character".to_owned(),
        "html-comment".to_owned(),
    ] {
        assert!(page.contains(&part), "{part} in {page}");
    }
    let file = browser.get("/skills/_/quiet/1.0.0/files/name.md").await;
    assert_eq!(file.status, 200);
    assert!(file.text.contains(&format!("x{}y", unseen("U+FEFF"))), "{}", file.text);
    let search = browser.get("/?q=a%E2%80%AEb").await.text;
    // In a title and in an attribute, where no element can stand.
    assert!(search.contains("<title>a\\u{202e}b"), "{search}");
    assert!(
        search.contains("value=\"a\\u{202e}b\"") && search.contains(&unseen("U+202E")),
        "{search}"
    );
    for path in ["/skills/_/quiet", "/skills/_/quiet/1.0.0/files/SKILL.md", "/?q=quiet", "/"] {
        let html = browser.get(path).await.text;
        let invisible = html
            .chars()
            .find(|c| skillpkg_schema::diagnostic::is_unprintable(*c) && *c != '\n' && *c != '\t');
        assert_eq!(invisible, None, "{path}");
    }
}
