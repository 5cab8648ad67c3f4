//! One handler for each path.

use super::{AppState, metrics};
use crate::daemon::{Event, Query};
use crate::intake::{self, JsonFault};
use crate::protocol::AcceptError;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{Html, IntoResponse, Json, Response};
use serde_json::{Value, json};
use std::sync::mpsc::TrySendError;
use tokio::sync::oneshot;
use undertone_models::{BoundedRecord, Prediction};

/// A response that names an error.
pub(super) struct Problem {
    status: StatusCode,
    body: Value,
    /// Whether the same request may succeed later. Nothing was done.
    retry: bool,
}

pub(super) fn problem(status: StatusCode, error: &str) -> Problem {
    Problem { status, body: json!({ "error": error }), retry: false }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body)).into_response();
        if self.retry {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

/// Sends an event to the learner's thread and waits for the answer.
async fn ask<T>(
    state: &AppState,
    event: impl FnOnce(oneshot::Sender<T>) -> Event,
) -> Result<T, Problem> {
    let (answer, answered) = oneshot::channel();
    state.learner.try_send(event(answer)).map_err(|error| match error {
        TrySendError::Full(_) => busy("the learner is busy: try again later"),
        TrySendError::Disconnected(_) => stopping(),
    })?;
    answered.await.map_err(|_| stopping())
}

fn stopping() -> Problem {
    problem(StatusCode::SERVICE_UNAVAILABLE, "the learner is stopping")
}

fn busy(error: &str) -> Problem {
    Problem { retry: true, ..problem(StatusCode::SERVICE_UNAVAILABLE, error) }
}

/// A response that must not be cached: it is private and changes all the time.
fn uncached(body: impl IntoResponse) -> Response {
    ([(CACHE_CONTROL, "no-store")], body).into_response()
}

pub(super) async fn status(State(state): State<AppState>) -> Result<Response, Problem> {
    let status = ask(&state, |answer| Event::Query(Query::Status(answer))).await?;
    Ok(uncached(Json(status)))
}

pub(super) async fn budget(State(state): State<AppState>) -> Result<Response, Problem> {
    let budget = ask(&state, |answer| Event::Query(Query::Budget(answer))).await?;
    Ok(uncached(Json(budget)))
}

pub(super) async fn metrics(State(state): State<AppState>) -> Result<Response, Problem> {
    let status = ask(&state, |answer| Event::Query(Query::Status(answer))).await?;
    let budget = ask(&state, |answer| Event::Query(Query::Budget(answer))).await?;
    let kind = [(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    Ok(uncached((kind, metrics::text(&status, &budget))))
}

pub(super) async fn public_model(State(state): State<AppState>) -> Result<Response, Problem> {
    let model = ask(&state, |answer| Event::Query(Query::PublicModel(answer))).await?;
    let model =
        model.map_err(|error| problem(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()))?;
    let headers = [
        (CONTENT_TYPE, "application/octet-stream"),
        (
            HeaderName::from_static("content-disposition"),
            "attachment; filename=\"model.safetensors\"",
        ),
    ];
    Ok(uncached((headers, model)))
}

/// Accepts all records of a body, or none.
pub(super) async fn records(
    State(state): State<AppState>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    let (kind, text) = checked_body(&headers, body)?;
    let records: Vec<BoundedRecord> = match kind {
        BodyKind::Lines => state.intake.lines(&text).map_err(|fault| bad_record(&fault))?,
        BodyKind::Json => each(&text, |object| state.intake.record(object))?,
    };
    let accepted = ask(&state, |answer| Event::Records { records, position: None, answer }).await?;
    match accepted {
        Ok(accepted) => {
            let body = json!({ "accepted": accepted.count, "waiting": accepted.waiting });
            Ok(uncached(Json(body)))
        }
        Err(error @ AcceptError::Full { .. }) => Err(busy(&error.to_string())),
        Err(error @ AcceptError::TooMany { .. }) => {
            Err(problem(StatusCode::PAYLOAD_TOO_LARGE, &error.to_string()))
        }
        Err(error @ AcceptError::Over) => Err(problem(StatusCode::GONE, &error.to_string())),
        Err(AcceptError::Halt(_)) => Err(stopping()),
    }
}

pub(super) async fn predict(
    State(state): State<AppState>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    let (kind, text) = checked_body(&headers, body)?;
    if kind != BodyKind::Json {
        return Err(unsupported("application/json"));
    }
    let features = each(&text, |object| state.intake.unlabelled(object))?;
    let answer = ask(&state, |answer| Event::Query(Query::Predict(features, answer))).await?;
    let predictions =
        answer.map_err(|error| problem(StatusCode::UNPROCESSABLE_ENTITY, &error.to_string()))?;
    let predictions: Vec<Value> =
        predictions.iter().map(|one| prediction_json(&state, one)).collect();
    Ok(uncached(Json(json!({ "predictions": predictions }))))
}

fn prediction_json(state: &AppState, prediction: &Prediction) -> Value {
    match prediction {
        Prediction::Value(value) => json!({ "value": value }),
        Prediction::Class { class, probabilities } => {
            let label = match state.intake.class_name(*class) {
                Some(name) => json!(name),
                None => json!(class),
            };
            json!({ "label": label, "class": class, "probabilities": probabilities })
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BodyKind {
    Json,
    Lines,
}

/// Checks the content type of a body. None of those that are accepted can be sent by a form of another site.
fn checked_body(
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<(BodyKind, String), Problem> {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = match kind.split(';').next().unwrap_or_default().trim() {
        "application/json" => BodyKind::Json,
        "application/x-ndjson" | "application/jsonl" => BodyKind::Lines,
        _ => return Err(unsupported("application/json or application/x-ndjson")),
    };
    let body = body.map_err(|error| problem(error.status(), &error.body_text()))?;
    let text = String::from_utf8(body.into())
        .map_err(|_| problem(StatusCode::BAD_REQUEST, "the body is not UTF-8"))?;
    Ok((kind, text))
}

fn unsupported(wanted: &str) -> Problem {
    let error = format!("Content-Type must be {wanted}");
    problem(StatusCode::UNSUPPORTED_MEDIA_TYPE, &error)
}

/// Parses one object, or each of an array.
fn each<T>(text: &str, read: impl Fn(&str) -> Result<T, JsonFault>) -> Result<Vec<T>, Problem> {
    let objects = intake::objects(text)
        .map_err(|fault| problem(StatusCode::BAD_REQUEST, &fault.to_string()))?;
    let read = objects
        .into_iter()
        .enumerate()
        .map(|(index, object)| read(object).map_err(|fault| bad_record(&fault.in_line(index + 1))));
    read.collect()
}

fn bad_record(fault: &JsonFault) -> Problem {
    let body = json!({ "error": fault.to_string(), "line": fault.line(), "accepted": 0 });
    Problem { status: StatusCode::BAD_REQUEST, body, retry: false }
}

pub(super) async fn healthz(State(state): State<AppState>) -> Result<Response, Problem> {
    ask(&state, |answer| Event::Query(Query::Budget(answer))).await?;
    Ok("ok\n".into_response())
}

pub(super) async fn openapi() -> Response {
    ([(CONTENT_TYPE, "application/json")], include_str!("openapi.json")).into_response()
}

/// The page connects to this learner only, and may not be put in a frame.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
    connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

pub(super) async fn dashboard() -> Response {
    let headers = [
        (CONTENT_SECURITY_POLICY, PAGE_POLICY),
        (HeaderName::from_static("x-content-type-options"), "nosniff"),
        (HeaderName::from_static("referrer-policy"), "no-referrer"),
        (CACHE_CONTROL, "no-cache"),
    ];
    (headers, Html(include_str!("dashboard.html"))).into_response()
}

pub(super) async fn not_found() -> Problem {
    problem(StatusCode::NOT_FOUND, "not found; see /v1/openapi.json")
}

pub(super) async fn method_not_allowed() -> Problem {
    problem(StatusCode::METHOD_NOT_ALLOWED, "method not allowed; see /v1/openapi.json")
}
