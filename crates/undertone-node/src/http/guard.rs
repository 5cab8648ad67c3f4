//! Access control: requests come from this machine or carry the token, and never from another site's page in the
//! owner's browser.

use super::handlers::problem;
use super::{AppState, BODY_MAX, TIME_MAX};
use crate::StartError;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_LENGTH, HOST, ORIGIN, WWW_AUTHENTICATE};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use subtle::ConstantTimeEq as _;

/// The owner's access token. Private.
pub struct Token(Box<[u8]>);

impl Token {
    /// A shorter token could be guessed.
    pub(crate) const LENGTH_MIN: usize = 16;

    /// Makes a token from the only line of a text.
    ///
    /// # Errors
    /// When it is too short, or has characters that a header cannot contain.
    pub fn new(text: &str) -> Result<Token, StartError> {
        let text = text.trim();
        let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        if text.len() < Token::LENGTH_MIN || !visible {
            return Err(StartError::Token);
        }
        Ok(Token(text.as_bytes().into()))
    }

    /// Compares in constant time.
    fn matches(&self, given: &[u8]) -> bool {
        self.0.ct_eq(given).into()
    }
}

/// What every request is checked for.
pub(super) struct Guard {
    pub(super) token: Option<Token>,
    /// Whether only this machine can connect.
    pub(super) loopback: bool,
}

pub(super) async fn require_token(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let given = request.headers().get(AUTHORIZATION).and_then(bearer);
    match &state.guard.token {
        Some(token) if !given.is_some_and(|given| token.matches(given)) => {
            let problem = problem(StatusCode::UNAUTHORIZED, "the token is missing or wrong");
            let mut response = problem.into_response();
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            response
        }
        _ => next.run(request).await,
    }
}

fn bearer(header: &HeaderValue) -> Option<&[u8]> {
    let (scheme, token) = header.as_bytes().split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then_some(token)
}

/// Rejects requests that another site's page makes in the owner's browser. Such a request names the other site as its
/// origin, or (after DNS rebinding) as its host.
pub(super) async fn reject_other_sites(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    let Some(host) = host(headers) else {
        return problem(StatusCode::BAD_REQUEST, "the Host header is missing or wrong")
            .into_response();
    };
    if state.guard.loopback && !is_local(&host) {
        return problem(StatusCode::FORBIDDEN, "the host must be localhost or 127.0.0.1")
            .into_response();
    }
    if !is_own_page(headers, &host) {
        return problem(StatusCode::FORBIDDEN, "requests from other sites are not allowed")
            .into_response();
    }
    next.run(request).await
}

fn host(headers: &HeaderMap) -> Option<Authority> {
    headers.get(HOST)?.to_str().ok()?.parse().ok()
}

fn is_local(host: &Authority) -> bool {
    let name = host.host().trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Browsers name the site of the page that makes a request. Other programs name none.
fn is_own_page(headers: &HeaderMap, host: &Authority) -> bool {
    let from_here = match headers.get("sec-fetch-site").map(HeaderValue::as_bytes) {
        Some(site) => site == b"same-origin" || site == b"none",
        None => true,
    };
    let named_here = match headers.get(ORIGIN).map(HeaderValue::to_str) {
        Some(Ok(origin)) => {
            let origin = origin.split_once("://").map(|(_, authority)| authority);
            origin.is_some_and(|origin| origin.eq_ignore_ascii_case(host.as_str()))
        }
        Some(Err(_)) => false,
        None => true,
    };
    from_here && named_here
}

/// Rejects a body that is too large before it is read, and ends a request that takes too long.
pub(super) async fn limit_size_and_time(request: Request, next: Next) -> Response {
    let length = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    if length
        .and_then(|length| length.parse().ok())
        .is_some_and(|length: u64| length > BODY_MAX as u64)
    {
        return problem(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large: send it in parts")
            .into_response();
    }
    match tokio::time::timeout(TIME_MAX, next.run(request)).await {
        Ok(response) => response,
        Err(_) => problem(
            StatusCode::GATEWAY_TIMEOUT,
            "the learner did not answer in time; records in the request may have been accepted",
        )
        .into_response(),
    }
}
