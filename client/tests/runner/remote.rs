//! The remote runner, against a socket that answers as each test says.

use std::time::Duration;

use skillpkg::runner::{
    FailureKind, RemoteRunner, RunFailure, RunOutput, Runner as _, ScriptSource,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::support::Case;

/// Answers one connection with `answer`, then with as much of `tail` as it takes, and gives back
/// what was sent to it.
async fn service(answer: String, tail: Option<&'static str>) -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/run", listener.local_addr().unwrap());
    let task = tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        let mut chunk = [0; 4096];
        while !whole(&request) {
            let count = connection.read(&mut chunk).await.unwrap();
            request.extend_from_slice(&chunk[..count]);
        }
        let _ = connection.write_all(answer.as_bytes()).await;
        if let Some(tail) = tail {
            while connection.write_all(tail.as_bytes()).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        let _ = connection.shutdown().await;
        String::from_utf8(request).unwrap()
    });
    (url, task)
}

fn whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    body.len() >= length.parse::<usize>().unwrap()
}

fn answer(status: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

async fn run(url: &str, case: &Case, input: &str) -> Result<RunOutput, RunFailure> {
    let runner = RemoteRunner::new("shell", url.parse().unwrap()).unwrap();
    runner.run(case.context(input)).await
}

#[tokio::test]
async fn the_body_is_exactly_the_effective_json_and_headers_name_the_script() {
    let (url, request) = service(answer("200 OK", "result é"), None).await;
    let case = Case::shell("echo");
    let input = r#"{"a":"é","b":1.0}"#;
    let output = run(&url, &case, input).await.unwrap();
    assert_eq!((output.exit, output.stdout), (0, "result é".as_bytes().to_vec()));
    let request = request.await.unwrap();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert_eq!(body, input);
    let head = head.to_lowercase();
    assert!(head.starts_with("post /run http/1.1"), "{head}");
    let ScriptSource::File { address: Some(address), .. } = &case.script.reference.source else {
        panic!("a file");
    };
    for line in [
        "content-type: application/json".to_owned(),
        "skillpkg-script: normalize".to_owned(),
        "skillpkg-runtime: shell".to_owned(),
        format!("skillpkg-content: {address}"),
    ] {
        assert!(head.lines().any(|found| found == line), "{line} in {head}");
    }
}

#[tokio::test]
async fn a_redirect_and_a_failure_are_failed_executions() {
    for (status, word) in [
        ("302 Found\r\nlocation: http://127.0.0.1:1/", "redirect"),
        ("500 Internal Server Error", "status 500"),
        ("404 Not Found", "status 404"),
    ] {
        let (url, _) = service(answer(status, "secret detail"), None).await;
        let failure = run(&url, &Case::shell("echo"), "{}").await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::ExecutionFailed);
        assert!(failure.message.contains(word), "{failure}");
        assert!(!failure.message.contains("secret"), "{failure}");
    }
}

#[tokio::test]
async fn an_answer_over_the_bound_is_refused_whether_or_not_it_says_its_length() {
    let mut case = Case::shell("echo");
    case.maximum_output_bytes = 10;
    let (url, _) = service(answer("200 OK", "0123456789"), None).await;
    assert_eq!(run(&url, &case, "{}").await.unwrap().stdout.len(), 10);
    let (url, _) = service(answer("200 OK", "0123456789x"), None).await;
    let failure = run(&url, &case, "{}").await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::OutputTooLarge);
    let endless = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_owned();
    let (url, _) = service(endless, Some("4\r\nabcd\r\n")).await;
    let failure = run(&url, &case, "{}").await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::OutputTooLarge);
}

#[tokio::test]
async fn an_answer_that_trickles_is_given_up_when_the_time_is_up() {
    let mut case = Case::shell("echo");
    case.timeout = Duration::from_millis(300);
    let trickle = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_owned();
    let (url, _) = service(trickle, Some("1\r\na\r\n")).await;
    assert_eq!(run(&url, &case, "{}").await.unwrap_err().kind, FailureKind::TimedOut);
}

#[tokio::test]
async fn a_call_can_be_cancelled() {
    let case = Case::shell("echo");
    let trickle = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_owned();
    let (url, _) = service(trickle, Some("1\r\na\r\n")).await;
    let cancel = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        case.cancellation.cancel();
    };
    let (result, ()) = tokio::join!(run(&url, &case, "{}"), cancel);
    assert_eq!(result.unwrap_err().kind, FailureKind::Cancelled);
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_a_failed_execution() {
    let cut = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\nconnection: close\r\n\r\nabc".to_owned();
    let (url, _) = service(cut, None).await;
    let failure = run(&url, &Case::shell("echo"), "{}").await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::ExecutionFailed);
}

#[tokio::test]
async fn a_service_that_is_not_there_is_an_unavailable_runner() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/run", listener.local_addr().unwrap());
    drop(listener);
    let failure = run(&url, &Case::shell("echo"), "{}").await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::RunnerUnavailable);
}
