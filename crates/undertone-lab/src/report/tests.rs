use super::run_page;
use crate::budget::LifetimeBudget;
use crate::metrics::Metrics;
use crate::simulate::RoundRow;
use crate::summary::{
    DataSummary, LearnerSummary, NOT_PRIVATE, NetworkSummary, RunEnding, Summary,
};
use proptest::prelude::*;
use undertone::method::Bound;
use undertone::noise::NoiseKind;
use undertone::privacy::{Cap, Loss, NoCertificate, Statement};

const CHARTS: [&str; 9] = [
    "test-accuracy",
    "tracking-error",
    "instantaneous-regret",
    "dynamic-regret",
    "consensus-error",
    "prequential-accuracy",
    "prequential-loss",
    "privacy-spent",
    "noise",
];

fn learner(id: u32) -> LearnerSummary {
    LearnerSummary {
        learner: id,
        records: 1100,
        ran_dry: false,
        draws_max: 1,
        epsilon_of_most_drawn: 6.9754,
        epsilon_used_once: 6.9754,
        pure_epsilon: Some(342.3),
        zcdp: 0.83,
        epsilon: 6.9754,
        delta: 1e-6,
        cap_epsilon: Some(8.0),
        lifetime: LifetimeBudget { epsilon: Some(8.0), ..LifetimeBudget::default() },
        method: "algorithm1",
        bound: Some(Bound::Tight),
        method_summary: "Algorithm 1",
        noise: NoiseKind::Laplace,
        noise_scale: 0.43,
        noise_exponent: 0.01,
        statement: statement(6.9754, Some(8.0), Some(8.0)),
    }
}

fn statement(spent: f64, cap: Option<f64>, lifetime: Option<f64>) -> Statement {
    let loss = |epsilon| Loss { epsilon, pure_epsilon: Some(342.3), zcdp: 0.83 };
    Statement {
        unit: "one record",
        delta: 1e-6,
        uses: 1,
        spent: loss(spent),
        planned: None,
        cap: cap.map(|epsilon| Cap::Approximate { epsilon, delta: 1e-6 }),
        lifetime: lifetime.map(loss).ok_or(NoCertificate::NoContraction),
        from_here: false,
    }
}

fn summary(rows: &[RoundRow]) -> Summary {
    Summary {
        schema_version: 1,
        undertone_version: "0.1.0",
        name: "mushrooms".into(),
        private: true,
        warning: None,
        seed: None,
        labels_public: false,
        schema_public: false,
        ending: RunEnding::Finished,
        refusal: None,
        rounds_planned: 50,
        rounds_run: 50,
        unproven: Vec::new(),
        declared_by_user: None,
        network: NetworkSummary { learners: 2, edges: 1, delta_2: Some(-0.3), delta_m: None },
        data: DataSummary {
            source: "mushrooms".into(),
            parameters: 112,
            test_records: 1625,
            records_scaled: 0,
            records_refused: 0,
            warmup: 300,
            batch: 1,
            repeat: false,
        },
        first: rows.first().map(|row| row.metrics).unwrap_or_default(),
        last: rows.last().map(|row| row.metrics).unwrap_or_default(),
        prequential_accuracy: rows.last().and_then(|row| row.prequential_accuracy),
        unit: "one record",
        planned_rounds: None,
        planned_epsilon: None,
        learners: vec![learner(0), learner(1)],
        privacy_statement: vec!["Unit: one record & nothing else.".into()],
        seconds: 1.5,
    }
}

fn row(round: u64, value: f64, learners: usize) -> RoundRow {
    RoundRow {
        round,
        records: 10,
        prequential_loss: Some(value),
        prequential_accuracy: Some(value),
        metrics: Metrics {
            tracking_error: value,
            tracking_distance_of_mean: value,
            instantaneous_regret: value,
            dynamic_regret: value,
            consensus_error: value,
            optimal_loss: value,
            test_accuracy_private: Some(value),
            test_accuracy_public: Some(value),
            test_accuracy_optimum: Some(value),
            training_accuracy: None,
            test_loss_public: Some(value),
        },
        epsilon: (0_u32..).take(learners).map(|id| value * f64::from(id + 1)).collect(),
        pure_epsilon: vec![value; learners],
        noise_scale: vec![value; learners],
    }
}

