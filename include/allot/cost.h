// Times of ops and sizes on devices nobody has measured, and measured times where somebody has.
//
// Model: t = overhead + max(c, m) + (1 - overlap) min(c, m) by device class, where c = flops / (peak x
// efficiency) and m = bytes / (bandwidth x efficiency), with the peak of the op's arithmetic and constants by
// operator family (src/cost/families.h). Products of fp32 models use TF32 where a device has it, unless
// `GraphFile::dtype` is fp32. An estimate, and called so in every output; measured times override
// it op by op. An op whose cost the reader could not tell is priced by its traffic where that is known, and
// listed in `unpriced` always.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "allot/cluster.h"
#include "allot/graph_file.h"
#include "allot/result.h"

namespace allot {

// Measured seconds of ops by name and class; the class "" holds for every class that has no time of its own.
struct MeasuredTimes {
  std::string source;  // name of the file, for the provenance
  std::map<std::string, std::vector<std::pair<std::string, double>>, std::less<>> by_op;
};

struct CostReport {
  std::size_t given = 0, measured = 0, estimated = 0;  // pairs of op and class
  std::string arithmetic;                              // of the products among the estimates, by class
  std::map<std::string, std::size_t> unpriced;         // op type -> ops whose cost is not known
  Warnings warnings;                                   // measured times that belong to no op or class
};

// Fills the times of a graph that has none for every class of the cluster; call once. Measured times go
// before those the file gives, and these before estimates. Fails where an op has no time on a class and the
// class no figures to estimate from. Sets `file.costs` to the provenance, which makeProblem hands on.
Result<CostReport> priceGraph(GraphFile& file, const Cluster& cluster,
                              const MeasuredTimes* measured = nullptr);

// One line, for example "estimated (roofline; TF32 products on a100-80gb (156 TFLOPS), fp32 elsewhere; types
// of the model; a100-80gb, t4 from the catalogue of 2026-08), 12 times measured (times.csv)".
std::string provenanceText(const CostReport& report, const Cluster& cluster,
                           const MeasuredTimes* measured = nullptr);

}  // namespace allot
