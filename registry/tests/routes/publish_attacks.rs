//! Every attack on the archive, sent to be published.

use skillpkg_registry::upkeep::{Removal, remove_orphans};
use skillpkg_schema::signature::SigningKey;
use skillpkg_store::attacks::{self, RefusedBy, SIGNING_KEY, Sample};
use std::time::Duration;

use crate::support::{Skill, TestRegistry, problem};

#[tokio::test]
async fn every_attack_is_refused_and_leaves_nothing() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let ana = ana.with_key(SigningKey::from_pem(SIGNING_KEY).unwrap());
    let manifest = Sample::small().unwrap().manifest;
    if let Some(scope) = manifest.name.scope() {
        registry.scope(scope.as_str(), &ana, false).await;
    }
    let path = format!(
        "/v1/skills/{}/{}/{}",
        manifest.name.wire_scope(),
        manifest.name.name(),
        manifest.version
    );
    let send = async |archive: Vec<u8>| {
        let request = registry.request(reqwest::Method::PUT, &path, Some(&ana.token));
        ana.offer(request).body(archive).send().await.unwrap()
    };
    let (refused, taken): (Vec<_>, Vec<_>) = attacks::all()
        .unwrap()
        .into_iter()
        .partition(|attack| attack.expected.refused_by != RefusedBy::Nobody);
    assert!(refused.len() > 500);
    for attack in refused {
        let answer = send(attack.archive).await;
        let status = answer.status().as_u16();
        assert!([403, 413, 422].contains(&status), "{}: {status}", attack.name);
        let code = match status {
            403 => "key_not_registered",
            413 => "too_large",
            _ if attack.expected.refused_by == RefusedBy::Signature => {
                let text = answer.text().await.unwrap();
                assert!(text.contains("refused"), "{}: {text}", attack.name);
                continue;
            }
            _ => "archive_refused",
        };
        let problem = problem(answer, status, code).await;
        let codes: Vec<&str> = problem.faults.iter().map(|fault| fault.code.as_str()).collect();
        if attack.expected.refused_by == RefusedBy::Reader && status == 422 {
            assert_eq!(codes, [attack.expected.code.as_deref().unwrap()], "{}", attack.name);
        }
        let shown = format!("{}{:?}", problem.detail, problem.faults);
        assert!(!shown.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{}", attack.name);
    }
    registry.eventually_tidy().await;
    let removal = remove_orphans(registry.data(), Duration::ZERO, true).await.unwrap();
    assert_eq!(removal, Removal::default());
    // What other compressors make of the same snapshot is the same snapshot.
    for (at, attack) in taken.into_iter().enumerate() {
        let status = send(attack.archive).await.status().as_u16();
        assert_eq!(status, if at == 0 { 201 } else { 200 }, "{}", attack.name);
    }
}

#[tokio::test]
async fn text_that_no_reader_sees_is_refused_in_every_file() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let obey = "\u{e006f}\u{e0062}\u{e0065}\u{e0079}";
    let hiding = Skill::new("w", "1.0.0").with_file("references/a.md", format!("Read.\n{obey}"));
    let refused = registry.publish(&ana, &hiding.pack(&ana)).await;
    let problem = problem(refused, 422, "archive_refused").await;
    let [fault] = problem.faults.as_slice() else { panic!("{:?}", problem.faults) };
    let place = (fault.file.as_deref(), fault.line, fault.column);
    assert_eq!(fault.code, "hidden_character");
    assert_eq!(place, (Some("references/a.md"), Some(2), Some(1)));
    let honest =
        Skill::new("w", "1.0.0").with_file("references/a.md", "👩\u{200d}💻 می\u{200c}خواهم");
    assert_eq!(registry.publish(&ana, &honest.pack(&ana)).await.status(), 201);
}