fn rows(count: u64, learners: usize) -> Vec<RoundRow> {
    (0_u32..)
        .map(f64::from)
        .zip(0..count)
        .map(|(t, round)| row(round, 0.9 / (1.0 + t), learners))
        .collect()
}

/// The drawing of one chart: what follows its id, up to the end of the figure.
fn figure<'a>(page: &'a str, id: &str) -> &'a str {
    let from =
        page.find(&format!("<figure id=\"{id}\"")).unwrap_or_else(|| panic!("no chart {id}"));
    page[from..].split("</figure>").next().unwrap()
}

#[test]
fn every_chart_of_a_normal_run_is_drawn() {
    let rows = rows(50, 2);
    let page = run_page(&summary(&rows), &rows);
    for id in CHARTS {
        let figure = figure(&page, id);
        assert!(figure.contains("<polyline") && figure.contains("<figcaption>"), "{id}: {figure}");
        assert!(!figure.contains("#FF0"), "{id} has a placeholder colour left: {figure}");
    }
    assert!(figure(&page, "noise").contains("all learners"));
    assert!(figure(&page, "privacy-spent").contains("learner 1"));
    assert!(figure(&page, "privacy-spent").contains("cap, and bound for ever"));
}

#[test]
fn many_learners_are_drawn_as_minimum_median_and_maximum() {
    let rows = rows(1000, 9);
    let page = run_page(&summary(&rows), &rows);
    let figure = figure(&page, "privacy-spent");
    assert!(figure.contains("median learner") && figure.contains("class=\"band b1\""));
    for points in page.split("points=\"").skip(1) {
        let points = points.split('"').next().unwrap().split(' ').count();
        assert!(points <= 2 * super::plot::POINTS_MAX, "{points} points");
    }
}

#[test]
fn text_from_a_config_cannot_become_markup() {
    let rows = rows(3, 2);
    let evil = "<script>alert('x')</script>\" onload=\"&";
    let mut run = summary(&rows);
    run.name = evil.into();
    run.data.source = evil.into();
    run.unproven = vec![evil.into()];
    run.ending = RunEnding::BudgetExhausted;
    run.refusal = Some(evil.into());
    run.privacy_statement = vec![evil.into(), format!("{evil}: {evil}")];
    run.learners[0].lifetime =
        LifetimeBudget { no_certificate: Some(evil.into()), ..LifetimeBudget::default() };
    let page = run_page(&run, &rows);
    assert!(!page.to_lowercase().contains("<script"));
    assert!(!page.contains("onload=\"&"));
    assert!(page.contains(
        "<h1>&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot; onload=&quot;&amp;</h1>"
    ));
}

