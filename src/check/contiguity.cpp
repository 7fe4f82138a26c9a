// Contiguity of stages in the forward graph.
//
// The forward graph has the forward ops and the edges between them. In training problems a unit without a
// forward op (an orphan) gets an artificial one, and each edge u -> v between ops of other phases, in
// different units of which at least one is an orphan, adds the reversed edge forward(v) -> forward(u). The
// graph may then have cycles; a cycle must lie within one stage.
#include "check/parts.h"
#include "graph/contraction.h"

namespace allot {
namespace {

bool isForward(const OpGraph& graph, OpId op) {
  return graph.op_phase[op.index()] == Phase::kForward;
}

std::vector<std::uint8_t> findOrphans(const Problem& problem) {
  std::vector<std::uint8_t> orphan(problem.unitCount(), 1);
  for (std::size_t i = 0; i < problem.opCount(); ++i) {
    if (isForward(problem.graph, OpId(i))) orphan[problem.unit(OpId(i)).index()] = 0;
  }
  return orphan;
}

// Calls real(u, v) for each forward edge u -> v and artificial(v, u) for each u -> v that is reversed.
template <class Real, class Artificial>
void forEachForwardEdge(const Problem& problem, const std::vector<std::uint8_t>& orphan, Real&& real,
                        Artificial&& artificial) {
  const OpGraph& graph = problem.graph;
  for (std::size_t t = 0; t < graph.tensorCount(); ++t) {
    const OpId u = graph.tensor_producer[t];
    const bool u_forward = isForward(graph, u);
    for (const OpId v : graph.tensor_consumers[t]) {
      const bool v_forward = isForward(graph, v);
      if (u_forward && v_forward) real(u, v);
      if (u_forward || v_forward) continue;
      const UnitId from = problem.unit(v), to = problem.unit(u);
      if (from != to && (orphan[from.index()] || orphan[to.index()])) artificial(v, u);
    }
  }
}

void checkListedChain(const CheckContext& context, const StageView& stages) {
  const auto orphan = findOrphans(context.problem);
  const auto later = [&](OpId u, OpId v) { return stages.of_op[u.index()] > stages.of_op[v.index()]; };
  forEachForwardEdge(
      context.problem, orphan,
      [&](OpId u, OpId v) {
        if (!later(u, v)) return;
        context.findings.add(
            "the stages are no chain: op \"{}\" of stage {} feeds op \"{}\" of the earlier stage {}",
            context.opName(u), stages.of_op[u.index()], context.opName(v), stages.of_op[v.index()]);
      },
      [&](OpId v, OpId u) {
        if (!later(v, u)) return;
        context.findings.add(
            "the stages are no chain: op \"{}\" of stage {} feeds op \"{}\" of stage {}, so the forward "
            "parts must be the other "
            "way round",
            context.opName(u), stages.of_op[u.index()], context.opName(v), stages.of_op[v.index()]);
      });
}

// Stages that were not listed take the order of their quotient, which must be acyclic.
void orderByQuotient(const CheckContext& context, StageView& stages) {
  std::vector<PartEdge> edges;
  const auto add = [&](OpId u, OpId v) {
    const PartEdge edge{stages.of_op[u.index()], stages.of_op[v.index()]};
    const bool repeated = !edges.empty() && edges.back().from == edge.from && edges.back().to == edge.to;
    if (edge.from != edge.to && !repeated) edges.push_back(edge);
  };
  forEachForwardEdge(context.problem, findOrphans(context.problem), add, add);
  const Contraction quotient = contract(stages.count(), std::move(edges));
  if (!quotient.acyclic()) {
    std::string path;
    for (const std::uint32_t s : quotient.cycle)
      path += fmt::format("\"{}\" -> ", context.deviceName(stages.devices[s][0]));
    path += fmt::format("\"{}\"", context.deviceName(stages.devices[quotient.cycle[0]][0]));
    context.findings.add("the devices form no chain: {}", path);
    return;
  }
  StageView ordered;
  std::vector<std::uint32_t> place(stages.count());
  for (const std::uint32_t s : quotient.order) {
    place[s] = static_cast<std::uint32_t>(ordered.count());
    ordered.devices.push_back(stages.devices[s]);
  }
  stages.devices = std::move(ordered.devices);
  for (std::uint32_t& s : stages.of_op) s = place[s];
}

// The forward graph at op level. An artificial edge touches every forward op of a unit that has some: such
// units get one node through which edges enter and one through which they leave, so that the graph stays
// linear in the input.
class ForwardGraph {
 public:
  ForwardGraph(const CheckContext& context, const StageView& stages) : context_(context) {
    const Problem& problem = context.problem;
    const std::size_t n = problem.opCount(), units = problem.unitCount();
    const auto orphan = findOrphans(problem);
    op_of_node_.resize(n + 2 * units);
    stage_.resize(op_of_node_.size());
    for (std::size_t i = 0; i < n; ++i) op_of_node_[i] = OpId(i);
    for (std::size_t u = 0; u < units; ++u)
      op_of_node_[n + u] = op_of_node_[n + units + u] = problem.unitOps(UnitId(u))[0];
    for (std::size_t i = 0; i < stage_.size(); ++i) stage_[i] = stages.of_op[op_of_node_[i].index()];

    std::vector<PartEdge> edges;
    std::vector<std::uint8_t> entered(units, 0), left(units, 0);
    const auto entry = [&](UnitId u) { return static_cast<std::uint32_t>(n + u.index()); };
    // The artificial op of an orphan is one node for both directions.
    const auto exit = [&](UnitId u) {
      return static_cast<std::uint32_t>(n + (orphan[u.index()] ? 0 : units) + u.index());
    };
    forEachForwardEdge(
        problem, orphan,
        [&](OpId u, OpId v) {
          edges.push_back({u.value, v.value});
        },
        [&](OpId v, OpId u) {
          left[problem.unit(v).index()] = entered[problem.unit(u).index()] = 1;
          edges.push_back({exit(problem.unit(v)), entry(problem.unit(u))});
        });
    for (std::uint32_t i = 0; i < n; ++i) {
      const UnitId unit = problem.unit(OpId(i));
      if (!isForward(problem.graph, OpId(i))) continue;
      if (entered[unit.index()]) edges.push_back({entry(unit), i});
      if (left[unit.index()]) edges.push_back({i, exit(unit)});
    }
    successors_.begin.assign(stage_.size() + 1, 0);
    for (const PartEdge& edge : edges) ++successors_.begin[edge.from + 1];
    for (std::size_t i = 0; i < stage_.size(); ++i) successors_.begin[i + 1] += successors_.begin[i];
    successors_.items.resize(edges.size());
    std::vector<std::uint32_t> fill = successors_.begin;
    for (const PartEdge& edge : edges) successors_.items[fill[edge.from]++] = edge.to;
  }

