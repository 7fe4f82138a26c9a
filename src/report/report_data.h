// The data block of a report: everything the viewer shows, as one JSON document.
//
// Columns (report_columns.h) for what there is one of per op, tensor or transfer; plain members for the rest.
// Times of the schedule are ticks of the last end / 2^32. The reader is web/data.js. Complexity: linear.
#pragma once

#include <string>

#include "allot/plan.h"
#include "allot/problem.h"
#include "report/explain.h"
#include "report/html_report.h"

namespace allot {

// `why` may lack what was too dear to find; `what_if_note` says so.
std::string writeReportData(const Problem& problem, const Plan& plan, const Explanation& why,
                            const std::string& what_if_note, const ReportOptions& options);

}  // namespace allot
