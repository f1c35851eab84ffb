//! The API of `ClawHub`.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json as value};
use skillpkg_registry::accounts::scopes::Role;
use skillpkg_registry::faces::fingerprint;
use skillpkg_schema::Sha256Digest;

use super::{plain, read_only, unzipped};
use crate::support::{Author, Skill, TestRegistry, json, published};

const API: &str = "/clawhub/api/v1";
const SKILL: &str = "---\nname: greeter\ndescription: Greets.\n---\n\n# Hi\n";

async fn get(registry: &TestRegistry, path: &str) -> Value {
    json(registry.get(&format!("{API}{path}"), None).await, StatusCode::OK).await
}

/// Uploads files and publishes them, as the client does; the last answer.
async fn publish(
    registry: &TestRegistry,
    author: &Author,
    (owner, slug, version): (&str, &str, &str),
    files: &[(&str, &str)],
) -> reqwest::Response {
    let mut sent = Vec::new();
    for (path, text) in files {
        let sha256 = Sha256Digest::of(text.as_bytes()).to_string();
        let file = value!({"path": path, "size": text.len(), "sha256": sha256, "contentType": "x"});
        let asked = format!("{API}/skills/-/upload-url");
        let promised = registry.send(Method::POST, &asked, Some(&author.token), &file).await;
        let promised: Value = json(promised, StatusCode::OK).await;
        let url = promised["uploadUrl"].as_str().unwrap();
        assert!(url.starts_with(&registry.url), "{url}");
        let upload = registry.client.post(url).bearer_auth(&author.token).body((*text).to_owned());
        let stored: Value = json(upload.send().await.unwrap(), StatusCode::OK).await;
        let mut file = file;
        file["storageId"] = stored["storageId"].clone();
        file["uploadTicket"] = promised["uploadTicket"].clone();
        sent.push(file);
    }
    let body = value!({
        "slug": slug, "displayName": "Greeter", "ownerHandle": owner, "version": version,
        "changelog": "", "acceptLicenseTerms": true, "tags": ["latest"], "files": sent,
    });
    let path = format!("{API}/skills");
    registry.send(Method::POST, &path, Some(&author.token), &body).await
}

#[tokio::test]
async fn a_skill_is_found_told_and_downloaded_with_its_files_as_they_are() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.scope("acme", &ana, false).await;
    let mut last = None;
    for version in ["1.0.0", "1.1.0"] {
        let skill = Skill::new("acme/pdf", version).with_file("references/Guide.md", "guide\n");
        let packed = skill.pack(&ana);
        published(registry.publish(&ana, &packed).await, StatusCode::CREATED).await;
        last = Some(packed);
    }
    let packed = last.unwrap();
    registry.published(&ana, "notes", "0.1.0").await;

    let found = get(&registry, "/search?q=pdf&limit=25").await;
    assert_eq!(found["results"][0]["slug"], "pdf");
    assert_eq!(found["results"][0]["ownerHandle"], "acme");
    assert_eq!(get(&registry, "/search?q=pd&mode=exact").await["results"], value!([]));
    let listed = get(&registry, "/skills?limit=1&sort=createdAt").await;
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    assert_eq!(listed["nextCursor"], "1");
    let rest = get(&registry, "/skills?limit=1&sort=createdAt&cursor=1").await;
    assert_ne!(rest["items"][0]["slug"], listed["items"][0]["slug"]);
    assert_eq!(rest["nextCursor"], Value::Null);
    assert_eq!(get(&registry, "/skills?prefix=no").await["items"][0]["slug"], "notes");

    let told = get(&registry, "/skills/PDF?ownerHandle=@Acme").await;
    assert_eq!(told["latestVersion"]["version"], "1.1.0");
    assert_eq!((&told["owner"]["handle"], &told["moderation"]), (&value!("acme"), &Value::Null));
    // Without an owner the one that there is.
    assert_eq!(get(&registry, "/skills/pdf").await["owner"]["handle"], "acme");
    let versions = get(&registry, "/skills/pdf/versions").await;
    assert_eq!(versions["items"].as_array().unwrap().len(), 2);
    let version = get(&registry, "/skills/pdf/versions/1.1.0").await;
    assert_eq!(version["version"]["files"][1]["path"], "references/Guide.md");
    let file = registry.get(&format!("{API}/skills/pdf/file?path=references/Guide.md"), None).await;
    assert_eq!(file.headers()["content-type"], "application/octet-stream");
    assert_eq!(file.text().await.unwrap(), "guide\n");
    let install = get(&registry, "/skills/pdf/install").await;
    let url = install["archive"]["downloadUrl"].as_str().unwrap();
    let zip = registry.client.get(url).send().await.unwrap().bytes().await.unwrap();
    let files = unzipped(&zip);
    assert_eq!(files.len(), 2);
    assert_eq!(files[1], ("references/Guide.md".to_owned(), false, b"guide\n".to_vec()));

    let verified = get(&registry, "/skills/pdf/verify?ownerHandle=acme").await;
    assert_eq!(verified["schema"], "clawhub.skill.verify.v1");
    assert_eq!(verified["artifact"]["address"], packed.address().to_string());
    assert_eq!(verified["artifact"]["container"]["sha256"], Sha256Digest::of(&zip).to_string());
    assert_eq!(verified["signature"]["signers"][0]["account"], "ana");
    assert!(verified["provenance"]["logIndex"].as_u64().is_some());

    let hash = fingerprint::of(&packed.manifest).unwrap();
    let resolved = get(&registry, &format!("/resolve?slug=pdf&ownerHandle=acme&hash={hash}")).await;
    assert_eq!(resolved["match"]["version"], "1.1.0");
    let resolved = get(&registry, "/resolve?slug=pdf&hash=none").await;
    assert_eq!(
        (&resolved["match"], &resolved["latestVersion"]["version"]),
        (&Value::Null, &value!("1.1.0"))
    );

    for path in ["/skills/none", "/resolve?slug=none&hash=x", "/download?slug=pdf&version=9.0.0"] {
        let text = plain(registry.get(&format!("{API}{path}"), None).await, 404, "not_found").await;
        assert_eq!(text, "Skill not found", "{path}");
    }
    let base: Value =
        json(registry.get("/.well-known/clawhub.json", None).await, StatusCode::OK).await;
    assert_eq!(base["apiBase"], format!("{}/clawhub", registry.url));
}