  // Sets of 64 stages at a time: `left` of a node holds the stages that some path to the node was in and has
  // left. A node of such a stage is where the path returns.
  void checkConvex(const StageView& stages) const {
    std::vector<std::uint8_t> reported(stages.count(), 0);
    for (std::size_t first = 0; first < stages.count(); first += 64) sweep(stages, first, reported);
  }

 private:
  const CheckContext& context_;
  std::vector<OpId> op_of_node_;
  std::vector<std::uint32_t> stage_;
  Csr<std::uint32_t> successors_;

  void sweep(const StageView& stages, std::size_t first, std::vector<std::uint8_t>& reported) const {
    const auto bit = [&](std::uint32_t stage) {
      return stage >= first && stage - first < 64 ? std::uint64_t{1} << (stage - first) : 0;
    };
    std::vector<std::uint64_t> left(stage_.size(), 0);
    std::vector<std::uint8_t> waiting(stage_.size(), 1);
    // Seeded in topological order: without artificial edges every node is visited once.
    std::vector<std::uint32_t> queue;
    queue.reserve(stage_.size());
    for (const OpId op : context_.problem.graph.topologicalOrder()) queue.push_back(op.value);
    for (std::size_t i = queue.size(); i < stage_.size(); ++i) queue.push_back(static_cast<std::uint32_t>(i));
    for (std::size_t head = 0; head < queue.size(); ++head) {
      const std::uint32_t u = queue[head];
      waiting[u] = 0;
      for (const std::uint32_t v : successors_[u]) {
        const std::uint64_t sent = left[u] | (stage_[u] != stage_[v] ? bit(stage_[u]) : 0);
        const std::uint64_t fresh = sent & ~left[v];
        if (fresh == 0) continue;
        left[v] |= fresh;
        if ((fresh & bit(stage_[v])) != 0 && !reported[stage_[v]]) {
          reported[stage_[v]] = 1;
          context_.findings.add(
              "device \"{}\" is not convex: a path leaves it and returns at op \"{}\" (from op \"{}\" on "
              "\"{}\")",
              name(stages, v), context_.opName(op_of_node_[v]), context_.opName(op_of_node_[u]),
              name(stages, u));
        }
        if (!waiting[v]) {
          waiting[v] = 1;
          queue.push_back(v);
        }
      }
    }
  }

  const std::string& name(const StageView& stages, std::uint32_t node) const {
    return context_.deviceName(stages.devices[stage_[node]][0]);
  }
};

}  // namespace

void checkContiguity(const CheckContext& context, StageView& stages) {
  switch (context.modes().contiguity) {
    case Contiguity::kChain:
      if (stages.listed)
        checkListedChain(context, stages);
      else
        orderByQuotient(context, stages);
      return;
    case Contiguity::kConvex:
      ForwardGraph(context, stages).checkConvex(stages);
      return;
    case Contiguity::kNone:
      return;
  }
}

}  // namespace allot