#[test]
fn the_page_loads_nothing() {
    let rows = rows(50, 2);
    let page = run_page(&summary(&rows), &rows);
    for load in
        ["http://", "https://", "<script", "<link", "<img", "url(", "@import", "src=", "href="]
    {
        assert!(!page.contains(load), "{load}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn banners_appear_where_they_apply_and_nowhere_else() {
    let rows = rows(5, 2);
    let page = run_page(&summary(&rows), &rows);
    for word in ["NOT PRIVATE", "UNPROVEN", "INTERRUPTED", "BUDGET EXHAUSTED", "class=\"banner"] {
        assert!(!page.contains(word), "{word}");
    }
    let mut run = summary(&rows);
    run.private = false;
    run.seed = Some(7);
    run.warning = Some(NOT_PRIVATE);
    run.unproven = vec!["Assumption 4: too fast".into()];
    run.ending = RunEnding::Interrupted;
    let page = run_page(&run, &rows);
    for word in
        ["<strong>NOT PRIVATE", "<strong>UNPROVEN", "<strong>INTERRUPTED", "<li>Assumption 4"]
    {
        assert!(page.contains(word), "{word}");
    }
    assert!(page.contains("--seed 7") && page.contains("not from this run"));
    run.ending = RunEnding::BudgetExhausted;
    run.refusal = Some("learner 1: spent 7.9 of 8".into());
    let page = run_page(&run, &rows);
    assert!(page.contains("<strong>BUDGET EXHAUSTED") && page.contains("spent 7.9 of 8"));
}

#[test]
fn a_run_without_rows_says_that_there_is_nothing_to_show() {
    let mut run = summary(&[]);
    run.learners.clear();
    let page = run_page(&run, &[]);
    assert!(page.contains("Nothing to show") && !page.contains("class=\"chart\""));
}

#[test]
fn a_regression_shows_its_test_loss_and_no_accuracy() {
    let mut rows = rows(20, 2);
    for row in &mut rows {
        row.prequential_accuracy = None;
        row.metrics.test_accuracy_private = None;
        row.metrics.test_accuracy_public = None;
        row.metrics.test_accuracy_optimum = None;
    }
    let page = run_page(&summary(&rows), &rows);
    assert!(figure(&page, "test-loss").contains("<polyline"));
    assert!(
        !page.contains("id=\"test-accuracy\"") && !page.contains("id=\"prequential-accuracy\"")
    );
}

#[test]
fn one_row_is_drawn_as_points() {
    let rows = rows(1, 2);
    let page = run_page(&summary(&rows), &rows);
    for id in CHARTS {
        assert!(figure(&page, id).contains("<circle"), "{id}");
    }
}

fn hard_number() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        Just(-0.0),
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY),
        Just(f64::MAX),
        Just(f64::MIN),
        Just(f64::MIN_POSITIVE),
        Just(5e-324),
        Just(1e38),
        Just(-1e38),
        Just(1.0),
        any::<f64>(),
        -2.0..2.0,
    ]
}

fn hard_row() -> impl Strategy<Value = RoundRow> {
    let optional = || proptest::option::of(hard_number());
    let list = || proptest::collection::vec(hard_number(), 0..11);
    let round = prop_oneof![0_u64..5, any::<u64>()];
    let parts = (round, proptest::array::uniform6(hard_number()), list(), list());
    (parts, [optional(), optional(), optional(), optional(), optional(), optional()]).prop_map(
        |((round, metrics, epsilon, noise_scale), options)| RoundRow {
            prequential_loss: options[0],
            prequential_accuracy: options[1],
            metrics: Metrics {
                tracking_error: metrics[0],
                tracking_distance_of_mean: metrics[1],
                instantaneous_regret: metrics[2],
                dynamic_regret: metrics[3],
                consensus_error: metrics[4],
                optimal_loss: metrics[5],
                test_accuracy_private: options[2],
                test_accuracy_public: options[3],
                test_accuracy_optimum: options[4],
                training_accuracy: None,
                test_loss_public: options[5],
            },
            epsilon,
            noise_scale,
            ..row(round, 0.0, 0)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// A report comes after hours of work: no measurement may keep it from being written.
    #[test]
    fn no_measurement_breaks_the_page(
        rows in proptest::collection::vec(hard_row(), 0..12),
        extremes in proptest::array::uniform4(hard_number()),
    ) {
        let mut run = summary(&rows);
        run.learners[0].epsilon = extremes[0];
        run.learners[0].cap_epsilon = Some(extremes[1]);
        run.learners[1].lifetime.epsilon = Some(extremes[2]);
        run.learners[1].statement = statement(extremes[0], Some(extremes[1]), Some(extremes[2]));
        run.seconds = extremes[3];
        let page = run_page(&run, &rows);
        prop_assert!(page.ends_with("</html>\n"));
        prop_assert!(!page.contains("NaN") && !page.contains("inf\""), "a raw number in the page");
        prop_assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    }
}
