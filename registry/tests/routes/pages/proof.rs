//! The commands of a leaf's page, run by a shell.

use std::process::{Command, Output};

use super::Browser;
use crate::skips::skipped;
use crate::support::TestRegistry;

fn run(script: &str) -> Output {
    Command::new("sh").arg("-c").arg(script).output().unwrap()
}

/// The text of the page's script.
fn script(html: &str) -> String {
    let (_, rest) = html.split_once("<pre class=\"script\" data-copy=\"commands\"><code>").unwrap();
    let (script, _) = rest.split_once("</code>").unwrap();
    let plain = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    plain.iter().fold(script.to_owned(), |text, (from, to)| text.replace(from, to))
}

#[tokio::test]
async fn the_commands_of_each_leaf_verify_it_and_nothing_else() {
    let test = "the_commands_of_each_leaf_verify_it_and_nothing_else";
    match Command::new("openssl").arg("version").output() {
        Ok(output) if output.stdout.starts_with(b"OpenSSL 3") => {}
        _ => return skipped(test, "OpenSSL 3", true),
    }
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.scope("secret", &ana, true).await;
    for version in ["1.0.0", "1.1.0", "1.2.0"] {
        registry.published(&ana, "open", version).await;
    }
    registry.published(&ana, "secret/plan", "1.0.0").await;
    let size = registry.registry.log.moment().await.size();
    assert!(size > 8);
    let browser = Browser::new(&registry);
    for leaf in 0..size {
        let page = browser.get(&format!("/log/entries/{leaf}")).await.text;
        let script = script(&page);
        let output = run(&script);
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        let fault = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "leaf {leaf}: {told}{fault}");
        assert!(told.contains("\"schema\":\"skillpkg.log/1\""), "{told}");
        assert!(told.contains("Signature Verified Successfully"), "{told}");
        if leaf != 5 {
            continue;
        }
        // One character of what each step is given.
        for (at, _) in script.match_indices(" '") {
            let first = script.get(at + 2..=at + 2).unwrap();
            if !first.bytes().all(|byte| byte.is_ascii_alphanumeric()) || first == "\\" {
                continue;
            }
            let other = if first == "A" { "B" } else { "A" };
            let mut changed = script.clone();
            changed.replace_range(at + 2..at + 3, other);
            assert!(
                !run(&changed).status.success(),
                "it does not matter what stands at {at}: {changed}"
            );
        }
    }
}
