#include "report/html_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "problem/calls_model.h"
#include "report/explain.h"
#include "report/report_data.h"
#include "report/slack.h"
#include "reportViewer.h"

namespace allot {
namespace {

std::string escapedHtml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// A JSON document that no HTML parser can take for the end of its script block: `<` stands in texts only.
std::string escapedJson(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

bool endsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// Modules become one script: their imports, one line each, go, and so does the word `export`.
void appendModule(std::string& script, std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end);
    if (line.starts_with("import ")) continue;
    if (line.starts_with("export ")) line.remove_prefix(7);
    script += line;
  }
}

struct Viewer {
  std::string page, style, script;

  Viewer() {
    for (const EmbeddedFile& file : reportViewer()) {
      if (endsWith(file.name, ".html")) page += file.text();
      if (endsWith(file.name, ".css")) style += file.text();
      if (endsWith(file.name, ".js")) appendModule(script, file.text());
    }
  }
};

// What `explain` finds without planning or valuing anything anew.
Explanation quickExplanation(const Problem& problem, const Plan& plan) {
  Explanation why;
  why.value = plan.value;
  std::size_t busiest = 0;
  for (std::size_t d = 1; d < plan.devices.size(); ++d) {
    if (plan.devices[d].load_seconds > plan.devices[busiest].load_seconds) busiest = d;
  }
  why.bottleneck = DeviceId(busiest);
  if (!plan.start.empty()) {
    why.path = criticalPath(problem, plan);
    if (!isCallsModel(problem)) why.slack = opSlack(problem, plan);
  }
  return why;
}

// Raises a flag once the time is up or the caller wants to stop. A search may outlive its own limit on large
// problems; the flag keeps the searches behind it from doing the same, one after another.
class Deadline {
 public:
  Deadline(double seconds, const std::atomic<bool>* caller_stops)
      : watcher_([this, seconds, caller_stops] { watch(seconds, caller_stops); }) {}
  ~Deadline() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      over_ = true;
    }
    wake_.notify_one();
    watcher_.join();
  }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  const std::atomic<bool>& flag() const { return flag_; }

 private:
  std::atomic<bool> flag_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool over_ = false;
  std::thread watcher_;

  void watch(double seconds, const std::atomic<bool>* caller_stops) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration<double>(std::min(seconds, 1e6));
    std::unique_lock<std::mutex> lock(mutex_);
    while (!over_) {
      if (Clock::now() >= end || (caller_stops != nullptr && *caller_stops)) flag_ = true;
      wake_.wait_for(lock, std::chrono::milliseconds(20));
    }
  }
};

// What explains the plan, and a line about the what-if table.
std::pair<Explanation, std::string> explained(const Problem& problem, const Plan& plan,
                                              const ReportOptions& options) {
  if (problem.opCount() > kMostWhatIfOps) {
    return {quickExplanation(problem, plan),
            fmt::format("Left out: {} ops are above the limit of {} for planning changed hardware anew.",
                        problem.opCount(), kMostWhatIfOps)};
  }
  const Deadline deadline(options.what_if_seconds, options.stop_flag);
  ExplainRequest request;
  request.what_if_seconds =
      options.what_if_seconds / static_cast<double>(2 * problem.cluster.classCount() + 1);
  request.threads = options.threads;
  request.seed = options.seed;
  request.stop_flag = &deadline.flag();
  Explanation why = explain(problem, plan, request);
  const bool complete = std::all_of(why.what_ifs.begin(), why.what_ifs.end(),
                                    [](const WhatIf& what) { return what.replanned; });
  std::string note;
  if (options.what_if_seconds > 0) {
    note = fmt::format("Each new plan was searched for some {:.2g} s{}.", request.what_if_seconds,
                       complete ? "" : ", while the time for all of them lasted");
  }
  return {std::move(why), std::move(note)};
}

}  // namespace

std::string writeReport(const Problem& problem, const Plan& plan, const ReportOptions& options) {
  const auto [why, note] = explained(problem, plan, options);
  const std::string data = escapedJson(writeReportData(problem, plan, why, note, options));
  static const Viewer viewer;
  // One pass over the template, so that no text of the problem is taken for a mark.
  std::string html;
  html.reserve(viewer.page.size() + viewer.style.size() + viewer.script.size() + data.size());
  std::string_view rest = viewer.page;
  for (;;) {
    const std::size_t open = rest.find("{{");
    const std::size_t close = open == std::string_view::npos ? open : rest.find("}}", open);
    if (close == std::string_view::npos) break;
    html += rest.substr(0, open);
    const std::string_view mark = rest.substr(open + 2, close - open - 2);
    if (mark == "title") html += escapedHtml(problem.name);
    if (mark == "style") html += viewer.style;
    if (mark == "data") html += data;
    if (mark == "script") html += viewer.script;
    rest.remove_prefix(close + 2);
  }
  html += rest;
  return html;
}

}  // namespace allot