#[tokio::test]
async fn a_name_in_several_scopes_is_the_bare_one_or_is_asked_about() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    for scope in ["acme", "beta"] {
        registry.scope(scope, &ana, false).await;
        registry.published(&ana, &format!("{scope}/pdf"), "1.0.0").await;
    }
    let answer = registry.get(&format!("{API}/skills/pdf"), None).await;
    let told: Value = json(answer, StatusCode::CONFLICT).await;
    assert_eq!(told["code"], "AMBIGUOUS_SKILL_SLUG");
    assert_eq!(told["matches"][1]["ref"], "@beta/pdf");
    registry.published(&ana, "pdf", "1.0.0").await;
    assert_eq!(get(&registry, "/skills/pdf").await["owner"]["handle"], "_");
}

#[tokio::test]
async fn advisories_are_told_as_the_client_asks_about_them() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "pdf", "1.0.0").await;
    let advise = async |effect: &str| {
        let body = value!({"versions": "*", "effect": effect, "summary": "It leaks"});
        let path = "/v1/skills/_/pdf/advisories";
        let told = registry.send(Method::POST, path, Some(&ana.token), &body).await;
        assert_eq!(told.status(), 201);
    };
    advise("warn").await;
    let told = get(&registry, "/skills/pdf").await;
    assert_eq!(
        (&told["moderation"]["isSuspicious"], &told["moderation"]["isMalwareBlocked"]),
        (&value!(true), &value!(false))
    );
    advise("forbid").await;
    let told = get(&registry, "/skills/pdf").await;
    assert_eq!(told["latestVersion"], Value::Null);
    assert_eq!(told["moderation"]["isMalwareBlocked"], true);
    let gone = registry.get(&format!("{API}/skills/pdf/install"), None).await;
    let gone: Value = json(gone, StatusCode::GONE).await;
    assert_eq!(gone["reason"], "archive_version_missing");
    let path = format!("{API}/download?slug=pdf&version=1.0.0");
    let text = plain(registry.get(&path, None).await, 410, "advisory_forbids").await;
    assert!(text.contains("It leaks"), "{text}");
}

