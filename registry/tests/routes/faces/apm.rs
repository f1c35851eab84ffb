//! The APM registry HTTP API.

use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json as value};
use skillpkg_registry::accounts::scopes::Role;
use skillpkg_schema::Sha256Digest;

use super::{plain, read_only, unzipped, zip};
use crate::support::{Author, Skill, TestRegistry, json, problem, published};

const SKILL: &str = "---\nname: greeter\ndescription: Greets.\n---\n\n# Hi\n";

fn package(version: &str, others: &[(&str, &str)]) -> Vec<u8> {
    let description = format!("name: greeter\nversion: {version}\n");
    let mut files = vec![("apm.yml", description.as_str())];
    files.extend(others);
    zip(&files)
}

async fn put(registry: &TestRegistry, author: &Author, path: &str, body: Vec<u8>) -> Response {
    let path = format!("/apm/v1/packages/{path}");
    registry.request(Method::PUT, &path, Some(&author.token)).body(body).send().await.unwrap()
}

#[tokio::test]
async fn a_list_has_what_a_range_may_pick_and_a_download_what_is_named() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.scope("acme", &ana, false).await;
    for version in ["1.0.0", "1.1.0", "1.2.0-rc.1", "2.0.0+b"] {
        let skill = Skill::new("acme/pdf", version).with_file("hooks/hooks.json", "{}\n");
        let answer = registry.publish(&ana, &skill.pack(&ana)).await;
        published(answer, StatusCode::CREATED).await;
    }
    let reason = value!({"reason": "wrong"});
    let yank = "/v1/skills/acme/pdf/1.1.0/yank";
    registry.send(Method::POST, yank, Some(&ana.token), &reason).await;
    let list = "/apm/v1/packages/Acme/PDF/versions";
    let listed = registry.get(list, None).await;
    assert_eq!(listed.headers()["cache-control"], "public, max-age=60");
    let listed: Value = json(listed, StatusCode::OK).await;
    assert_eq!(listed["package"], "acme/pdf");
    let versions: Vec<&str> = listed["versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["version"].as_str().unwrap())
        .collect();
    assert_eq!(versions, ["2.0.0+b", "1.0.0"]);
    for row in listed["versions"].as_array().unwrap() {
        let version = row["version"].as_str().unwrap().replace('+', "%2B");
        let path = format!("/apm/v1/packages/acme/pdf/versions/{version}/download");
        let answer = registry.get(&path, None).await;
        assert_eq!(answer.headers()["content-type"], "application/zip");
        let bytes = answer.bytes().await.unwrap();
        assert_eq!(row["digest"], format!("sha256:{}", Sha256Digest::of(&bytes)));
        assert_eq!(row["size_bytes"], bytes.len());
        assert!(row["published_at"].as_str().unwrap().ends_with('Z'));
        let files = unzipped(&bytes);
        let paths: Vec<&str> = files.iter().map(|(path, ..)| path.as_str()).collect();
        // Nothing of the skill's is a part of the package.
        assert_eq!(
            paths,
            ["apm.yml", ".apm/skills/pdf/SKILL.md", ".apm/skills/pdf/hooks/hooks.json"]
        );
    }
    for (version, status) in [("1.1.0", 200), ("1.2.0-rc.1", 200), ("3.0.0", 404), ("latest", 404)]
    {
        let path = format!("/apm/v1/packages/acme/pdf/versions/{version}/download");
        assert_eq!(registry.get(&path, None).await.status(), status, "{version}");
    }
    // A skill that has nothing but pre-releases is there with them.
    registry.published(&ana, "acme/next", "1.0.0-rc.1").await;
    let listed = registry.get("/apm/v1/packages/acme/next/versions", None).await;
    let listed: Value = json(listed, StatusCode::OK).await;
    assert_eq!(listed["versions"][0]["version"], "1.0.0-rc.1");
    problem(registry.get("/apm/v1/packages/acme/none/versions", None).await, 404, "not_found")
        .await;
}

