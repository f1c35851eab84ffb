use std::sync::Arc;

use bytes::Bytes;
use url::Url;

use super::server::{Answer, Server};
use super::{Ask, Bound, Upstream, UpstreamError, ask, fetch, impatient, names, upstream};
use axum::http::HeaderValue;

#[tokio::test]
async fn an_upstream_on_this_machine_is_asked_only_where_it_is_listed() {
    let server = Server::start(vec![Answer::ok("hello")]).await;
    for (url, allowed) in [
        (server.url("127.0.0.1"), "127.0.0.1"),
        (server.url("a.test"), "a.test"),
        (server.url("A.TEST."), "a.test"),
    ] {
        assert_eq!(fetch(&upstream(&url, &[allowed]), Bound::DOCUMENT).await, Ok("hello".into()));
    }
    assert_eq!(server.asked().len(), 3);
    // What is not listed is asked for nothing: neither by address nor by a name that leads here.
    for url in [
        format!("https://127.0.0.1:{}/", server.port),
        format!("https://[::ffff:127.0.0.1]:{}/", server.port),
        server.url("127.0.0.1"),
        "file:///etc/passwd".to_owned(),
    ] {
        let refused = Upstream::resolving_by(
            Arc::new(names()),
            url.parse().unwrap(),
            super::super::hosts::AllowedHosts::default(),
            impatient(),
        );
        assert!(matches!(refused, Err(UpstreamError::Refused { .. })), "{url}");
    }
    let named = upstream(&format!("https://a.test:{}/", server.port), &[]);
    let refused = fetch(&named, Bound::DOCUMENT).await.unwrap_err();
    assert!(matches!(refused, UpstreamError::Address { .. }), "{refused}");
    assert!(refused.to_string().contains("--allow-upstream a.test"), "{refused}");
    assert_eq!(server.asked().len(), 3);
}

#[tokio::test]
async fn three_redirects_are_followed_and_a_fourth_is_not() {
    let hop = |to: u16| Answer::redirect(302, &format!("/{to}"));
    let three = Server::start(vec![hop(1), hop(2), hop(3), Answer::ok("there")]).await;
    let followed = upstream(&three.url("a.test"), &["a.test"]);
    assert_eq!(fetch(&followed, Bound::DOCUMENT).await, Ok("there".into()));
    let paths: Vec<String> = three
        .asked()
        .iter()
        .map(|head| head.split_whitespace().nth(1).unwrap().to_owned())
        .collect();
    assert_eq!(paths, ["/x", "/1", "/2", "/3"]);

    let endless = Server::start(vec![hop(1)]).await;
    let refused = fetch(&upstream(&endless.url("a.test"), &["a.test"]), Bound::DOCUMENT).await;
    assert!(matches!(refused, Err(UpstreamError::Redirect { .. })), "{refused:?}");
    assert_eq!(endless.asked().len(), 4);
}

#[tokio::test]
async fn a_redirect_is_checked_like_the_first_url() {
    let inner = Server::start(vec![Answer::ok("secret")]).await;
    let port = inner.port;
    for target in [
        format!("http://127.0.0.1:{port}/"),
        format!("https://127.0.0.1:{port}/"),
        format!("http://2130706433:{port}/"),
        format!("http://0x7f.1:{port}/"),
        format!("//127.1:{port}/"),
        format!("http://[::1]:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("http://inner.test:{port}/"),
        // Another service of the machine that is listed.
        format!("http://a.test:{port}/"),
        format!("https://inner.test:{port}/"),
        format!("http://ana:secret@a.test:{port}/"),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "file:///etc/passwd".to_owned(),
        format!("gopher://a.test:{port}/"),
        "javascript:alert(1)".to_owned(),
        "http://".to_owned(),
    ] {
        for status in [301, 302, 303, 307, 308] {
            let server = Server::start(vec![Answer::redirect(status, &target)]).await;
            let redirected = upstream(&server.url("a.test"), &["a.test"]);
            match fetch(&redirected, Bound::DOCUMENT).await {
                Err(UpstreamError::Redirect { .. } | UpstreamError::Address { .. }) => {}
                other => panic!("{target}: {other:?}"),
            }
        }
    }
    assert_eq!(inner.asked().len(), 0);
    // Listed, it is followed.
    let server = Server::start(vec![Answer::redirect(302, &inner.url("inner.test"))]).await;
    let listed = upstream(&server.url("a.test"), &["a.test", &format!("inner.test:{port}")]);
    assert_eq!(fetch(&listed, Bound::DOCUMENT).await, Ok("secret".into()));
    // To whomever it goes, it goes without credentials: there are none.
    for head in [server.asked(), inner.asked()].concat() {
        assert!(!head.contains("authorization:") && !head.contains("cookie:"), "{head}");
        assert!(head.contains("skillpkg-mirrored-by: 0123456789abcdef"), "{head}");
        assert!(!head.contains("referer:"), "{head}");
    }
}

#[tokio::test]
async fn encryption_is_not_left_even_for_a_listed_host() {
    let upstream = upstream("https://a.test/", &["a.test", "inner.test"]);
    let from: Url = "https://a.test/x".parse().unwrap();
    let ask = ask(&upstream, "x");
    let target = |location: &str| super::super::ask::Target {
        location: location.to_owned(),
        keeps_method: true,
    };
    assert!(upstream.follow(&ask, &from, &target("http://inner.test/"), 1).is_err());
    assert!(upstream.follow(&ask, &from, &target("http://a.test/x"), 1).is_err());
    assert!(upstream.follow(&ask, &from, &target("https://inner.test/"), 1).is_ok());
}

#[tokio::test]
async fn a_question_is_kept_by_a_redirect_or_not_sent_on() {
    for (status, kept) in [(301, false), (302, false), (303, false), (307, true), (308, true)] {
        let server = Server::start(vec![Answer::redirect(status, "/y"), Answer::ok("{}")]).await;
        let upstream = upstream(&server.url("a.test"), &["a.test"]);
        let through = HeaderValue::from_static("0123456789abcdef");
        let ask = Ask::post(upstream.route(&["x"]), through, Bytes::from_static(b"{\"names\":[]}"));
        let answered = upstream.fetch(&ask, Bound::DOCUMENT).await;
        assert_eq!(answered.is_ok(), kept, "{status}: {answered:?}");
        let asked = server.asked();
        assert!(asked.iter().all(|request| request.ends_with("{\"names\":[]}")), "{asked:?}");
        assert_eq!(asked.len(), 1 + usize::from(kept));
    }
}