#[tokio::test]
async fn files_are_published_together_once_each_is_what_was_announced() {
    let registry = TestRegistry::start().await;
    let (ana, ben) = (registry.author("ana").await, registry.author("ben").await);
    registry.scope("acme", &ana, false).await;
    registry.member("acme", &ben, Role::Publisher).await;
    let whoami = registry.get(&format!("{API}/whoami"), Some(&ben.token)).await;
    let whoami: Value = json(whoami, StatusCode::OK).await;
    assert_eq!(whoami["user"]["handle"], "acme");
    let files = [("SKILL.md", SKILL), ("scripts/a.sh", "#!/bin/sh\n"), ("Notes.txt", "notes\n")];
    let named = ("acme", "greeter", "1.0.0");
    let answer: Value = json(publish(&registry, &ben, named, &files).await, StatusCode::OK).await;
    assert_eq!(answer["publicationStatus"], "published");
    let version = get(&registry, "/skills/greeter/versions/1.0.0").await;
    assert_eq!(version["version"]["files"].as_array().unwrap().len(), 3);
    // The same is the same; other files, another name or another version are refused in plain words.
    assert_eq!(publish(&registry, &ben, named, &files).await.status(), 200);
    let other = [("SKILL.md", SKILL), ("Notes.txt", "other\n")];
    plain(publish(&registry, &ben, named, &other).await, 409, "version_exists").await;
    let says = SKILL.replace("---\n\n", "metadata:\n  version: 3.0.0\n---\n\n");
    for (named, files, told) in [
        (("acme", "greeter", "2.0.0"), vec![("SKILL.md", says.as_str())], "says version `3.0.0`"),
        (("acme", "other", "2.0.0"), vec![("SKILL.md", SKILL)], "says `greeter`"),
        (("acme", "greeter", "2.0.0"), vec![("README.md", "x")], "SKILL.md"),
        (("acme", "greeter", "2.0.0"), vec![("SKILL.md", SKILL), ("../x", "x")], "climbs out"),
        (("acme", "greeter", "2.0.0"), vec![("SKILL.md", SKILL), ("SKILL.md", SKILL)], "twice"),
    ] {
        let text =
            plain(publish(&registry, &ben, named, &files).await, 422, "archive_refused").await;
        assert!(text.contains(told), "{told}: {text}");
    }
    plain(publish(&registry, &ben, ("acme", "greeter", "two"), &[]).await, 400, "invalid_version")
        .await;
    plain(publish(&registry, &ben, ("nobody", "x", "1.0.0"), &[]).await, 403, "scope_refused")
        .await;
    registry.eventually_tidy().await;
}

#[tokio::test]
async fn an_upload_is_the_account_s_that_was_promised_it_and_just_that_file() {
    let registry = TestRegistry::start().await;
    let (ana, ben) = (registry.author("ana").await, registry.author("ben").await);
    let sha256 = Sha256Digest::of(b"text").to_string();
    let asked = format!("{API}/skills/-/upload-url");
    let promise =
        async |file: &Value| registry.send(Method::POST, &asked, Some(&ana.token), file).await;
    let promised = promise(&value!({"size": 4, "sha256": sha256})).await;
    let promised: Value = json(promised, StatusCode::OK).await;
    let ticket = promised["uploadTicket"].as_str().unwrap();
    let upload = async |author: &Author, text: &str| {
        let request =
            registry.request(Method::POST, &format!("{API}/uploads/{ticket}"), Some(&author.token));
        request.body(text.to_owned()).send().await.unwrap()
    };
    plain(upload(&ben, "text").await, 404, "not_found").await;
    for other in ["texts", "tex", "TEXT", ""] {
        plain(upload(&ana, other).await, 400, "invalid_request").await;
    }
    assert_eq!(upload(&ana, "text").await.status(), 200);
    let body = |ticket: &str, sha256: &str| {
        value!({"slug": "x", "ownerHandle": "_", "version": "1.0.0", "files": [
            {"path": "SKILL.md", "sha256": sha256, "uploadTicket": ticket}
        ]})
    };
    let path = format!("{API}/skills");
    for (author, body) in [
        (&ben, body(ticket, &sha256)),
        (&ana, body("none", &sha256)),
        (&ana, body(ticket, &"0".repeat(64))),
    ] {
        let answer = registry.send(Method::POST, &path, Some(&author.token), &body).await;
        plain(answer, 400, "invalid_request").await;
    }
    let too_large = promise(&value!({"size": 11 * 1024 * 1024, "sha256": sha256})).await;
    plain(too_large, 413, "too_large").await;
    let read = registry.token(&ana, &["read"]).await;
    let answer = registry.send(Method::POST, &asked, Some(&read), &value!({})).await;
    plain(answer, 403, "token_lacks_grant").await;
    let closed = TestRegistry::start_with(read_only()).await;
    let eve = closed.author("eve").await;
    let file = value!({"size": 4, "sha256": sha256});
    let answer = closed.send(Method::POST, &asked, Some(&eve.token), &file).await;
    plain(answer, 403, "face_publish_refused").await;
}