#[tokio::test]
async fn a_package_that_is_one_skill_is_published_once_and_the_same_again() {
    let registry = TestRegistry::start().await;
    let (ana, ben) = (registry.author("ana").await, registry.author("ben").await);
    registry.scope("acme", &ana, false).await;
    registry.member("acme", &ben, Role::Publisher).await;
    let body = package(
        "0.3.0",
        &[
            (".apm/skills/greeter/SKILL.md", SKILL),
            (".apm/skills/greeter/run.sh", "#!/bin/sh\n"),
            ("README.md", "Read me.\n"),
        ],
    );
    let path = "acme/greeter/versions/0.3.0";
    let answer = put(&registry, &ben, path, body.clone()).await;
    let answer: Value = json(answer, StatusCode::CREATED).await;
    assert_eq!(
        (&answer["package"], &answer["version"]),
        (&value!("acme/greeter"), &value!("0.3.0"))
    );
    let download =
        registry.get("/apm/v1/packages/acme/greeter/versions/0.3.0/download", None).await;
    let bytes = download.bytes().await.unwrap();
    assert_eq!(answer["digest"], format!("sha256:{}", Sha256Digest::of(&bytes)));
    let files = unzipped(&bytes);
    assert!(files.contains(&(
        ".apm/skills/greeter/run.sh".to_owned(),
        true,
        b"#!/bin/sh\n".to_vec()
    )));
    assert!(!files.iter().any(|(path, ..)| path.contains("README")));
    // The same files again are the same version; others are not.
    assert_eq!(put(&registry, &ben, path, body).await.status(), 200);
    let other = package("0.3.0", &[(".apm/skills/greeter/SKILL.md", &format!("{SKILL}more\n"))]);
    problem(put(&registry, &ben, path, other).await, 409, "version_exists").await;
    problem(
        put(&registry, &ana, "nobody/x/versions/1.0.0", Vec::new()).await,
        403,
        "scope_refused",
    )
    .await;
    problem(
        put(&registry, &ana, "acme/greeter/versions/1", Vec::new()).await,
        400,
        "invalid_version",
    )
    .await;
    problem(put(&registry, &ana, "acme/con/versions/1.0.0", Vec::new()).await, 400, "invalid_name")
        .await;
    registry.eventually_tidy().await;
}

#[tokio::test]
async fn what_is_more_than_one_skill_or_calls_itself_otherwise_is_refused() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.scope("acme", &ana, false).await;
    let skill = (".apm/skills/greeter/SKILL.md", SKILL);
    let versioned = SKILL.replace("---\n\n", "metadata:\n  version: 2.0.0\n---\n\n");
    let renamed = SKILL.replace("name: greeter", "name: other");
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (b"no zip".to_vec(), "no zip"),
        (zip(&[skill]), "no `apm.yml`"),
        (zip(&[("SKILL.md", SKILL)]), "no part of a skill"),
        (package("1.0.0", &[]), "no skill"),
        (package("2.0.0", &[skill]), "says version `2.0.0`"),
        (zip(&[("apm.yml", "name: x\n"), skill]), "says version none"),
        (package("1.0.0", &[skill, ("hooks/hooks.json", "{}")]), "`hooks/hooks.json`"),
        (package("1.0.0", &[skill, (".apm/hooks/h.json", "{}")]), "`.apm/hooks/h.json`"),
        (package("1.0.0", &[skill, ("plugin.json", "{}")]), "`plugin.json`"),
        (package("1.0.0", &[skill, (".mcp.json", "{}")]), "`.mcp.json`"),
        (package("1.0.0", &[skill, (".apm/skills/two/SKILL.md", SKILL)]), "the skill `two`"),
        (package("1.0.0", &[skill, (".apm/skills/greeter/../../x", "x")]), "climbs out"),
        (package("1.0.0", &[skill, (".apm/skills/greeter//etc/x", "x")]), "absolute"),
        (package("1.0.0", &[skill, (".apm/skills/greeter/a\\b", "x")]), "backslash"),
        (package("1.0.0", &[(skill.0, &versioned)]), "says version `2.0.0`"),
        (package("1.0.0", &[(skill.0, &renamed)]), "says `other`"),
        (package("1.0.0", &[(skill.0, "no frontmatter")]), "frontmatter"),
    ];
    for (body, told) in cases {
        let answer = put(&registry, &ana, "acme/greeter/versions/1.0.0", body).await;
        let refused = problem(answer, 422, "archive_refused").await;
        let all = serde_json::to_string(&refused).unwrap();
        assert!(all.contains(told), "{told}: {all}");
    }
    problem(registry.get("/v1/skills/acme/greeter", None).await, 404, "not_found").await;
    registry.eventually_tidy().await;
}

