/* Renders decisions in the formats of other programs. Each renderer takes the document of a command that decides (CLI_DECISIONS). */
#ifndef GATE_RENDER_RENDER_H
#define GATE_RENDER_RENDER_H

#include "base/document.h"

/* Renders GitHub's Markdown for a mail, a review comment or a step summary: a table, then the reasons. */
doc_renderer render_markdown;

/* Renders a test report in Jenkins's schema. Regression: failure; inconclusive: skipped; problem of machines or of assay: error. */
doc_renderer render_junit;

/* Renders workflow commands for GitHub's runners: one line for each decision. */
doc_renderer render_github;

/* Renders OpenMetrics 1.0 text, using only types that the textfile collector of Prometheus's node exporter accepts. */
doc_renderer render_openmetrics;

/* Renders Bencher Metric Format: ratio of costs with interval; for pass, improved and regression also whether it is a regression. */
doc_renderer render_bencher;

/* Renders Google Benchmark's JSON: two benchmarks per decision, "baseline/KEY" and "candidate/KEY", which its compare.py pairs by
 * `filters`. Their times are costs relative to the baseline. A decision without a ratio is an error. */
doc_renderer render_google_benchmark;

#endif
