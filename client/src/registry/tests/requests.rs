use std::path::Path;

use skillpkg_schema::signature::SigningKey;
use skillpkg_schema::signature::key_proof::prove_key;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::server::{Answer, Server};
use super::{registry, registry_at};
use crate::credentials::Credentials;
use crate::registry::Registry;
use crate::settings::{Chosen, RegistryChoice, registry_url};
use crate::{Error, Settings};

const WHO: &str = r#"{"account":"ada","grants":["read"],"scopes":[],"later":"field"}"#;

#[tokio::test]
async fn each_route_is_asked_as_the_api_has_it() {
    let signing = SigningKey::generate().unwrap();
    let (key, id) = (signing.public(), signing.public().id());
    let proof = prove_key("ada", "skillpkg/1", &signing);
    let (name, version) = ("acme/waitlist".parse().unwrap(), "1.2.0+b.1".parse().unwrap());
    let server = Server::start(vec![Answer::json("{}")]).await;
    let registry = registry_at(&format!("{}/base", server.url), Some("skp_1"));
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "archive").unwrap();
    // What they answer does not matter here.
    let _ = registry.document(&name).await;
    let _ = registry.document(&"waitlist".parse().unwrap()).await;
    let _ = registry.index(std::slice::from_ref(&name)).await;
    let _ = registry.publish(&name, &version, file.path(), Some(&key), Some(&proof)).await;
    let _ = registry.yank(&name, &version, "why").await;
    let _ = registry.unyank(&name, &version).await;
    let _ = registry.owners(&name).await;
    let _ = registry.invite_owner(&name, "bob", false).await;
    let _ = registry.remove_owner(&name, "bob").await;
    let _ = registry.search("a b&c", 7).await;
    let _ = registry.who_am_i().await;
    let _ = registry.keys().await;
    let _ = registry.add_key(&key, &proof).await;
    let _ = registry.revoke_key(&id, Some("lost")).await;
    let _ = registry.information().await;
    let scope = "acme".parse().unwrap();
    let _ = registry.invite_owner(&name, "bob", true).await;
    let _ = registry.invitations().await;
    let _ = registry.answer_owner_invitation(&"waitlist".parse().unwrap(), true).await;
    let _ = registry.answer_owner_invitation(&name, false).await;
    let _ = registry.answer_member_invitation(&scope, true).await;
    let _ = registry.answer_member_invitation(&scope, false).await;
    let _ = registry.members(&scope).await;
    let _ = registry.invite_member(&scope, "bob", "reader").await;
    let _ = registry.set_role(&scope, "bob", "owner").await;
    let _ = registry.remove_member(&scope, "bob").await;
    let asked = server.asked();
    let lines: Vec<&str> = asked.iter().filter_map(|request| request.lines().next()).collect();
    let expected = [
        "GET /base/v1/skills/acme/waitlist",
        "GET /base/v1/skills/_/waitlist",
        "POST /base/v1/index",
        "PUT /base/v1/skills/acme/waitlist/1.2.0+b.1",
        "POST /base/v1/skills/acme/waitlist/1.2.0+b.1/yank",
        "POST /base/v1/skills/acme/waitlist/1.2.0+b.1/unyank",
        "GET /base/v1/skills/acme/waitlist/owners",
        "PUT /base/v1/skills/acme/waitlist/owners",
        "DELETE /base/v1/skills/acme/waitlist/owners",
        "GET /base/v1/search?q=a+b%26c&limit=7",
        "GET /base/v1/tokens/self",
        "GET /base/v1/keys",
        "POST /base/v1/keys",
        &format!("DELETE /base/v1/keys/{id}"),
        "GET /base/v1/registry",
        "PUT /base/v1/skills/acme/waitlist/owners",
        "GET /base/v1/invitations",
        "POST /base/v1/invitations/_/waitlist",
        "DELETE /base/v1/invitations/acme/waitlist",
        "POST /base/v1/invitations/acme",
        "DELETE /base/v1/invitations/acme",
        "GET /base/v1/scopes/acme/members",
        "POST /base/v1/scopes/acme/members",
        "PUT /base/v1/scopes/acme/members",
        "DELETE /base/v1/scopes/acme/members",
    ];
    assert_eq!(lines, expected.map(|line| format!("{line} HTTP/1.1")));
    assert!(asked.iter().all(|request| request.contains("authorization: Bearer skp_1\r\n")));
    assert!(asked[2].ends_with(r#"{"names":["acme/waitlist"]}"#));
    let publish = &asked[3];
    assert!(publish.contains("content-type: application/vnd.skillpkg.archive+zstd\r\n"));
    assert!(publish.contains("skillpkg-key-proof: "));
    assert!(asked[12].contains(r#""proof":""#) && asked[13].ends_with(r#"{"reason":"lost"}"#));
    assert!(publish.contains("skillpkg-public-key: ") && publish.ends_with("\r\n\r\narchive"));
    assert!(asked[4].ends_with(r#"{"reason":"why"}"#));
    assert!(asked[7].ends_with(r#"{"account":"bob"}"#) && asked[8].ends_with(r#""bob"}"#));
    assert!(asked[15].ends_with(r#"{"account":"bob","transfer":true}"#));
    assert!(asked[22].ends_with(r#"{"account":"bob","role":"reader"}"#));
    assert!(asked[24].ends_with(r#"{"account":"bob"}"#));
}

#[tokio::test]
async fn a_busy_registry_is_asked_again_where_twice_is_as_once() {
    let busy = Answer::raw("HTTP/1.1 503 Busy\r\nretry-after: 0\r\ncontent-length: 0\r\n\r\n");
    let later = Answer::raw("HTTP/1.1 503 Busy\r\nretry-after: 60\r\ncontent-length: 0\r\n\r\n");
    let server = Server::start(vec![busy.clone(), busy.clone(), Answer::json(WHO)]).await;
    assert_eq!(registry(&server).who_am_i().await.unwrap().account, "ada");
    let server = Server::start(vec![busy.clone()]).await;
    assert_eq!(registry(&server).who_am_i().await.unwrap_err().code, "registry_failed");
    assert_eq!(server.asked().len(), 3);
    let server = Server::start(vec![later]).await;
    assert!(registry(&server).who_am_i().await.is_err());
    assert_eq!(server.asked().len(), 1);
    let server = Server::start(vec![busy]).await;
    let (name, version) = ("w".parse().unwrap(), "1.0.0".parse().unwrap());
    assert!(registry(&server).yank(&name, &version, "r").await.is_err());
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_carries_no_token_away() {
    let elsewhere = Server::start(vec![Answer::json(WHO)]).await;
    let redirect = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: {}/v1\r\ncontent-length: 0\r\n\r\n",
        elsewhere.url
    );
    let server = Server::start(vec![Answer::raw(redirect)]).await;
    let error = registry_at(&server.url, Some("skp_1")).who_am_i().await.unwrap_err();
    assert_eq!(error.code, "registry_redirects");
    assert!(error.message.contains(&elsewhere.url), "{error}");
    assert!(elsewhere.asked().is_empty());
}

#[tokio::test]
async fn connections_are_kept() {
    let server = Server::start(vec![Answer::json(WHO)]).await;
    let registry = registry(&server);
    for _ in 0..3 {
        registry.who_am_i().await.unwrap();
    }
    assert_eq!((server.asked().len(), server.connections()), (3, 1));
}

#[tokio::test]
async fn an_upload_of_a_file_that_is_not_there_says_so() {
    let server = Server::start(vec![Answer::json("{}")]).await;
    let (name, version) = ("w".parse().unwrap(), "1.0.0".parse().unwrap());
    let absent = Path::new("/nonexistent/a.skill.tar.zst");
    let error = registry(&server).publish(&name, &version, absent, None, None).await.unwrap_err();
    assert_eq!(error.code, "file_unreadable");
    assert!(server.asked().is_empty());
}

/// A server that answers each request once it has its head and so much of its body, and closes.
async fn hasty(answer: String, but: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut read = vec![0; 16 * 1024];
            let mut taken = 0;
            while taken <= but {
                taken += stream.read(&mut read).await.unwrap();
            }
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    url
}

#[tokio::test]
async fn an_upload_that_is_refused_before_it_is_read_is_told_why() {
    let problem = r#"{"type":"about:blank","title":"t","status":503,"code":"unavailable","detail":"its disk is full"}"#;
    let refused = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\n\
         retry-after: 60\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{problem}",
        problem.len()
    );
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(24 * 1024 * 1024).unwrap();
    let (name, version) = ("w".parse().unwrap(), "1.0.0".parse().unwrap());
    let registry = registry_at(&hasty(refused, 0).await, None);
    let error = registry.publish(&name, &version, file.path(), None, None).await.unwrap_err();
    assert_eq!((error.code.as_str(), error.message.as_str()), ("unavailable", "its disk is full"));
}

#[tokio::test]
async fn an_upload_that_is_broken_off_without_an_answer_is_told_from_a_registry_that_is_away() {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(24 * 1024 * 1024).unwrap();
    let (name, version) = ("w".parse().unwrap(), "1.0.0".parse().unwrap());
    let registry = registry_at(&hasty(String::new(), 1024 * 1024).await, None);
    let error = registry.publish(&name, &version, file.path(), None, None).await.unwrap_err();
    assert_eq!(error.code, "registry_unreachable");
    assert!(error.message.contains("ended while 25165824 bytes were sent"), "{error}");
    assert!(error.hint.unwrap().contains("may not take this much"));
}

/// The token that a registry chosen in this way is sent.
async fn sent(settings: &Settings, server: &Server, chosen: Chosen) -> Result<String, Error> {
    let choice = RegistryChoice { url: registry_url(&server.url).unwrap(), chosen };
    Registry::chosen(settings, &choice)?.who_am_i().await?;
    let request = server.asked().pop().unwrap();
    let line = request.lines().find(|line| line.starts_with("authorization: "));
    Ok(line.unwrap_or("none").trim_start_matches("authorization: Bearer ").to_owned())
}

#[tokio::test]
async fn a_token_goes_only_where_its_owner_sends_it() {
    let server = Server::start(vec![Answer::json(WHO)]).await;
    let url = registry_url(&server.url).unwrap();
    let home = tempfile::tempdir().unwrap();
    let path = home.path().to_path_buf();
    let mut settings = Settings::new(path.clone(), path.clone(), path);
    assert_eq!(sent(&settings, &server, Chosen::ByUser).await.unwrap(), "none");
    settings.token = Some("skp_environment".to_owned());
    let chosen = RegistryChoice { url: url.clone(), chosen: Chosen::ByUser };
    settings.registry = Some(chosen.clone());
    assert_eq!(sent(&settings, &server, Chosen::ByUser).await.unwrap(), "skp_environment");
    assert_eq!(sent(&settings, &server, Chosen::ByProject).await.unwrap(), "none");
    Credentials::new(home.path()).keep(&url, "skp_kept").unwrap();
    assert_eq!(sent(&settings, &server, Chosen::ByProject).await.unwrap(), "skp_kept");
    assert_eq!(sent(&settings, &server, Chosen::ByUser).await.unwrap(), "skp_environment");
    // A scope is routed there, and something else or nothing is the default.
    let other = RegistryChoice { url: registry_url("http://127.0.0.1:1").unwrap(), ..chosen };
    for registry in [None, Some(other)] {
        settings.registry = registry;
        assert_eq!(sent(&settings, &server, Chosen::ByUser).await.unwrap(), "skp_kept");
        Credentials::new(home.path()).forget(&url).unwrap();
        assert_eq!(sent(&settings, &server, Chosen::ByUser).await.unwrap(), "none");
        Credentials::new(home.path()).keep(&url, "skp_kept").unwrap();
    }
    settings.offline = true;
    assert_eq!(sent(&settings, &server, Chosen::ByUser).await.unwrap_err().code, "offline");
}

#[test]
fn no_debug_output_shows_a_token_and_a_strange_one_is_refused() {
    let registry = registry_at("http://127.0.0.1:1", Some("skp_secret"));
    assert!(!format!("{registry:?}").contains("skp_secret"));
    let url = registry_url("http://127.0.0.1:1").unwrap();
    let error = Registry::new(url, Some("skp_1\r\nx: y".to_owned())).unwrap_err();
    assert_eq!(error.code, "token_invalid");
}