#[tokio::test]
async fn a_registry_that_takes_nothing_through_faces_says_what_to_use() {
    let registry = TestRegistry::start_with(read_only()).await;
    let ana = registry.author("ana").await;
    let answer = put(&registry, &ana, "_/greeter/versions/1.0.0", package("1.0.0", &[])).await;
    let refused = problem(answer, 403, "face_publish_refused").await;
    assert!(refused.detail.contains("skillpkg publish"), "{}", refused.detail);
    registry.published(&ana, "open", "1.0.0").await;
    assert_eq!(registry.get("/apm/v1/packages/_/open/versions", None).await.status(), 200);
}

#[tokio::test]
async fn packages_are_searched_for_among_what_the_caller_may_read() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.scope("acme", &ana, false).await;
    registry.scope("hush", &ana, true).await;
    for name in ["acme/pdf", "hush/pdf", "pdf-notes"] {
        registry.published(&ana, name, "1.0.0").await;
    }
    let search = async |query: &str, token: Option<&str>| -> Value {
        json(registry.get(&format!("/apm/v1/search?{query}"), token).await, StatusCode::OK).await
    };
    let found = search("q=pdf&type=skill", None).await;
    assert_eq!((&found["query"], &found["total"]), (&value!("pdf"), &value!(2)));
    assert_eq!(found["results"][0]["id"], "acme/pdf");
    assert_eq!(found["results"][0]["latest_version"], "1.0.0");
    assert_eq!(found["results"][1]["id"], "_/pdf-notes");
    let rest = search("q=pdf&limit=1&offset=1", None).await;
    assert_eq!((rest["results"].as_array().unwrap().len(), &rest["total"]), (1, &value!(2)));
    assert_eq!(search("q=pdf", Some(&ana.token)).await["total"], 3);
    assert_eq!(search("q=none", None).await["results"], value!([]));
    problem(registry.get("/apm/v1/search?limit=x", None).await, 400, "invalid_request").await;
}

/// A client of this protocol can send a name and a password; here the password is a token.
#[tokio::test]
async fn a_token_may_come_as_the_password_of_its_account_here_and_nowhere_else() {
    let registry = TestRegistry::start().await;
    let (ana, ben) = (registry.author("ana").await, registry.author("ben").await);
    registry.scope("hush", &ana, true).await;
    registry.published(&ana, "hush/pdf", "1.0.0").await;
    let ask = async |path: &str, name: &str, password: &str| {
        let request = registry.request(Method::GET, path, None);
        request.basic_auth(name, Some(password)).send().await.unwrap()
    };
    let list = "/apm/v1/packages/hush/pdf/versions";
    let answer = ask(list, "ana", &ana.token).await;
    assert_eq!(answer.headers()["cache-control"], "private, no-store");
    assert_eq!(answer.status(), 200);
    assert_eq!(ask(list, "ben", &ben.token).await.status(), 404, "no member");
    for (name, password) in [
        ("ben", ana.token.as_str()),
        ("", &ana.token),
        ("ana", "skp_none"),
        ("ana", ""),
        (&ana.token, ""),
        (&"a".repeat(1_000), &ana.token),
    ] {
        problem(ask(list, name, password).await, 401, "unauthorized").await;
    }
    for raw in ["Basic", "Basic ", "Basic !", "Basic YW5h", "Digest YW5hOmE="] {
        let request = registry.request(Method::GET, list, None).header("authorization", raw);
        problem(request.send().await.unwrap(), 401, "unauthorized").await;
    }
    for path in ["/v1/skills/hush/pdf", "/v1/tokens/self", "/s/hush/pdf/1.0.0/skill.tar.gz"] {
        problem(ask(path, "ana", &ana.token).await, 401, "unauthorized").await;
    }
    plain(ask("/clawhub/api/v1/whoami", "ana", &ana.token).await, 401, "unauthorized").await;
}
