// Stages in the making over a run graph, all behind the same number of complete ones.
//
// A label of an ideal J is a stage that holds everything between some boundary I and J. It knows
//   - which open nets have runs in I or are paid for at the end already (`old`), and which of those in I the
//     stage has not paid for yet;
//   - `left`: the work done at I, at most, less what the stage has paid;
//   - of the runs that I left in the middle and that nothing in J follows yet: `lack`, the work they lack at
//     least, and `excess`, their work beyond their first items at least. Finishing a run that nothing follows
//     costs the stage its nets twice; it cannot be undone either.
// A stage that ends at J reaches left + limit less what new open nets cost, at most all work of J but `lack`,
// at least the least of J and `excess`. Nets with a run that the stage refuses are cut at its end and paid
// for at once; nets that every later end has touched or closed are settled when it begins. Of two labels one
// goes when the other is ahead by at least what the nets in which they differ can cost it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "allot/solve.h"
#include "solve/throughput/run_ideals.h"

namespace allot {

struct RunLabel {
  static constexpr std::uint32_t kNowhere = UINT32_MAX;
  NetSet old = 0, unpaid = 0;
  double left = 0, lack = 0, excess = 0;
  std::uint32_t begun = kNowhere;  // where its stage begins
};

// An ideal and what all its labels share.
struct RunNode {
  RunIdeal ideal;
  NetSet open = 0;
  SlotFigures cost;  // of open nets
  double all_open = 0, least_cost = 0;
};

class RunLabels {
 public:
  // Loads of at most `limit`; amounts of work up to `slack` are nothing. Needed at the end of the stage: work
  // done, and together with the nets cut there.
  RunLabels(const RunIdeals& ideals, double limit, double slack, double needed, double needed_with_cut)
      : ideals_(ideals),
        graph_(ideals.graph),
        limit_(limit),
        slack_(slack),
        needed_(needed),
        needed_with_cut_(needed_with_cut) {}

  RunNode nodeOf(const RunIdeal& ideal) const;
  // A stage begins here.
  RunLabel begin(const RunNode& node, double work) const;
  // Whether a label's stage can still end in the window.
  bool alive(const RunLabel& label, const RunNode& node) const;
  // Those that no other one beats.
  static void keepBest(std::vector<RunLabel>& labels, const RunNode& node, const Budget& budget);
  // The stages hold the run, which leads to another ideal. Adds those that are alive.
  void hold(const RunNode& node, std::uint32_t run, const RunNode& made, std::span<const RunLabel> labels,
            std::vector<RunLabel>& held) const;
  // The stages have refused what `made` refuses.
  void refuse(const RunNode& made, std::span<const RunLabel> labels, std::vector<RunLabel>& kept) const;
  // Of all stages that the labels stand for, the one that has most work done when it ends here.
  struct End {
    double work = -1;  // negative where none can end here
    std::uint32_t begun = RunLabel::kNowhere;
  };
  End bestEnd(std::span<const RunLabel> labels, const RunNode& node) const;

 private:
  // A run that a stage may go on with: what is left of it, and what that costs.
  struct Unfinished {
    double rest, cost;
    NetSet nets;
  };
  const RunIdeals& ideals_;
  const RunGraph& graph_;
  double limit_, slack_, needed_, needed_with_cut_;

  std::vector<Unfinished> unfinished(const RunNode& node) const;
  double workWith(const RunLabel& label, const RunNode& node, double paid,
                  std::span<const Unfinished> unfinished) const;
};

}  // namespace allot
