/* Renders decisions in the formats of other programs. Each renderer takes the document of a command that decides (CLI_DECISIONS). */
#ifndef GATE_RENDER_RENDER_H
#define GATE_RENDER_RENDER_H

#include "base/document.h"

/* Renders GitHub's Markdown for a mail, a review comment or a step summary: a table, then the reasons. */
doc_renderer render_markdown;

/* Renders a test report in Jenkins's schema. A regression is a failure, an inconclusive decision is skipped, and a problem of machines or
 * of assay is an error. */
doc_renderer render_junit;

/* Renders workflow commands for GitHub's runners, one line per decision. */
doc_renderer render_github;

/* Renders OpenMetrics 1.0 text. Uses only types that the textfile collector of Prometheus's node exporter accepts. */
doc_renderer render_openmetrics;

/* Renders Bencher Metric Format: the ratio of costs with its interval; for a conclusive decision also whether it is a regression. */
doc_renderer render_bencher;

/* Renders Google Benchmark's JSON. Each decision has two benchmarks, "baseline/KEY" and "candidate/KEY", which compare.py pairs by
 * `filters`. Their times are costs relative to the baseline. A decision without a ratio is an error. */
doc_renderer render_google_benchmark;

#endif
